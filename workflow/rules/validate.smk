"""Fit independent candidates with the new set and measure the outcome."""

SIGNALS = [*RUN.samples("jpsi"), *RUN.samples("d0")]
VALIDATED = [*RUN.samples("validation"), *RUN.samples("misaligned"), *SIGNALS]
# Fits with the set, by what candidates are for.
MEASURED = [fit for fit in SCHEMES if fit in RUN["fits"]["of"]]
FITTED = {"validation": [*MEASURED, "parkf_float64"], **dict.fromkeys(("misaligned", "jpsi", "d0"), MEASURED)}
FITTED["likeness"] = [fit for fit in MEASURED if fit in ("parkf", "parkf_robust")]


for purpose, fits in FITTED.items():

    rule:
        """All fits of a chunk's candidates with the set: each alone would take longer to start than to fit."""
        name:
            f"{purpose}_fit"
        input:
            parameters=rules.assemble.output,
            candidates=f"{RESULTS}/candidates/{{chunk}}.parquet",
        output:
            [f"{RESULTS}/fitted/{fit}/{{chunk}}.parquet" for fit in fits],
        wildcard_constraints:
            chunk=RUN.pattern(*(OTHERS if purpose == "likeness" else [purpose])),
        params:
            commands=fit_commands(fits),
            code=code("parkf/fit", "parkf/model/codegen", "kernel"),
        priority: FIRST / 2
        resources:
            **needs(COSTS, "fit", size_times(len(fits))),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/fit-{{chunk}}.log",
        shell:
            # Results of a GPU agree to rounding, not byte for byte.
            (SHARED if RUN["fits"]["backend"] == "cpu" else "parkf ")
            + "together {params.commands} 2> {log}"


rule fit_full:
    """The fit that knows field and material: no parameter set enters."""
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        candidates=f"{RESULTS}/candidates/{{chunk}}.parquet",
    output:
        f"{RESULTS}/fitted/full/{{chunk}}.parquet",
    params:
        code=code("parkf/detector", "parkf/detector/transport", "parkf/fit/reference", "kernel/full_fit", *TRANSPORT_KERNEL),
    resources:
        **needs(COSTS, "fit_full", lambda w: RUN.size(w.chunk)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/fit-full-{{chunk}}.log",
    shell:
        f"{SHARED}fit-full {{input.candidates:q}} {{output:q}} --geometry {{input.detector[0]:q}}"
        " --alignment {input.detector[1]:q} --field {input.field:q} 2> {log}"


rule validate:
    input:
        particles=[f"{RESULTS}/particles/{s}.parquet" for s in [*RUN.samples("validation"), *SIGNALS]],
        candidates=[f"{RESULTS}/candidates/{s}.parquet" for s in VALIDATED],
        fates=[f"{RESULTS}/fates/{s}.parquet" for s in RUN.samples("validation")],
        fitted=[f"{RESULTS}/fitted/{fit}/{s}.parquet" for fit in RUN["fits"]["of"] for s in VALIDATED],
        float64=[f"{RESULTS}/fitted/parkf_float64/{s}.parquet" for s in RUN.samples("validation")],
    output:
        f"{RESULTS}/validation.json",
    params:
        samples=RUN.samples("validation"),
        misaligned=RUN.samples("misaligned"),
        signals=SIGNALS,
        fits=RUN["fits"]["of"],
        code=code("parkf/proof/validation", "parkf/simulation/generate/decays.py", "parkf/fit/fitted.py"),
    threads: LAST_THREADS
    resources:
        **needs(COSTS, "validate", RUN.sizes("validation", "misaligned", "jpsi", "d0")),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/validate.log",
    shell:
        f"{SHARED}validate {folder(RESULTS, '{input.particles[0]}')}"
        " {output:q} --samples '{params.samples}'"
        " --misaligned '{params.misaligned}' --signals '{params.signals}' --fits '{params.fits}'"
        " --threads {threads} 2> {log}"


rule throughput:
    """A figure of the machine that the run took place on: alone on its cores, and in a file of its own."""
    input:
        set=rules.assemble.output,
        validation=f"{RESULTS}/validation.json",
        candidates=[f"{RESULTS}/candidates/{s}.parquet" for s in RUN.samples("validation")],
    output:
        f"{RESULTS}/throughput.json",
    params:
        code=code("parkf/fit", "parkf/model/codegen", "kernel", "parkf/proof/validation/throughput.py"),
    # All cores of this machine; a cluster has no such number, and its profile sets one.
    threads: workflow.resource_settings.cores or 2
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/throughput.log",
    shell:
        "parkf throughput $(dirname {input.set[0]:q}) '{input.candidates}' {output:q} --threads {threads} 2> {log}"
