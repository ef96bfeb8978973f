"""Files, settings and parts of commands that rules of several stages use."""


def given(path):
    """A file as an input; whether jobs run again depends on a document's meaning, not on its time."""
    if Path(path).is_relative_to("results"):
        return path
    return ancient(path) if is_document(path) else path


def logged(name):
    """The log of a job."""
    return f"{RESULTS}/logs/{name}"


DETECTOR = {name: given(RUN["detector"][name]) for name in ("geometry", "alignment")}
GEOMETRY = DETECTOR["geometry"]
FIELD = f"{RESULTS}/field.npz"
# Files that describe the transport of particles, and the words that pass them to a stage.
PASSAGE = {**DETECTOR, "field": FIELD}
PASSED = " --geometry {input.geometry:q} --alignment {input.alignment:q} --field {input.field:q}"
FIELD_SOURCE = given(RUN["field"]["source"])
# What the documents of users mean. Whether jobs run again depends on this, and not on the times of the files.
GEOMETRY_MEANS = meanings(GEOMETRY)
MEANS = meanings(*DETECTOR.values())
SOURCE_MEANS = meanings(FIELD_SOURCE)


# Packages that jobs need, if Snakemake makes environments.
ENVIRONMENT = str(PROJECT / "workflow/envs/parkf.yaml")


def stage(name, *words, log=" 2> {log}"):
    """The command of a stage: its name, its arguments, the key of its code, and where its messages go."""
    return "".join([f"{stage_words()} {name}", *words, " --code {params.code}", log])


def passed(names):
    """The words that pass inputs of a rule by their names; those that a job does not have are left out."""
    return "".join(f" --{name.replace('_', '-')} {{input.{name}:q}}" for name in names)


CLOSURE = RUN["training"]["closure"]
NOISE = {"training": {"noise_scale": RUN["training"]["noise_scale"]}}
# Folder of the run whose closed table and ghost score are used; None if both are trained.
NEIGHBOUR = RUN["training"].get("neighbour")
TABLE = f"{RESULTS}/table/table.npz"
TABLE_ACCURACY = f"{RESULTS}/table/accuracy.json"
FITS = [f"{RESULTS}/fits/{step}.json" for step in STEPS]
# The table closed on the fit, its accuracy, and what it was closed with.
CLOSED_FILES = {"output": "table.npz", "accuracy": "accuracy.json", "summary": "closure.json"}
CLOSED = {name: f"{RESULTS}/closure/{file}" for name, file in CLOSED_FILES.items()}
# The ghost score. Without candidates to train it on, a set has no score. A run with a neighbour uses the
# neighbour's score, and trains none.
SCORE = [f"{RESULTS}/score.json"] if RUN.simulates_datasets else []
TRAINS_SCORE = bool(SCORE) and NEIGHBOUR is None
SCORED = [chunk for chunk in RUN.training_chunks if RUN.scored(chunk)] if TRAINS_SCORE else []
RICH = f"{RESULTS}/rich.json"
ELECTRON = f"{RESULTS}/electron.json"
SLICES = f"{RESULTS}/slices/slices.npz"
SLICES_ACCURACY = f"{RESULTS}/slices/accuracy.json"
BLOBS = ("constant.f32", "global.f32", "rich.f32", "manifest.json")
SET = [f"{RESULTS}/set/{file}" for file in (*BLOBS, "slices.f32", *(["ghosts.f32"] if SCORE else []))]
SIGNALS = RUN.samples("jpsi", "d0")
# Kinds of tracks that the validation measures besides long ones.
KINDS = [kind for kind in kinds.KINDS if kind != kinds.LONG.name]


def chunks(kind, *purposes):
    """Files of one kind of a chunk of all polarities; the wildcard is what follows the name of a sample."""
    return [f"{RESULTS}/{kind}/{sample}{{part}}.parquet" for sample in RUN.samples(*purposes)]


def products(kind, *samples):
    """Files of one kind of whole samples."""
    return [f"{RESULTS}/{kind}/{sample}.parquet" for sample in samples]
