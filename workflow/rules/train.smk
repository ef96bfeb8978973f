"""Magnet table, the fits of every step and the parameter set."""

# Keys of the code of all stages that a parameter set depends on; the manifest has their digest.
TRAINED_BY = code_of(
    *("field", "generate", "simulate", "thresholds", "rows", "datasets", "table", "train"),
    *("closure_tracks", "close", "constants"),
)
# Rows that the accuracy is measured on.
MEASURED_ROWS = sum(min(RUN.rows(step), MOST_ROWS) for step in STEPS)


rule table:
    """The 240,000 numbers of the magnet, the steps inside it for states between UT and SciFi, their accuracy."""
    input: geometry=GEOMETRY, field=FIELD
    output: output=TABLE, accuracy=TABLE_ACCURACY, slices=SLICES, slices_accuracy=SLICES_ACCURACY
    params:
        code=code_of("table"),
        means=GEOMETRY_MEANS,
        rays=RUN["training"]["rays"],
        seed=RUN["seed"],
        forms=RUN["forms"],
    priority: FIRST
    threads: TWO_THREADS
    conda: ENVIRONMENT
    log: logged("table.log")
    shell:
        stage(
            "table",
            " --geometry {input.geometry:q} --field {input.field:q} --output {output.output:q}",
            " --accuracy {output.accuracy:q} --slices {output.slices:q}",
            " --slices-accuracy {output.slices_accuracy:q} --rays {params.rays} --seed {params.seed}",
            " --forms {params.forms} --threads {threads}",
        )


for steps in RUN.trainings:
    displaced = any(RUN.steps[step].displaced for step in steps)

    rule:
        """Fit p, then the scattering, of steps with few rows, or of one step."""
        name: "_".join(["train", *(steps if len(steps) == 1 else ["behind"] if "TFT" in steps else [])])
        input:
            datasets=[f"{RESULTS}/datasets/{step}.parquet" for step in steps],
            # Only the step through the magnet depends on the table.
            table=[TABLE] if "UTTF" in steps else [],
            # Tracks that are born in the magnet are carried through the field.
            field=[FIELD] if displaced else [],
            geometry=[GEOMETRY] if displaced else [],
        output: [f"{RESULTS}/fits/{step}.json" for step in steps]
        params:
            code=code_of("train"),
            means=GEOMETRY_MEANS if displaced else {},
            steps=steps,
            forms=RUN["forms"],
            seed=RUN["seed"],
        priority: FIRST
        threads: cores_for(max(map(RUN.rows, steps)))
        conda: ENVIRONMENT
        log: logged(f"train-{'-'.join(steps)}.log")
        shell:
            stage(
                "train",
                " --steps {params.steps} --datasets {input.datasets:q} --outputs {output:q}",
                passed(("table", "field", "geometry")),
                " --forms {params.forms} --seed {params.seed} --threads {threads}",
            )


rule constants:
    """Constants for states at the RICH planes, and what electrons radiate, from simulated electrons."""
    input:
        **PASSAGE,
        velo=f"{RESULTS}/datasets/VUT.parquet",
        ut=f"{RESULTS}/datasets/UT.parquet",
        scifi=f"{RESULTS}/datasets/T.parquet",
    output: rich=RICH, electron=ELECTRON
    params: code=code_of("constants"), means=MEANS, seed=RUN["seed"]
    # The set waits for it while the table is closed.
    priority: FIRST / 2
    conda: ENVIRONMENT
    log: logged("constants.log")
    shell:
        stage(
            "constants",
            PASSED,
            passed(("velo", "ut", "scifi")),
            " --rich {output.rich:q} --electron {output.electron:q} --seed {params.seed}",
        )


# What a set is made of, and the values in its manifest.
PARTS_OF_SET = {
    **PASSAGE,
    "table": TABLE,
    "fits": FITS,
    "rich": RICH,
    "slices": SLICES,
    "electron": ELECTRON,
    # The ghost score is trained on candidates of the first crossings of the training, or a neighbour's is taken.
    "particles": [f"{RESULTS}/particles/{chunk}.parquet" for chunk in SCORED],
    "candidates": [f"{RESULTS}/candidates/{chunk}.parquet" for chunk in SCORED],
    **({} if TRAINS_SCORE else {"theirs": SCORE}),
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
    "inputs": lambda w: text_of({"field source": sha256(Path(RUN["field"]["source"])), "code": TRAINED_BY}),
}
ASSEMBLED = "".join(f" --{name} {{params.{name}:q}}" for name in IN_MANIFEST)


if SCORE and not TRAINS_SCORE:

    rule take_score:
        """The ghost score of a run whose alignment is a little different."""
        input: f"{NEIGHBOUR}/score.json"
        output: SCORE
        params: code=code_of("take_score")
        priority: FIRST
        localrule: True
        conda: ENVIRONMENT
        log: logged("score.log")
        shell: stage("take_score", " --theirs {input:q} --output {output:q}")


rule assemble:
    """The parameter set, with its ghost score."""
    input: **PARTS_OF_SET, sources=FIELD_SOURCE
    output: **({"score": SCORE} if TRAINS_SCORE else {}), outputs=SET
    params: code=code_of("assemble"), means={**MEANS, **SOURCE_MEANS}, **IN_MANIFEST
    priority: FIRST
    conda: ENVIRONMENT
    log: logged("assemble.log")
    shell:
        stage(
            "assemble",
            passed(PARTS_OF_SET),
            " --sources {input.sources:q}",
            " --score {output.score:q}" if TRAINS_SCORE else "",
            " --outputs {output.outputs:q}",
            ASSEMBLED,
        )


rule accuracy:
    """Accuracy of all steps and the table against Runge-Kutta."""
    input:
        set=SET,
        fits=FITS,
        table=TABLE,
        table_accuracy=TABLE_ACCURACY,
        **({"closed_accuracy": CLOSED["accuracy"]} if CLOSURE else {}),
        datasets=[f"{RESULTS}/datasets/{step}.parquet" for step in STEPS],
    output: f"{RESULTS}/accuracy.json"
    params: code=code_of("accuracy")
    threads: cores_for(MEASURED_ROWS)
    conda: ENVIRONMENT
    log: logged("accuracy.log")
    shell:
        stage(
            "accuracy",
            passed(("set", "fits", "table", "table_accuracy", *(("closed_accuracy",) if CLOSURE else ()), "datasets")),
            " --output {output:q} --threads {threads}",
            log=" > {log} 2>&1",
        )
