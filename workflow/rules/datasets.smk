"""Step datasets: from the simulation, chunk by chunk, or a user's own, checked on the way in."""

# Steps that are imported from others' tuples, and those that are simulated here: all, or those missing there.
IMPORTED = RUN.imported_steps
SIMULATED = [step for step in STEPS if step not in IMPORTED] if RUN.simulates_datasets or IMPORTED else []

if SIMULATED:
    TRAINING = RUN.samples("training")
    TRAINING_CHUNKS = [chunk for sample in TRAINING for chunk in RUN.chunks(sample)]
    CHUNKS_OF_ONE = len(RUN.chunks(TRAINING[0]))

    rule draw:
        """Which rows may be kept: the smallest of the numbers that a chunk's rows draw."""
        input:
            detector=DETECTOR,
            particles=f"{RESULTS}/particles/{{chunk}}.parquet",
            states=f"{RESULTS}/states/{{chunk}}.parquet",
        output:
            f"{RESULTS}/rows/draws/{{chunk}}.npz",
        wildcard_constraints:
            chunk=RUN.pattern("training"),
        params:
            max_rows=RUN["training"]["max_rows"],
            code=code(
                "parkf/training/datasets/sets.py",
                "parkf/training/datasets/legs.py",
                "parkf/training/datasets/pieces.py",
                "parkf/training/datasets/lottery.py",
                "parkf/simulation/long_tracks.py",
            ),
        priority: FIRST
        resources:
            **needs(COSTS, "draw", lambda w: RUN.size(w.chunk)),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/draw-{{chunk}}.log",
        shell:
            f"{SHARED}draw {{input.particles:q}} {{input.states:q}} {{output:q}} --geometry {{input.detector[0]:q}}"
            " --alignment {input.detector[1]:q} --max-rows {params.max_rows} 2> {log}"

    rule thresholds:
        """Which rows are kept, of all chunks."""
        input:
            draws=[f"{RESULTS}/rows/draws/{chunk}.npz" for chunk in TRAINING_CHUNKS],
        output:
            f"{RESULTS}/rows/thresholds.json",
        params:
            samples=TRAINING,
            chunks=CHUNKS_OF_ONE,
            max_rows=RUN["training"]["max_rows"],
            code=code("parkf/training/datasets/sets.py", "parkf/training/datasets/thresholds.py"),
        priority: FIRST
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/thresholds.log",
        shell:
            f"{SHARED}thresholds {folder(f'{RESULTS}/rows/draws', '{input.draws[0]}')}"
            " {output:q} --samples '{params.samples}' --chunks {params.chunks}"
            " --max-rows {params.max_rows} 2> {log}"

    rule rows:
        """The rows of a chunk that are kept, of every step."""
        input:
            detector=DETECTOR,
            field=f"{RESULTS}/field.npz",
            particles=f"{RESULTS}/particles/{{chunk}}.parquet",
            states=f"{RESULTS}/states/{{chunk}}.parquet",
            thresholds=f"{RESULTS}/rows/thresholds.json",
        output:
            rows=[f"{RESULTS}/rows/{{chunk}}/{step}.parquet" for step in STEPS],
        wildcard_constraints:
            chunk=RUN.pattern("training"),
        params:
            code=code(
                "parkf/training/datasets/sets.py",
                "parkf/training/datasets/legs.py",
                "parkf/training/datasets/pieces.py",
                "parkf/training/datasets/lottery.py",
                "parkf/training/datasets/rows.py",
                "parkf/training/datasets/builder.py",
                "parkf/simulation/long_tracks.py",
                "parkf/detector/transport",
                *TRANSPORT_KERNEL,
            ),
        priority: FIRST
        resources:
            **needs(COSTS, "rows", lambda w: RUN.size(w.chunk)),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/rows-{{chunk}}.log",
        shell:
            f"{SHARED}datasets {{input.particles:q}} {{input.states:q}} $(dirname {{output.rows[0]:q}}) --thresholds {{input.thresholds:q}}"
            " --geometry {input.detector[0]:q} --alignment {input.detector[1]:q} --field {input.field:q} 2> {log}"

    for steps in jobs_of(SIMULATED):

        rule:
            """The rows of steps from all chunks, set by set."""
            name:
                "_".join([*(steps if len(steps) == 1 else []), "datasets"])
            input:
                rows=[f"{RESULTS}/rows/{chunk}/{step}.parquet" for chunk in TRAINING_CHUNKS for step in steps],
            output:
                [f"{RESULTS}/datasets/{step}.parquet" for step in steps],
            params:
                commands=gather_commands(steps),
                code=code("parkf/training/datasets/sets.py", "parkf/training/datasets/gather.py"),
            priority: FIRST
            resources:
                **needs(COSTS, "datasets", sum(RUN.rows(step) for step in steps)),
            conda:
                ENVIRONMENT
            log:
                f"{RESULTS}/logs/datasets/{'-'.join(steps)}.log",
            shell:
                f"{SHARED}together {{params.commands}} 2> {{log}}"

if IMPORTED:

    rule import_steps:
        """A step from others' tuples."""
        input:
            detector=DETECTOR,
            field=f"{RESULTS}/field.npz",
            tuples=lambda w: RUN.dataset_files(w.step),
        output:
            f"{RESULTS}/datasets/{{step}}.parquet",
        wildcard_constraints:
            step="|".join(IMPORTED),
        params:
            source=RUN.import_steps,
            told=f"{RESULTS}/logs/import-steps",
            code=code("parkf/imports/steps", "parkf/imports", "parkf/training/datasets", "parkf/detector/transport", *TRANSPORT_KERNEL),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/import-{{step}}.log",
        shell:
            "mkdir -p {params.told} && parkf import steps {params.source} $(dirname {output:q}) --steps {wildcards.step}"
            " --field {input.field:q} --geometry {input.detector[0]:q} --alignment {input.detector[1]:q}"
            " > {params.told}/{wildcards.step}.txt 2> {log}"

elif not RUN.simulates_datasets:

    rule adopt_dataset:
        input:
            f"{RUN['training']['datasets']}/{{step}}.parquet",
        output:
            f"{RESULTS}/datasets/{{step}}.parquet",
        params:
            code=code("parkf/training/datasets/checks.py"),
            table=STEP_DATA.content,
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/adopt-{{step}}.log",
        shell:
            "parkf check-dataset {wildcards.step} {input:q} --copy-to {output:q} 2> {log}"
