"""Pages a physicist opens, and what each stage cost."""


rule stages:
    input:
        f"{RESULTS}/validation.json",
        f"{RESULTS}/accuracy.json",
    output:
        f"{RESULTS}/stages.json",
    params:
        benchmarks=f"{RESULTS}/benchmarks",
        code=code("parkf/report/stages.py"),
    log:
        f"{RESULTS}/logs/stages.log",
    shell:
        "parkf stages {params.benchmarks} {output} 2> {log}"


rule report:
    input:
        f"{RESULTS}/validation.json",
        f"{RESULTS}/accuracy.json",
        f"{RESULTS}/stages.json",
        rules.assemble.output,
        gates=GATES,
        fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
    output:
        f"{RESULTS}/report/index.html",
    params:
        results=RESULTS,
        formulas=[STEPS[step].formula_hash() for step in STEPS],
        code=code("parkf/report", "parkf/gates"),
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    shell:
        "parkf report {params.results} {output} --gates {input.gates} 2> {log}"
