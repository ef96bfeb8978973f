"""What data without truth say of the detector, if a configuration names them; a family with rounds repeats it."""

CALIBRATION = RUN.get("calibration")
CALIBRATED = [f"{RESULTS}/calibration/{name}" for name in CALIBRATION_FILES] if CALIBRATION else []

if CALIBRATION:
    # Candidates of the run's own simulation, which data are compared with.
    PAIRS = [(decay, file) for decay, files in CALIBRATION["pairs"].items() for file in files]
    REFERENCE_PAIRS = [
        (decay, file)
        for decay in CALIBRATION["pairs"]
        for file in products("candidates", *RUN.samples(decay))
    ]
    BEFORE = {"before": given(CALIBRATION["before"])} if "before" in CALIBRATION else {}

    rule calibrate:
        """Alignment, field, hit errors and scattering, for a set to train anew."""
        input:
            **PASSAGE,
            set=SET,
            candidates=list(map(given, CALIBRATION["candidates"])),
            placed=given(CALIBRATION["placed"]),
            reference=products("candidates", *RUN.samples("validation"), *SCORED),
            pair_files=[given(file) for _, file in PAIRS],
            reference_pair_files=[file for _, file in REFERENCE_PAIRS],
            **BEFORE,
        output: CALIBRATED
        params:
            code=code_of("calibrate"),
            means={**MEANS, **meanings(CALIBRATION["placed"])},
            pairs=[decay for decay, _ in PAIRS],
            reference_pairs=[decay for decay, _ in REFERENCE_PAIRS],
            survey=[f"{freedom}={error}" for freedom, error in CALIBRATION["survey"].items()],
        threads: LAST_THREADS
        conda: ENVIRONMENT
        log: logged("calibrate.log")
        shell:
            stage(
                "calibrate",
                PASSED,
                passed(("set", "candidates", "placed", "reference", "pair_files", "reference_pair_files", *BEFORE)),
                " --pairs {params.pairs} --reference-pairs {params.reference_pairs} --survey {params.survey}",
                " --outputs {output:q} --threads {threads}",
                log=" > {log} 2>&1",
            )
