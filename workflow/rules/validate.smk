"""Fit independent candidates with the new set and measure the outcome."""

VALIDATED = RUN.samples("validation", "misaligned", "jpsi", "d0")
VALIDATED_ONCE, OF_ELECTRONS = RUN.samples("validation"), RUN.samples(*ELECTRONS)
KINDS_SEEN = RUN.samples("validation", *STRANGE)

for purpose in ("validation", "misaligned", "jpsi", "d0", "likeness"):

    rule:
        """All fits of a chunk's candidates with the set, in one job, because a start takes longer than a fit."""
        name: f"{purpose}_fit"
        input:
            SET,
            candidates=f"{RESULTS}/candidates/{{chunk}}.parquet",
        output: [f"{RESULTS}/fitted/{fit}/{{chunk}}.parquet" for fit in RUN.fits(purpose)]
        wildcard_constraints: chunk=RUN.pattern(*(OTHERS if purpose == "likeness" else [purpose]))
        params:
            parameters=fixed(f"{RESULTS}/set"),
            each=[RUN.fit_arguments(fit) for fit in RUN.fits(purpose)],
        priority: FIRST / 2
        resources: **needs(COSTS, "fit", lambda w, count=len(RUN.fits(purpose)): count * RUN.size(w.chunk))
        log: f"{RESULTS}/logs/fit-{{chunk}}.log"
        shell: "parkf fit --job {log}.json 2> {log}"


rule fit_full:
    """The full fit with field and material, which uses no parameter set."""
    input:
        **PASSAGE,
        candidates=f"{RESULTS}/candidates/{{chunk}}.parquet",
    output: f"{RESULTS}/fitted/full/{{chunk}}.parquet"
    resources: **needs(COSTS, "fit_full", lambda w: RUN.size(w.chunk))
    log: f"{RESULTS}/logs/fit-full-{{chunk}}.log"
    shell: "parkf fit-full --job {log}.json 2> {log}"


rule without_ut:
    """Long tracks without UT hits, by the set and by the full fit."""
    input:
        SET,
        **PASSAGE,
        particles=[f"{RESULTS}/particles/{s}.parquet" for s in RUN.samples("validation")],
        candidates=[f"{RESULTS}/candidates/{s}.parquet" for s in RUN.samples("validation")],
    output: f"{RESULTS}/kinds/long_no_ut.json"
    params: parameters=fixed(f"{RESULTS}/set")
    threads: SIDE_THREADS
    resources: **needs(COSTS, "without_ut", RUN.sizes("validation"))
    log: f"{RESULTS}/logs/without-ut.log"
    shell: "parkf measure-without-ut --job {log}.json --threads {threads} 2> {log}"


rule measure_electrons:
    """Electrons of the validation and of signals, fitted as pions and as electrons."""
    input:
        SET,
        [f"{RESULTS}/{product}/{s}.parquet" for s in VALIDATED_ONCE for product in ("particles", "candidates")],
        [f"{RESULTS}/{product}/{s}.parquet" for s in OF_ELECTRONS for product in ("particles", "hits")],
        **PASSAGE,
    output: f"{RESULTS}/kinds/electron.json"
    params:
        parameters=fixed(f"{RESULTS}/set"),
        results=fixed(RESULTS),
        samples=VALIDATED_ONCE,
        decays=OF_ELECTRONS,
    threads: SIDE_THREADS
    resources: **needs(COSTS, "measure_electrons", RUN.sizes("validation", *ELECTRONS))
    log: f"{RESULTS}/logs/measure-electrons.log"
    shell: "parkf measure-electrons --job {log}.json --threads {threads} 2> {log}"


rule measure_kinds:
    """Tracks of other kinds than long ones, by the set and by the full fit, in one job."""
    input:
        SET,
        [f"{RESULTS}/{product}/{s}.parquet" for s in KINDS_SEEN for product in ("particles", "hits", "crossings")],
        **PASSAGE,
    output: outputs=[f"{RESULTS}/kinds/{kind}.json" for kind in KINDS]
    params:
        parameters=fixed(f"{RESULTS}/set"),
        results=fixed(RESULTS),
        samples=RUN.samples("validation"),
        decays=RUN.samples(*STRANGE),
    # The longest of these jobs begins first.
    priority: FIRST / 2
    threads: SIDE_THREADS
    resources: **needs(COSTS, "measure_kinds", RUN.sizes("validation"))
    log: f"{RESULTS}/logs/measure-kinds.log"
    shell: "parkf measure-kinds --job {log}.json --threads {threads} 2> {log}"


rule validate:
    input:
        [f"{RESULTS}/particles/{s}.parquet" for s in RUN.samples("validation", "jpsi", "d0")],
        [f"{RESULTS}/candidates/{s}.parquet" for s in VALIDATED],
        [f"{RESULTS}/fates/{s}.parquet" for s in RUN.samples("validation")],
        [f"{RESULTS}/fitted/{fit}/{s}.parquet" for fit in RUN["fits"]["of"] for s in VALIDATED],
        [f"{RESULTS}/fitted/parkf_float64/{s}.parquet" for s in RUN.samples("validation")],
        field=FIELD,
        inside=SLICES_ACCURACY,
        kinds=[f"{RESULTS}/kinds/{kind}.json" for kind in ("long_no_ut", *KINDS, "electron")],
    output: f"{RESULTS}/validation.json"
    params:
        results=fixed(RESULTS),
        samples=RUN.samples("validation"),
        misaligned=RUN.samples("misaligned"),
        signals=SIGNALS,
        fits=RUN["fits"]["of"],
    threads: LAST_THREADS
    resources: **needs(COSTS, "validate", RUN.sizes("validation", "misaligned", "jpsi", "d0"))
    log: f"{RESULTS}/logs/validate.log"
    shell: "parkf validate --job {log}.json --threads {threads} 2> {log}"


rule throughput:
    """The speed of the fit on this machine, measured while no other job runs."""
    input:
        SET,
        f"{RESULTS}/validation.json",
        candidates=[f"{RESULTS}/candidates/{s}.parquet" for s in RUN.samples("validation")],
    output: output=f"{RESULTS}/throughput.json"
    params: parameters=fixed(f"{RESULTS}/set")
    # All cores of this machine; on a cluster, the profile sets the number.
    threads: workflow.resource_settings.cores or 2
    resources: **needs(COSTS, "throughput", 1)
    log: f"{RESULTS}/logs/throughput.log"
    shell: "parkf throughput --job {log}.json --threads {threads} 2> {log}"
