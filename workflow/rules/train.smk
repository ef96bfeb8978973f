"""Magnet table, the fits of every step and the parameter set."""

TABLE = f"{RESULTS}/table/table.npz"
# Fingerprint of the code that a set of simulated tracks depends on.
TRAINED_BY = code(
    "parkf/detector",
    "parkf/transport",
    "parkf/simulation/generator.py",
    "parkf/simulation/interactions.py",
    "parkf/simulation/randomness.py",
    "parkf/simulation/simulate.py",
    "parkf/datasets",
    "parkf/steps",
    "parkf/codegen",
    "parkf/training",
    "parkf/parameters/assembly.py",
    *TRANSPORT_KERNEL,
)


rule table:
    input:
        RUN["detector"]["geometry"],
        field=f"{RESULTS}/field.npz",
    output:
        table=TABLE,
        accuracy=f"{RESULTS}/table/accuracy.json",
    params:
        rays=RUN["training"]["rays"],
        seed=RUN["seed"],
        forms=RUN["forms"],
        code=code("parkf/steps/magnet.py", "parkf/training/magnet_table", "parkf/transport", *TRANSPORT_KERNEL),
    threads: 2
    log:
        f"{RESULTS}/logs/table.log",
    benchmark:
        f"{RESULTS}/benchmarks/table.tsv"
    shell:
        "parkf train-table {output.table} {output.accuracy} --geometry {input[0]} --field {input.field}"
        " --forms {params.forms} --rays {params.rays} --seed {params.seed} --threads {threads} 2> {log}"


rule train:
    """Fit p, then the scattering, of one step."""
    input:
        dataset=f"{RESULTS}/datasets/{{step}}.parquet",
        # Only the hop through the magnet builds on the table.
        table=lambda w: [TABLE] if w.step == "UTTF" else [],
    output:
        f"{RESULTS}/fits/{{step}}.json",
    params:
        table=lambda w, input: f"--table {input.table}" if input.table else "",
        forms=RUN["forms"],
        formula=lambda w: STEPS[w.step].formula_hash(),
        code=code("parkf/training", "parkf/codegen"),
    log:
        f"{RESULTS}/logs/train-{{step}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/train-{{step}}.tsv"
    shell:
        "parkf train {wildcards.step} {input.dataset} {output} --forms {params.forms} {params.table} 2> {log}"


rule assemble:
    input:
        detector=DETECTOR,
        source=RUN["field"]["source"],
        field=f"{RESULTS}/field.npz",
        table=TABLE,
        fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
    output:
        constant=f"{RESULTS}/set/constant.f32",
        table=f"{RESULTS}/set/global.f32",
        manifest=f"{RESULTS}/set/manifest.json",
    params:
        folder=f"{RESULTS}/set",
        fits=f"{RESULTS}/fits",
        seed=RUN["seed"],
        # For the manifest, so that the training can be repeated.
        configuration=json.dumps(RUN.training),
        inputs=lambda w, input: json.dumps({"field source": sha256(Path(input.source)), "code": TRAINED_BY}),
        code=code("parkf/parameters"),
    log:
        f"{RESULTS}/logs/assemble.log",
    shell:
        "parkf assemble {params.folder} --fits {params.fits} --table {input.table}"
        " --geometry {input.detector[0]} --alignment {input.detector[1]} --field {input.field}"
        " --seed {params.seed} --configuration {params.configuration:q} --inputs {params.inputs:q} 2> {log}"


rule accuracy:
    input:
        rules.assemble.output,
        field=f"{RESULTS}/field.npz",
        datasets=[f"{RESULTS}/datasets/{step}.parquet" for step in STEPS],
        fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
        table=TABLE,
        table_accuracy=f"{RESULTS}/table/accuracy.json",
    output:
        f"{RESULTS}/accuracy.json",
    params:
        folder=f"{RESULTS}/set",
        code=code("parkf/training"),
    log:
        f"{RESULTS}/logs/accuracy.log",
    benchmark:
        f"{RESULTS}/benchmarks/accuracy.tsv"
    shell:
        # The set's run has all the inputs.
        "parkf accuracy {params.folder} --output {output} > {log} 2>&1"
