"""Step datasets, which are simulated in chunks, or the user's own datasets, which are checked."""

# Files of all chunks are named by functions: Snakemake calls them where a job reads these files, and not in every
# other job, which reads the rules, too.

# Arguments that name all chunks of the training.
CHUNKED = {"samples": RUN.samples("training"), "chunks": len(RUN.chunks(RUN.samples("training")[0]))}

if RUN.simulated_steps:

    rule draw:
        """The smallest of the random numbers of a chunk's rows: only these rows can be kept."""
        input:
            **DETECTOR,
            particles=f"{RESULTS}/particles/{{chunk}}.parquet",
            states=f"{RESULTS}/states/{{chunk}}.parquet",
        output: f"{RESULTS}/rows/draws/{{chunk}}.npz"
        wildcard_constraints: chunk=RUN.pattern("training")
        params: max_rows=RUN["training"]["max_rows"]
        priority: FIRST
        resources: **needs(COSTS, "draw", lambda w: RUN.size(w.chunk))
        log: f"{RESULTS}/logs/draw-{{chunk}}.log"
        shell: "parkf draw --job {log}.json 2> {log}"

    rule thresholds:
        """The thresholds of the random numbers, from all chunks: rows below them are kept."""
        input: lambda w: [f"{RESULTS}/rows/draws/{chunk}.npz" for chunk in RUN.training_chunks]
        output: f"{RESULTS}/rows/thresholds.json"
        params:
            folder=fixed(f"{RESULTS}/rows/draws"),
            **CHUNKED,
            max_rows=RUN["training"]["max_rows"],
        priority: FIRST
        log: f"{RESULTS}/logs/thresholds.log"
        shell: "parkf thresholds --job {log}.json 2> {log}"

    rule rows:
        """The rows of a chunk that are kept, for every step."""
        input:
            **PASSAGE,
            particles=f"{RESULTS}/particles/{{chunk}}.parquet",
            states=f"{RESULTS}/states/{{chunk}}.parquet",
            thresholds=f"{RESULTS}/rows/thresholds.json",
        output: [f"{RESULTS}/rows/{{chunk}}/{step}.parquet" for step in STEPS]
        wildcard_constraints: chunk=RUN.pattern("training")
        params: folder=f"{RESULTS}/rows/{{chunk}}"
        priority: FIRST
        resources: **needs(COSTS, "rows", lambda w: RUN.size(w.chunk))
        log: f"{RESULTS}/logs/rows-{{chunk}}.log"
        shell: "parkf datasets --job {log}.json 2> {log}"

    for steps in RUN.steps_by_job(RUN.simulated_steps):

        rule:
            """The rows of steps from all chunks, set by set."""
            name:
                "_".join([*(steps if len(steps) == 1 else []), "datasets"])
            input:
                lambda w, steps=steps: [
                    f"{RESULTS}/rows/{chunk}/{step}.parquet" for chunk in RUN.training_chunks for step in steps
                ],
            output: [f"{RESULTS}/datasets/{step}.parquet" for step in steps]
            params:
                folder=fixed(f"{RESULTS}/rows"),
                **CHUNKED,
                each=[{"step": step} for step in steps],
            priority: FIRST
            threads: TWO_THREADS
            resources: **needs(COSTS, "datasets", sum(RUN.rows(step) for step in steps))
            log: f"{RESULTS}/logs/datasets/{'-'.join(steps)}.log"
            shell: "parkf gather-dataset --job {log}.json --threads {threads} 2> {log}"

if RUN.imported_steps:

    rule import_steps:
        """The dataset of a step from foreign tuples; the command prints what it finds in them."""
        input:
            lambda w: RUN.dataset_files(w.step),
            **PASSAGE,
        output: f"{RESULTS}/datasets/{{step}}.parquet"
        wildcard_constraints: step="|".join(RUN.imported_steps)
        params:
            source=RUN["training"]["datasets"],
            polarity=RUN["training"].get("datasets_polarity"),
            folder=fixed(f"{RESULTS}/datasets"),
            steps="{step}",
        log: f"{RESULTS}/logs/import-{{step}}.log", f"{RESULTS}/logs/import-steps/{{step}}.txt"
        shell: "parkf import steps --job {log[0]}.json > {log[1]} 2> {log[0]}"

elif not RUN.simulates_datasets:

    rule adopt_dataset:
        input: dataset=f"{RUN['training']['datasets']}/{{step}}.parquet"
        output: copy_to=f"{RESULTS}/datasets/{{step}}.parquet"
        params: step="{step}"
        log: f"{RESULTS}/logs/adopt-{{step}}.log"
        shell: "parkf check-dataset --job {log}.json 2> {log}"
