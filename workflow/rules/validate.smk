"""Fit independent candidates with the new set and measure the outcome."""

VALIDATED = RUN.samples("validation", "misaligned", "jpsi", "d0")
VALIDATED_ONCE, OF_ELECTRONS = RUN.samples("validation"), RUN.samples(*ELECTRONS)
# Candidates that one job fits: a chunk of the validation of all polarities, also of the misaligned SciFi; or one chunk.
FITTED = {
    "validation": [f"{sample}{{part}}" for sample in RUN.samples("validation", "misaligned")],
    "signals": ["{chunk}"],
    "likeness": ["{chunk}"],
}


for purpose, names in FITTED.items():
    CHUNK = {"signals": RUN.pattern("jpsi", "d0"), "likeness": RUN.pattern(*OTHERS)}.get(purpose, "")
    JOB = "validation{part}" if purpose == "validation" else "{chunk}"

    rule:
        """All fits of candidates with the set, in one job, because a start takes longer than a fit."""
        name: f"fit_{purpose}"
        input: set=SET, candidates=[f"{RESULTS}/candidates/{name}.parquet" for name in names]
        output: [f"{RESULTS}/fitted/{fit}/{name}.parquet" for name in names for fit in RUN.fits(purpose)]
        wildcard_constraints: chunk=CHUNK
        params: code=code_of("fit"), fits=text_of({fit: RUN.fit_arguments(fit) for fit in RUN.fits(purpose)})
        priority: FIRST / 2
        conda: ENVIRONMENT
        log: logged(f"fit-{JOB}.log")
        shell:
            stage(
                "fit",
                " --set {input.set:q} --candidates {input.candidates:q} --outputs {output:q}",
                " --fits {params.fits:q}",
            )

    rule:
        """The full fit with field and material, which uses no parameter set."""
        name: f"fit_full_{purpose}"
        input: **PASSAGE, candidates=[f"{RESULTS}/candidates/{name}.parquet" for name in names]
        output: [f"{RESULTS}/fitted/full/{name}.parquet" for name in names]
        wildcard_constraints: chunk=CHUNK
        params: code=code_of("fit_full"), means=MEANS
        conda: ENVIRONMENT
        log: logged(f"fit-full-{JOB}.log")
        shell: stage("fit_full", PASSED, " --candidates {input.candidates:q} --outputs {output:q}")


rule measure_long:
    """Long tracks without UT hits, by the set and by the full fit; electrons, fitted as pions and as electrons."""
    input:
        **PASSAGE,
        set=SET,
        particles=products("particles", *VALIDATED_ONCE),
        candidates=products("candidates", *VALIDATED_ONCE),
        decay_particles=products("particles", *OF_ELECTRONS),
        decay_hits=products("hits", *OF_ELECTRONS),
    output: without_ut=f"{RESULTS}/kinds/long_no_ut.json", electron=f"{RESULTS}/kinds/electron.json"
    params: code=code_of("measure_long"), means=MEANS
    threads: SIDE_THREADS
    conda: ENVIRONMENT
    log: logged("measure-long.log")
    shell:
        stage(
            "measure_long",
            PASSED,
            passed(("set", "particles", "candidates", "decay_particles", "decay_hits")),
            " --without-ut {output.without_ut:q} --electron {output.electron:q} --threads {threads}",
        )


rule measure_kinds:
    """Tracks of other kinds than long ones, by the set and by the full fit, in one job."""
    input:
        **PASSAGE,
        set=SET,
        particles=products("particles", *VALIDATED_ONCE),
        hits=products("hits", *VALIDATED_ONCE),
        crossings=products("crossings", *VALIDATED_ONCE),
    output: [f"{RESULTS}/kinds/{kind}.json" for kind in KINDS]
    params: code=code_of("measure_kinds"), means=MEANS
    # The longest of these jobs begins first.
    priority: FIRST / 2
    threads: SIDE_THREADS
    conda: ENVIRONMENT
    log: logged("measure-kinds.log")
    shell:
        stage(
            "measure_kinds",
            PASSED,
            passed(("set", "particles", "hits", "crossings")),
            " --outputs {output:q} --threads {threads}",
        )


rule validate:
    """The fits of all samples held against the truth."""
    input:
        particles=products("particles", *RUN.samples("validation", "jpsi", "d0")),
        candidates=products("candidates", *VALIDATED),
        fates=products("fates", *VALIDATED_ONCE),
        fitted=[f"{RESULTS}/fitted/{fit}/{s}.parquet" for s in VALIDATED for fit in RUN["fits"]["of"]],
        more_particles=products("particles", *SCORED),
        more_candidates=products("candidates", *SCORED),
        **PASSAGE,
        inside=SLICES_ACCURACY,
        kinds=[f"{RESULTS}/kinds/{kind}.json" for kind in ("long_no_ut", *KINDS, "electron")],
    output: f"{RESULTS}/validation.json"
    params:
        code=code_of("validate"),
        means=MEANS,
        samples=VALIDATED_ONCE,
        misaligned=RUN.samples("misaligned"),
        signals=SIGNALS,
        fits=RUN["fits"]["of"],
    threads: LAST_THREADS
    conda: ENVIRONMENT
    log: logged("validate.log")
    shell:
        stage(
            "validate",
            PASSED,
            passed(("particles", "candidates", "fates", "fitted", "more_particles", "more_candidates")),
            passed(("kinds", "inside")),
            " --samples {params.samples} --misaligned {params.misaligned} --signals {params.signals}",
            " --fits {params.fits} --output {output:q} --threads {threads}",
        )
