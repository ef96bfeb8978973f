"""Step datasets, which are simulated in chunks, or the user's own datasets, which are checked."""

# Files of all chunks are named by functions: Snakemake calls them where a job reads these files, and not in every
# other job, which reads the rules, too. In commands, a pattern stands for the files of a sample's chunks.

if RUN.simulated_steps:

    rule thresholds:
        """The thresholds of the random numbers, from all chunks: rows below them are kept."""
        input: lambda w: [f"{RESULTS}/rows/draws/{chunk}.npz" for chunk in RUN.training_chunks]
        output: f"{RESULTS}/rows/thresholds.json"
        params:
            code=code_of("thresholds"),
            draws=lambda w, input: collapsed(input),
            max_rows=RUN["training"]["max_rows"],
        priority: FIRST
        conda: ENVIRONMENT
        log: logged("thresholds.log")
        shell: stage("thresholds", " --draws {params.draws:q} --output {output:q} --max-rows {params.max_rows}")

    rule rows:
        """The rows of a chunk of all polarities that are kept, for every step."""
        input:
            **PASSAGE,
            particles=chunks("particles", "training"),
            states=chunks("states", "training"),
            thresholds=f"{RESULTS}/rows/thresholds.json",
        output: [f"{RESULTS}/rows/training_{p}{{part}}/{step}.parquet" for p in RUN["polarities"] for step in STEPS]
        params: code=code_of("rows"), means=MEANS
        priority: FIRST
        threads: TWO_THREADS
        conda: ENVIRONMENT
        log: logged("rows{part}.log")
        shell:
            stage(
                "rows",
                PASSED,
                " --particles {input.particles:q} --states {input.states:q} --thresholds {input.thresholds:q}",
                " --outputs {output:q} --threads {threads}",
            )

    for steps in RUN.steps_by_job(RUN.simulated_steps):

        rule:
            """The rows of steps from all chunks, set by set."""
            name:
                "_".join([*(steps if len(steps) == 1 else []), "datasets"])
            input:
                lambda w, steps=steps: [
                    f"{RESULTS}/rows/{chunk}/{step}.parquet" for step in steps for chunk in RUN.training_chunks
                ],
            output: [f"{RESULTS}/datasets/{step}.parquet" for step in steps]
            params: code=code_of("datasets"), rows=lambda w, input: collapsed(input)
            priority: FIRST
            conda: ENVIRONMENT
            log: logged(f"datasets/{'-'.join(steps)}.log")
            shell: stage("datasets", " --rows {params.rows:q} --outputs {output:q}")

if RUN.own_steps:

    rule adopt_dataset:
        """A dataset of the user, if it passes the checks."""
        input:
            dataset=given(f"{RUN['training']['datasets']}/{{step}}.parquet"),
            field=FIELD,
        output: f"{RESULTS}/datasets/{{step}}.parquet"
        wildcard_constraints: step="|".join(RUN.own_steps)
        params: code=code_of("adopt_dataset")
        threads: TWO_THREADS
        conda: ENVIRONMENT
        log: logged("adopt-{step}.log")
        shell:
            stage(
                "adopt_dataset",
                passed(("dataset", "field"))
                + " --output {output:q} --step {wildcards.step} --threads {threads}",
            )
