"""Magnet table, the fits of every step and the parameter set."""

# Fingerprint of the code of all commands that a parameter set depends on; it is written to the manifest.
TRAINED_BY = code_of(
    *("field", "generate", "simulate", "draw", "thresholds", "datasets", "gather-dataset", "train-table", "train"),
    *("closure-tracks", "close", "train-rich", "train-slices", "train-electron"),
)
# Rows that the accuracy is measured on.
MEASURED_ROWS = sum(min(RUN.rows(step), MOST_ROWS) for step in STEPS)
# Rows that the RICH planes are fitted to: those of one set of each of these steps.
PLANE_ROWS = sum(min(RUN.rows(step) // RUN.sets[step], ROWS_OF_A_PLANE) for step in ("VUT", "UT", "T"))
IN_PARTS = [step for step in STEPS if len(RUN.parts(step)) > 1]


rule table:
    input:
        geometry=GEOMETRY,
        field=FIELD,
    output:
        output=TABLE,
        accuracy=TABLE_ACCURACY,
    params:
        rays=RUN["training"]["rays"],
        seed=RUN["seed"],
        forms=RUN["forms"],
    priority: FIRST
    threads: TWO_THREADS
    resources: **needs(COSTS, "table", RUN["training"]["rays"])
    log: f"{RESULTS}/logs/table.log"
    shell: "parkf train-table --job {log}.json --threads {threads} 2> {log}"


rule train:
    """Fit p, then the scattering, of one step."""
    input:
        dataset=fitted_rows,
        # Only the step through the magnet depends on the table.
        table=lambda w: [TABLE] if w.step == "UTTF" else [],
        # Tracks that are born in the magnet are carried through the field.
        field=lambda w: [FIELD] if RUN.steps[w.step].displaced else [],
        geometry=lambda w: [GEOMETRY] if RUN.steps[w.step].displaced else [],
        start_from=lambda w: RUN.start(w.step),
    output: f"{RESULTS}/fits/{{step}}.json"
    wildcard_constraints: step="|".join(step for step in STEPS if step not in IN_PARTS)
    params:
        step="{step}",
        forms=RUN["forms"],
        seed=RUN["seed"],
        part=None,
        fingerprint=lambda w: {"formulas": RUN.steps[w.step].formula_hash()},
    priority: FIRST
    threads: lambda w: cores_for(RUN.rows(w.step))
    resources: **needs(COSTS, "train", lambda w: RUN.rows(w.step))
    log: f"{RESULTS}/logs/train-{{step}}.log"
    shell: "parkf train --job {log}.json --threads {threads} 2> {log}"


if IN_PARTS:

    use rule train as train_part with:
        output: f"{RESULTS}/fits/{{step}}/{{part}}.json"
        wildcard_constraints: step="|".join(IN_PARTS), part=r"\d+-of-\d+"
        params: part="{part}"
        threads: lambda w: cores_for(RUN.part_rows(w.step, w.part))
        resources: **needs(COSTS, "train_part", lambda w: RUN.part_rows(w.step, w.part))
        log: f"{RESULTS}/logs/train-{{step}}/{{part}}.log"

    rule join_fits:
        """The fit of a step, joined from its parts; a single job has the same result."""
        input:
            dataset=f"{RESULTS}/datasets/{{step}}.parquet",
            parts=lambda w: [f"{RESULTS}/fits/{w.step}/{part}.json" for part in RUN.parts(w.step)],
        output: f"{RESULTS}/fits/{{step}}.json"
        wildcard_constraints: step="|".join(IN_PARTS)
        priority: FIRST
        threads: TWO_THREADS
        resources: **needs(COSTS, "join_fits", lambda w: RUN.rows(w.step))
        log: f"{RESULTS}/logs/train-{{step}}/join.log"
        shell: "parkf join-fits --job {log}.json --threads {threads} 2> {log}"


rule train_rich:
    """Constants for states at the RICH planes."""
    input:
        velo=f"{RESULTS}/datasets/VUT.parquet",
        ut=f"{RESULTS}/datasets/UT.parquet",
        scifi=f"{RESULTS}/datasets/T.parquet",
        field=FIELD,
    output: RICH
    resources: **needs(COSTS, "train_rich", PLANE_ROWS)
    log: f"{RESULTS}/logs/train-rich.log"
    shell: "parkf train-rich --job {log}.json 2> {log}"


rule slices:
    """The steps inside the magnet, for states between UT and SciFi."""
    input:
        geometry=GEOMETRY,
        field=FIELD,
    output:
        output=SLICES,
        accuracy=SLICES_ACCURACY,
    params: seed=RUN["seed"]
    threads: TWO_THREADS
    resources: **needs(COSTS, "slices", 1)
    log: f"{RESULTS}/logs/slices.log"
    shell: "parkf train-slices --job {log}.json --threads {threads} 2> {log}"


rule electron:
    """What electrons radiate, from simulated electrons and their full fits."""
    input: **PASSAGE
    output: ELECTRON
    params: seed=RUN["seed"]
    resources: **needs(COSTS, "electron", 1)
    log: f"{RESULTS}/logs/electron.log"
    shell: "parkf train-electron --job {log}.json 2> {log}"


rule assemble:
    input:
        PARTS_OF_SET,
        **PASSAGE,
        table=TABLE,
        score=SCORE,
        rich=RICH,
        slices=SLICES,
        electron=ELECTRON,
    output: SET
    params:
        folder=fixed(f"{RESULTS}/set"),
        fits=fixed(f"{RESULTS}/fits"),
        closure=fixed(f"{RESULTS}/closure" if CLOSURE else None),
        seed=RUN["seed"],
        seeds={sample: RUN.seed(sample) for sample in RUN.samples("closure")},
        # The manifest has these values, so that the training can be repeated.
        configuration=RUN.training,
        validity=RUN.get("validity", {}),
        inputs=lambda w, input: {"field source": field_fingerprint(RUN["field"], Path.cwd()), "code": TRAINED_BY},
        fingerprint={"code": TRAINED_BY},
    priority: FIRST
    log: f"{RESULTS}/logs/assemble.log"
    shell: "parkf assemble --job {log}.json 2> {log}"


rule accuracy:
    """Accuracy of all steps and the table against Runge-Kutta; the command finds their files in the set's run."""
    input:
        SET,
        PARTS_OF_SET,
        *(FIELD, TABLE, TABLE_ACCURACY),
        [f"{RESULTS}/datasets/{step}.parquet" for step in STEPS],
    output: f"{RESULTS}/accuracy.json"
    params: parameters=fixed(f"{RESULTS}/set")
    threads: cores_for(MEASURED_ROWS)
    resources: **needs(COSTS, "accuracy", MEASURED_ROWS)
    log: f"{RESULTS}/logs/accuracy.log"
    shell: "parkf accuracy --job {log}.json --threads {threads} > {log} 2>&1"
