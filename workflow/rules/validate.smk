"""Fit independent candidates with the new set and measure the outcome."""

VALIDATED = RUN.samples("validation", "misaligned", "jpsi", "d0")
VALIDATED_ONCE, OF_ELECTRONS, OF_STRANGE = RUN.samples("validation"), RUN.samples(*ELECTRONS), RUN.samples(*STRANGE)
# Samples with the same collisions as the validation, of which one job fits all candidates of a chunk.
OF_VALIDATION = [purpose for purpose in ("validation", "misaligned") if RUN.samples(purpose)]
MEASURED_BY = RUN.fits("validation")


rule fit_validation:
    """All fits of a chunk's candidates with the set, in one job, because a start takes longer than a fit."""
    input:
        set=SET,
        candidates=[f"{RESULTS}/candidates/{purpose}_{{which}}.parquet" for purpose in OF_VALIDATION],
    output: [f"{RESULTS}/fitted/{fit}/{purpose}_{{which}}.parquet" for purpose in OF_VALIDATION for fit in MEASURED_BY]
    wildcard_constraints: which=RUN.endings("validation")
    params: code=code_of("fit"), fits=text_of({fit: RUN.fit_arguments(fit) for fit in MEASURED_BY})
    priority: FIRST / 2
    resources: **needs(COSTS, "fit", lambda w: 2 * len(MEASURED_BY) * RUN.size(f"validation_{w.which}"))
    conda: ENVIRONMENT
    log: logged("fit-validation_{which}.log")
    shell:
        stage(
            "fit",
            " --set {input.set:q} --candidates {input.candidates:q} --outputs {output:q}",
            " --fits {params.fits:q}",
        )


for purpose, fitted in (("signals", ("jpsi", "d0")), ("likeness", OTHERS)):

    rule:
        """The same of signals, and of the hits of another simulation."""
        name: f"fit_{purpose}"
        input: set=SET, candidates=f"{RESULTS}/candidates/{{chunk}}.parquet"
        output: [f"{RESULTS}/fitted/{fit}/{{chunk}}.parquet" for fit in RUN.fits(purpose)]
        wildcard_constraints: chunk=RUN.pattern(*fitted)
        params: code=code_of("fit"), fits=text_of({fit: RUN.fit_arguments(fit) for fit in RUN.fits(purpose)})
        priority: FIRST / 2
        resources: **needs(COSTS, "fit", lambda w, count=len(RUN.fits(purpose)): count * RUN.size(w.chunk))
        conda: ENVIRONMENT
        log: logged("fit-{chunk}.log")
        shell:
            stage(
                "fit",
                " --set {input.set:q} --candidates {input.candidates:q} --outputs {output:q}",
                " --fits {params.fits:q}",
            )


rule fit_full_validation:
    """The full fit with field and material, which uses no parameter set."""
    input:
        **PASSAGE,
        candidates=[f"{RESULTS}/candidates/{purpose}_{{which}}.parquet" for purpose in OF_VALIDATION],
    output: [f"{RESULTS}/fitted/full/{purpose}_{{which}}.parquet" for purpose in OF_VALIDATION]
    wildcard_constraints: which=RUN.endings("validation")
    params: code=code_of("fit_full"), means=MEANS
    resources: **needs(COSTS, "fit_full", lambda w: 2 * RUN.size(f"validation_{w.which}"))
    conda: ENVIRONMENT
    log: logged("fit-full-validation_{which}.log")
    shell: stage("fit_full", PASSED, " --candidates {input.candidates:q} --outputs {output:q}")


rule fit_full:
    """The same of signals, and of the hits of another simulation."""
    input: **PASSAGE, candidates=f"{RESULTS}/candidates/{{chunk}}.parquet"
    output: f"{RESULTS}/fitted/full/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("jpsi", "d0", *OTHERS)
    params: code=code_of("fit_full"), means=MEANS
    resources: **needs(COSTS, "fit_full", lambda w: RUN.size(w.chunk))
    conda: ENVIRONMENT
    log: logged("fit-full-{chunk}.log")
    shell: stage("fit_full", PASSED, " --candidates {input.candidates:q} --outputs {output:q}")


rule without_ut:
    """Long tracks without UT hits, by the set and by the full fit."""
    input:
        **PASSAGE,
        set=SET,
        particles=products("particles", *VALIDATED_ONCE),
        candidates=products("candidates", *VALIDATED_ONCE),
    output: f"{RESULTS}/kinds/long_no_ut.json"
    params: code=code_of("without_ut"), means=MEANS
    threads: SIDE_THREADS
    resources: **needs(COSTS, "without_ut", RUN.sizes("validation"))
    conda: ENVIRONMENT
    log: logged("without-ut.log")
    shell:
        stage(
            "without_ut",
            PASSED,
            passed(("set", "particles", "candidates")),
            " --output {output:q} --threads {threads}",
        )


