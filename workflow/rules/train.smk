"""Magnet table, the fits of every step and the parameter set."""

TABLE = f"{RESULTS}/table/table.npz"
CLOSURE = RUN["training"]["closure"]
# The table closed on the fit, its accuracy, and a summary of each stage.
CLOSED = {name: f"{RESULTS}/closure/{name}" for name in ("table.npz", "accuracy.json", "closure.json")}
# The ghost score; where there are no candidates to train one on, a set has none.
SCORE = [f"{RESULTS}/score.json"] if RUN.simulates_datasets else []
# Fingerprint of the code that a set of simulated tracks depends on.
TRAINED_BY = code(
    "parkf/detector",
    "parkf/detector/transport",
    "parkf/simulation/generate/collisions.py",
    "parkf/simulation/generate/interactions.py",
    "parkf/simulation/random_numbers.py",
    "parkf/simulation/response/simulate.py",
    "parkf/simulation/long_tracks.py",
    "parkf/training/datasets",
    "parkf/model/layout",
    "parkf/model/steps",
    "parkf/model/codegen",
    "parkf/training",
    "parkf/training/assembly.py",
    "parkf/training/closure",
    "kernel",
)


rule table:
    input:
        geometry=GEOMETRY,
        field=f"{RESULTS}/field.npz",
    output:
        table=TABLE,
        accuracy=f"{RESULTS}/table/accuracy.json",
    params:
        rays=RUN["training"]["rays"],
        seed=RUN["seed"],
        forms=RUN["forms"],
        code=code("parkf/model/layout/magnet.py", "parkf/model/steps/magnet.py", "parkf/training/magnet_table", "parkf/detector/transport", *TRANSPORT_KERNEL),
    priority: FIRST
    threads: TWO_THREADS
    resources:
        **needs(COSTS, "table", RUN["training"]["rays"]),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/table.log",
    shell:
        f"{SHARED}train-table {{output.table:q}} {{output.accuracy:q}} --geometry {{input.geometry:q}} --field {{input.field:q}}"
        " --forms {params.forms} --rays {params.rays} --seed {params.seed} --threads {threads} 2> {log}"


scattergather:
    # Number of jobs among which the parameter sets of a step are divided: --set-scatter sets=<number>, for
    # all steps. One is the cheapest where few cores are idle, since every job takes a second to start.
    sets=1,


IN_PARTS = [step for step in STEPS if len(fit_parts(step)) > 1]
WHOLE = [step for step in STEPS if step not in IN_PARTS]


rule train:
    """Fit p, then the scattering, of one step."""
    input:
        dataset=f"{RESULTS}/datasets/{{step}}.parquet",
        # Only the hop through the magnet builds on the table.
        table=lambda w: [TABLE] if w.step == "UTTF" else [],
        start=lambda w: RUN.start(w.step),
    output:
        f"{RESULTS}/fits/{{step}}.json",
    wildcard_constraints:
        step="|".join(WHOLE),
    params:
        table=lambda w, input: f"--table {input.table}" if input.table else "",
        start=lambda w, input: f"--start-from {quote(str(input.start))}" if input.start else "",
        part="",
        forms=RUN["forms"],
        formula=lambda w: STEPS[w.step].formula_hash(),
        code=code("parkf/training", "parkf/model/codegen"),
    priority: FIRST
    threads: lambda w: cores_for(RUN.rows(w.step))
    resources:
        **needs(COSTS, "train", lambda w: RUN.rows(w.step)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/train-{{step}}.log",
    shell:
        f"{SHARED}train {{wildcards.step}} {{input.dataset:q}} {{output:q}} --forms {{params.forms}} {{params.table}}"
        " {params.start} {params.part} --threads {threads} 2> {log}"


if IN_PARTS:

    use rule train as train_part with:
        output:
            f"{RESULTS}/fits/{{step}}/{{part}}.json",
        wildcard_constraints:
            step="|".join(IN_PARTS),
            part=r"\d+-of-\d+",
        params:
            part=lambda w: f"--part {w.part}",
        threads: lambda w: cores_for(part_rows(w))
        resources:
            **needs(COSTS, "train_part", part_rows),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/train-{{step}}/{{part}}.log",

    rule join_fits:
        """The parts of a step together, as one job fits it."""
        input:
            dataset=f"{RESULTS}/datasets/{{step}}.parquet",
            parts=lambda w: [f"{RESULTS}/fits/{w.step}/{part}.json" for part in fit_parts(w.step)],
        output:
            f"{RESULTS}/fits/{{step}}.json",
        wildcard_constraints:
            step="|".join(IN_PARTS),
        params:
            code=code("parkf/training/parts.py"),
        priority: FIRST
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/train-{{step}}/join.log",
        shell:
            f"{SHARED}join-fits {{input.parts:q}} {{output:q}} --dataset {{input.dataset:q}} 2> {{log}}"


rule assemble:
    input:
        detector=DETECTOR,
        source=RUN.field_files,
        field=f"{RESULTS}/field.npz",
        table=TABLE,
        fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
        closed=list(CLOSED.values()) if CLOSURE else [],
        score=SCORE,
    output:
        constant=f"{RESULTS}/set/constant.f32",
        table=f"{RESULTS}/set/global.f32",
        manifest=f"{RESULTS}/set/manifest.json",
        **({"ghosts": f"{RESULTS}/set/ghosts.f32"} if SCORE else {}),
    params:
        score=lambda w, input: f"--score {input.score}" if input.score else "",
        seed=RUN["seed"],
        seeds=json.dumps({sample: RUN.seed(sample) for sample in RUN.samples("closure")}),
        # For the manifest, so that the training can be repeated.
        configuration=json.dumps(RUN.training),
        validity=json.dumps(RUN.validity),
        inputs=json.dumps({"field source": field_fingerprint(RUN["field"], Path.cwd()), "code": TRAINED_BY}),
        code=code("parkf/model/layout", "parkf/params"),
    priority: FIRST
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/assemble.log",
    shell:
        f"{SHARED}assemble $(dirname {{output.constant:q}}) --fits $(dirname {{input.fits[0]:q}}) --table {{input.table:q}}"
        " --geometry {input.detector[0]:q} --alignment {input.detector[1]:q} --field {input.field:q}"
        " --seed {params.seed} --configuration {params.configuration:q} --inputs {params.inputs:q}"
        " --validity {params.validity:q} --seeds {params.seeds:q}"
        + (" --closure $(dirname {input.closed[0]})" if CLOSURE else "")
        + " {params.score} 2> {log}"


rule accuracy:
    input:
        set=rules.assemble.output,
        field=f"{RESULTS}/field.npz",
        datasets=[f"{RESULTS}/datasets/{step}.parquet" for step in STEPS],
        fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
        table=TABLE,
        table_accuracy=f"{RESULTS}/table/accuracy.json",
        closed=list(CLOSED.values()) if CLOSURE else [],
    output:
        f"{RESULTS}/accuracy.json",
    params:
        code=code("parkf/training"),
    resources:
        **needs(COSTS, "accuracy", sum(min(RUN.rows(step), MOST_ROWS) for step in STEPS)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/accuracy.log",
    shell:
        # All inputs are found in the run of the set.
        f"{SHARED}accuracy $(dirname {{input.set[0]:q}}) --output {{output:q}} > {{log}} 2>&1"
