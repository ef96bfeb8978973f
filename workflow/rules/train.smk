"""Magnet table, the fits of every step and the parameter set."""

# Keys of the code of all stages that a parameter set depends on; the manifest has their digest.
TRAINED_BY = code_of(
    *("field", "generate", "simulate", "thresholds", "rows", "datasets", "table", "train"),
    *("closure_tracks", "close", "rich", "slices", "electron"),
)
# Rows that the accuracy is measured on.
MEASURED_ROWS = sum(min(RUN.rows(step), MOST_ROWS) for step in STEPS)
# Rows that the RICH planes are fitted to: those of one set of each of these steps.
PLANE_ROWS = sum(min(RUN.rows(step) // RUN.sets[step], ROWS_OF_A_PLANE) for step in ("VUT", "UT", "T"))
IN_PARTS = [step for step in STEPS if len(RUN.parts(step)) > 1]


rule table:
    """The 240,000 numbers of the magnet, and their accuracy on other rays."""
    input: geometry=GEOMETRY, field=FIELD
    output: output=TABLE, accuracy=TABLE_ACCURACY
    params:
        code=code_of("table"),
        means=GEOMETRY_MEANS,
        rays=RUN["training"]["rays"],
        seed=RUN["seed"],
        forms=RUN["forms"],
    priority: FIRST
    threads: TWO_THREADS
    resources: **needs(COSTS, "table", RUN["training"]["rays"])
    conda: ENVIRONMENT
    log: logged("table.log")
    shell:
        stage(
            "table",
            " --geometry {input.geometry:q} --field {input.field:q} --output {output.output:q}",
            " --accuracy {output.accuracy:q} --rays {params.rays} --seed {params.seed} --forms {params.forms}",
            " --threads {threads}",
        )


rule train:
    """Fit p, then the scattering, of one step."""
    input:
        dataset=f"{RESULTS}/datasets/{{step}}.parquet",
        # Only the step through the magnet depends on the table.
        table=lambda w: [TABLE] if w.step == "UTTF" else [],
        # Tracks that are born in the magnet are carried through the field.
        field=lambda w: [FIELD] if RUN.steps[w.step].displaced else [],
        geometry=lambda w: [GEOMETRY] if RUN.steps[w.step].displaced else [],
        start_from=lambda w: list(map(given, RUN.start(w.step))),
    output: f"{RESULTS}/fits/{{step}}.json"
    wildcard_constraints: step="|".join(step for step in STEPS if step not in IN_PARTS)
    params:
        code=code_of("train"),
        means=lambda w: GEOMETRY_MEANS if RUN.steps[w.step].displaced else {},
        forms=RUN["forms"],
        seed=RUN["seed"],
    priority: FIRST
    threads: lambda w: cores_for(RUN.rows(w.step))
    resources: **needs(COSTS, "train", lambda w: RUN.rows(w.step))
    conda: ENVIRONMENT
    log: logged("train-{step}.log")
    shell:
        stage(
            "train",
            " --step {wildcards.step} --dataset {input.dataset:q} --output {output:q}",
            passed(("table", "field", "geometry", "start_from")),
            " --forms {params.forms} --seed {params.seed} --threads {threads}",
        )


if IN_PARTS:

    rule train_part:
        """The same for some of a step's sets, of the rows of the chunks, which then need not be joined before."""
        input:
            dataset=lambda w: [f"{RESULTS}/rows/{chunk}/{w.step}.parquet" for chunk in RUN.training_chunks]
            if w.step in RUN.simulated_steps
            else [f"{RESULTS}/datasets/{w.step}.parquet"],
            table=lambda w: [TABLE] if w.step == "UTTF" else [],
            field=lambda w: [FIELD] if RUN.steps[w.step].displaced else [],
            geometry=lambda w: [GEOMETRY] if RUN.steps[w.step].displaced else [],
            start_from=lambda w: list(map(given, RUN.start(w.step))),
        output: f"{RESULTS}/fits/{{step}}/{{part}}.json"
        wildcard_constraints: step="|".join(IN_PARTS), part="|".join(part for step in IN_PARTS for part in RUN.parts(step))
        params:
            code=code_of("train"),
            means=lambda w: GEOMETRY_MEANS if RUN.steps[w.step].displaced else {},
            dataset=lambda w, input: collapsed(input.dataset),
            forms=RUN["forms"],
            seed=RUN["seed"],
        priority: FIRST
        threads: lambda w: cores_for(RUN.part_rows(w.step))
        resources: **needs(COSTS, "train_part", lambda w: RUN.part_rows(w.step))
        conda: ENVIRONMENT
        log: logged("train-{step}/{part}.log")
        shell:
            stage(
                "train",
                " --step {wildcards.step} --part {wildcards.part} --dataset {params.dataset:q}",
                " --output {output:q}",
                passed(("table", "field", "geometry", "start_from")),
                " --forms {params.forms} --seed {params.seed} --threads {threads}",
            )

    rule join_fits:
        """The fit of a step, joined from its parts; a single job has the same result."""
        input:
            dataset=f"{RESULTS}/datasets/{{step}}.parquet",
            parts=lambda w: [f"{RESULTS}/fits/{w.step}/{part}.json" for part in RUN.parts(w.step)],
        output: f"{RESULTS}/fits/{{step}}.json"
        wildcard_constraints: step="|".join(IN_PARTS)
        params: code=code_of("join_fits")
        priority: FIRST
        threads: TWO_THREADS
        resources: **needs(COSTS, "join_fits", lambda w: RUN.rows(w.step))
        conda: ENVIRONMENT
        log: logged("train-{step}/join.log")
        shell:
            stage(
                "join_fits",
                " --dataset {input.dataset:q} --parts {input.parts:q} --output {output:q} --threads {threads}",
            )


rule rich:
    """Constants for states at the RICH planes."""
    input:
        velo=f"{RESULTS}/datasets/VUT.parquet",
        ut=f"{RESULTS}/datasets/UT.parquet",
        scifi=f"{RESULTS}/datasets/T.parquet",
        field=FIELD,
    output: RICH
    params: code=code_of("rich")
    resources: **needs(COSTS, "rich", PLANE_ROWS)
    conda: ENVIRONMENT
    log: logged("rich.log")
    shell:
        stage(
            "rich",
            " --velo {input.velo:q} --ut {input.ut:q} --scifi {input.scifi:q} --field {input.field:q}",
            " --output {output:q}",
        )


rule slices:
    """The steps inside the magnet, for states between UT and SciFi."""
    input: geometry=GEOMETRY, field=FIELD
    output: output=SLICES, accuracy=SLICES_ACCURACY
    params: code=code_of("slices"), means=GEOMETRY_MEANS, seed=RUN["seed"]
    threads: TWO_THREADS
    resources: **needs(COSTS, "slices", 1)
    conda: ENVIRONMENT
    log: logged("slices.log")
    shell:
        stage(
            "slices",
            " --geometry {input.geometry:q} --field {input.field:q} --output {output.output:q}",
            " --accuracy {output.accuracy:q} --seed {params.seed} --threads {threads}",
        )


rule electron:
    """What electrons radiate, from simulated electrons and their full fits."""
    input: **PASSAGE
    output: ELECTRON
    params: code=code_of("electron"), means=MEANS, seed=RUN["seed"]
    resources: **needs(COSTS, "electron", 1)
    conda: ENVIRONMENT
    log: logged("electron.log")
    shell: stage("electron", PASSED, " --output {output:q} --seed {params.seed}")


# What a set is made of without and with its ghost score, and the values in its manifest.
PARTS_OF_SET = {
    **PASSAGE,
    "table": TABLE,
    "fits": FITS,
    "rich": RICH,
    **(
        {"closed": CLOSED["output"], "closed_accuracy": CLOSED["accuracy"], "closed_summary": CLOSED["summary"]}
        if CLOSURE
        else {}
    ),
}
IN_MANIFEST = {
    "seed": RUN["seed"],
    "seeds": text_of({sample: RUN.seed(sample) for sample in RUN.samples("closure")}),
    # The manifest has these values, so that the training can be repeated.
    "configuration": text_of(RUN.training),
    "validity": text_of(RUN.get("validity", {})),
    "inputs": lambda w: text_of({"field source": field_fingerprint(RUN["field"], Path.cwd()), "code": TRAINED_BY}),
}
ASSEMBLED = "".join(f" --{name} {{params.{name}:q}}" for name in IN_MANIFEST)


rule assemble:
    """The parameter set."""
    input:
        **PARTS_OF_SET,
        sources=FIELD_SOURCE,
        slices=SLICES,
        electron=ELECTRON,
        **({"score": SCORE} if SCORE else {}),
    output: SET
    params: code=code_of("assemble"), means={**MEANS, **SOURCE_MEANS}, **IN_MANIFEST
    priority: FIRST
    conda: ENVIRONMENT
    log: logged("assemble.log")
    shell:
        stage(
            "assemble",
            passed(PARTS_OF_SET),
            " --sources {input.sources:q} --slices {input.slices:q} --electron {input.electron:q}",
            " --score {input.score:q}" if SCORE else "",
            " --outputs {output:q}",
            ASSEMBLED,
        )


rule accuracy:
    """Accuracy of all steps and the table against Runge-Kutta."""
    input:
        set=SET,
        fits=FITS,
        table=TABLE,
        table_accuracy=TABLE_ACCURACY,
        **({"closed": CLOSED["output"], "closed_accuracy": CLOSED["accuracy"]} if CLOSURE else {}),
        field=FIELD,
        datasets=[f"{RESULTS}/datasets/{step}.parquet" for step in STEPS],
    output: f"{RESULTS}/accuracy.json"
    params: code=code_of("accuracy")
    threads: cores_for(MEASURED_ROWS)
    resources: **needs(COSTS, "accuracy", MEASURED_ROWS)
    conda: ENVIRONMENT
    log: logged("accuracy.log")
    shell:
        stage(
            "accuracy",
            passed(("set", "fits", "table", "table_accuracy", *(("closed", "closed_accuracy") if CLOSURE else ()), "field", "datasets")),
            " --output {output:q} --threads {threads}",
            log=" > {log} 2>&1",
        )
