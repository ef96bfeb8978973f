"""What data without truth say of the detector, if a configuration names them; a family with rounds repeats it."""

CALIBRATION = RUN.get("calibration")
CALIBRATED = [f"{RESULTS}/calibration/{name}" for name in CALIBRATION_FILES] if CALIBRATION else []

if CALIBRATION:
    # Candidates of the run's own simulation, which data are compared with.
    REFERENCE = [*RUN.samples("validation"), *(SCORED if SCORE and TRAINS_SCORE else [])]
    DECAYS = {
        "pairs": [(decay, file) for decay, files in CALIBRATION["pairs"].items() for file in files],
        "reference_pairs": [
            (decay, f"{RESULTS}/candidates/{sample}.parquet")
            for decay in CALIBRATION["pairs"]
            for sample in RUN.samples(decay)
        ],
    }

    rule calibrate:
        """Alignment, field, hit errors and scattering, for a set to train anew."""
        input:
            SET,
            [file for pairs in DECAYS.values() for _, file in pairs],
            **PASSAGE,
            candidates=CALIBRATION["candidates"],
            placed=document(CALIBRATION["placed"]),
            reference=[f"{RESULTS}/candidates/{sample}.parquet" for sample in REFERENCE],
            **({"before": CALIBRATION["before"]} if "before" in CALIBRATION else {}),
        output: CALIBRATED
        params:
            parameters=fixed(f"{RESULTS}/set"),
            output=fixed(f"{RESULTS}/calibration"),
            **{name: [f"{decay}={file}" for decay, file in pairs] for name, pairs in DECAYS.items()},
            survey=[f"{freedom}={error}" for freedom, error in CALIBRATION["survey"].items()],
        threads: LAST_THREADS
        resources: **needs(COSTS, "calibrate", RUN.sizes("validation"))
        log: f"{RESULTS}/logs/calibrate.log"
        shell: "parkf calibrate --job {log}.json > {log} 2>&1"
