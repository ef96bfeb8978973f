"""Step datasets: from the simulation, or a user's own, checked on the way in."""

if RUN.simulates_datasets:

    rule datasets:
        input:
            detector=DETECTOR,
            field=f"{RESULTS}/field.npz",
            particles=[f"{RESULTS}/particles/{s}.parquet" for s in RUN.samples("training")],
            states=[f"{RESULTS}/states/{s}.parquet" for s in RUN.samples("training")],
        output:
            [f"{RESULTS}/datasets/{step}.parquet" for step in STEPS],
        params:
            folder=f"{RESULTS}/datasets",
            max_rows=RUN["training"]["max_rows"],
            code=code("parkf/datasets", "parkf/transport", *TRANSPORT_KERNEL),
        threads: 2
        log:
            f"{RESULTS}/logs/datasets.log",
        benchmark:
            f"{RESULTS}/benchmarks/datasets.tsv"
        shell:
            "parkf datasets {params.folder} --particles '{input.particles}' --states '{input.states}'"
            " --geometry {input.detector[0]} --alignment {input.detector[1]} --field {input.field}"
            " --max-rows {params.max_rows} --threads {threads} 2> {log}"

else:

    rule adopt_dataset:
        input:
            f"{RUN['training']['datasets']}/{{step}}.parquet",
        output:
            f"{RESULTS}/datasets/{{step}}.parquet",
        params:
            code=code("parkf/datasets/checks.py"),
            table=STEP_DATA.content,
        log:
            f"{RESULTS}/logs/adopt-{{step}}.log",
        shell:
            "parkf check-dataset {wildcards.step} {input} --copy-to {output} 2> {log}"
