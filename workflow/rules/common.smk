"""Files and settings that rules of several stages use."""

from parkf.workflow.running.storage import place_of


def document(path):
    """Return a file as an input; whether jobs run again depends on a document's meaning, not on its time."""
    is_made = path.startswith("results/") or not path.endswith((".yaml", ".json"))
    return path if is_made else ancient(path)


def used_once(path):
    """Return an output that is removed after its use; a storage keeps it, since other runs take it from there."""
    return path if place_of(workflow) else temp(path)


DETECTOR_FILES = Detector.of(RUN["detector"], f"{RESULTS}/detector", Path.cwd())
GEOMETRY = document(DETECTOR_FILES.geometry)
DETECTOR = {"geometry": GEOMETRY, "alignment": document(DETECTOR_FILES.alignment)}
FIELD = f"{RESULTS}/field.npz"
# Files that describe the transport of particles.
PASSAGE = {**DETECTOR, "field": FIELD}
FIELD_SOURCE = [document(file) for file in named_files(RUN["field"]["source"], Path())]

CLOSURE = RUN["training"]["closure"]
NOISE = {"training": {"noise_scale": RUN["training"]["noise_scale"]}}
# Folder of the run whose closed table and ghost score are used; None if both are trained.
NEIGHBOUR = RUN["training"].get("neighbour")
TABLE = f"{RESULTS}/table/table.npz"
TABLE_ACCURACY = f"{RESULTS}/table/accuracy.json"
FITS = [f"{RESULTS}/fits/{step}.json" for step in STEPS]
# The table closed on the fit, its accuracy, and a summary of each stage.
CLOSED_FILES = {"output": "table.npz", "accuracy": "accuracy.json", "summary": "closure.json"}
CLOSED = {name: f"{RESULTS}/closure/{file}" for name, file in CLOSED_FILES.items()}
# The ghost score. Without candidates to train it on, a set has no score. A run with a neighbour uses the
# neighbour's score, and trains none.
SCORE = [f"{RESULTS}/score.json"] if RUN.simulates_datasets else []
TRAINS_SCORE = NEIGHBOUR is None
RICH = f"{RESULTS}/rich.json"
ELECTRON = f"{RESULTS}/electron.json"
SLICES = f"{RESULTS}/slices/slices.npz"
SLICES_ACCURACY = f"{RESULTS}/slices/accuracy.json"
BLOBS = ("constant.f32", "global.f32", "rich.f32", "manifest.json")
SET = [f"{RESULTS}/set/{file}" for file in (*BLOBS, "slices.f32", *(["ghosts.f32"] if SCORE else []))]
# Inputs of a set in addition to the table.
PARTS_OF_SET = [*FITS, *FIELD_SOURCE, *(CLOSED.values() if CLOSURE else ())]
SIGNALS = RUN.samples("jpsi", "d0")
# Kinds of tracks that the validation measures besides long ones.
KINDS = [kind for kind in kinds.KINDS if kind != kinds.LONG.name]
# Crowded hits and the search for segments cost several times as much.
CROWDED = "simulate_crowded" if RUN["pattern"]["crowded"] else None
SEARCHED = "candidates_found" if RUN["pattern"]["segments"] == "found" else "candidates"


def fitted_rows(wildcards):
    """Files of the rows that a job fits: for a part of a step, those of the chunks, which then need not be joined."""
    if hasattr(wildcards, "part") and wildcards.step in RUN.simulated_steps:
        return [f"{RESULTS}/rows/{chunk}/{wildcards.step}.parquet" for chunk in RUN.training_chunks]
    return [f"{RESULTS}/datasets/{wildcards.step}.parquet"]
