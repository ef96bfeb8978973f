"""Fit independent candidates with the new set and measure the outcome."""


rule fit:
    input:
        parameters=rules.assemble.output,
        kernel=f"{RESULTS}/kernel.json",
        candidates=f"{RESULTS}/candidates/{{sample}}.parquet",
    output:
        f"{RESULTS}/fitted/{{scheme}}/{{sample}}.parquet",
    params:
        folder=f"{RESULTS}/set",
        precision=RUN["fit"]["precision"],
        code=code("parkf/kalman"),
    threads: 2
    log:
        f"{RESULTS}/logs/fit-{{scheme}}-{{sample}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fit-{{scheme}}-{{sample}}.tsv"
    shell:
        "parkf fit {params.folder} {input.candidates} {output} --scheme {wildcards.scheme}"
        " --precision {params.precision} --threads {threads} 2> {log}"


rule validate:
    input:
        particles=[f"{RESULTS}/particles/{s}.parquet" for s in RUN.samples("validation")],
        candidates=[f"{RESULTS}/candidates/{s}.parquet" for s in RUN.samples("validation")],
        fitted=[
            f"{RESULTS}/fitted/{scheme}/{s}.parquet"
            for scheme in RUN["fit"]["schemes"]
            for s in RUN.samples("validation")
        ],
    output:
        f"{RESULTS}/validation.json",
    params:
        results=RESULTS,
        samples=RUN.samples("validation"),
        schemes=RUN["fit"]["schemes"],
        code=code("parkf/validation"),
    log:
        f"{RESULTS}/logs/validate.log",
    benchmark:
        f"{RESULTS}/benchmarks/validate.tsv"
    shell:
        "parkf validate {params.results} {output} --samples '{params.samples}'"
        " --schemes '{params.schemes}' 2> {log}"