rule measure_electrons:
    """Electrons of the validation and of signals, fitted as pions and as electrons."""
    input:
        **PASSAGE,
        set=SET,
        particles=products("particles", *VALIDATED_ONCE),
        candidates=products("candidates", *VALIDATED_ONCE),
        decay_particles=products("particles", *OF_ELECTRONS),
        decay_hits=products("hits", *OF_ELECTRONS),
    output: f"{RESULTS}/kinds/electron.json"
    params: code=code_of("measure_electrons"), means=MEANS
    threads: SIDE_THREADS
    resources: **needs(COSTS, "measure_electrons", RUN.sizes("validation", *ELECTRONS))
    conda: ENVIRONMENT
    log: logged("measure-electrons.log")
    shell:
        stage(
            "measure_electrons",
            PASSED,
            passed(("set", "particles", "candidates", "decay_particles", "decay_hits")),
            " --output {output:q} --threads {threads}",
        )


rule measure_kinds:
    """Tracks of other kinds than long ones, by the set and by the full fit, in one job."""
    input:
        **PASSAGE,
        set=SET,
        particles=products("particles", *VALIDATED_ONCE),
        hits=products("hits", *VALIDATED_ONCE),
        crossings=products("crossings", *VALIDATED_ONCE),
        decay_particles=products("particles", *OF_STRANGE),
        decay_hits=products("hits", *OF_STRANGE),
        decay_crossings=products("crossings", *OF_STRANGE),
    output: [f"{RESULTS}/kinds/{kind}.json" for kind in KINDS]
    params: code=code_of("measure_kinds"), means=MEANS
    # The longest of these jobs begins first.
    priority: FIRST / 2
    threads: SIDE_THREADS
    resources: **needs(COSTS, "measure_kinds", RUN.sizes("validation"))
    conda: ENVIRONMENT
    log: logged("measure-kinds.log")
    shell:
        stage(
            "measure_kinds",
            PASSED,
            passed(("set", "particles", "hits", "crossings", "decay_particles", "decay_hits", "decay_crossings")),
            " --outputs {output:q} --threads {threads}",
        )


rule validate:
    """The fits of all samples held against the truth."""
    input:
        particles=products("particles", *RUN.samples("validation", "jpsi", "d0")),
        candidates=products("candidates", *VALIDATED),
        fates=products("fates", *VALIDATED_ONCE),
        fitted=[
            f"{RESULTS}/fitted/{fit}/{s}.parquet"
            for s in VALIDATED
            for fit in (*RUN["fits"]["of"], *(["parkf_float64"] if s in VALIDATED_ONCE else []))
        ],
        field=FIELD,
        inside=SLICES_ACCURACY,
        kinds=[f"{RESULTS}/kinds/{kind}.json" for kind in ("long_no_ut", *KINDS, "electron")],
    output: f"{RESULTS}/validation.json"
    params:
        code=code_of("validate"),
        samples=VALIDATED_ONCE,
        misaligned=RUN.samples("misaligned"),
        signals=SIGNALS,
        fits=RUN["fits"]["of"],
    threads: LAST_THREADS
    resources: **needs(COSTS, "validate", RUN.sizes("validation", "misaligned", "jpsi", "d0"))
    conda: ENVIRONMENT
    log: logged("validate.log")
    shell:
        stage(
            "validate",
            passed(("particles", "candidates", "fates", "fitted", "kinds", "field", "inside")),
            " --samples {params.samples} --misaligned {params.misaligned} --signals {params.signals}",
            " --fits {params.fits} --output {output:q} --threads {threads}",
        )


rule throughput:
    """The speed of the fit on this machine, measured while no other job runs."""
    input: f"{RESULTS}/validation.json", set=SET, candidates=products("candidates", *VALIDATED_ONCE)
    output: f"{RESULTS}/throughput.json"
    params: code=code_of("throughput")
    # All cores of this machine; on a cluster, the profile sets the number.
    threads: CORES
    resources: **needs(COSTS, "throughput", 1)
    conda: ENVIRONMENT
    log: logged("throughput.log")
    shell:
        stage(
            "throughput",
            " --set {input.set:q} --candidates {input.candidates:q} --output {output:q} --threads {threads}",
        )
