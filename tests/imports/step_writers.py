"""Write step datasets in the formats of others, with code that shares nothing with the readers."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uproot
from yaml import safe_dump

# Names of this project's columns in the tuning trees.
TUNING = {
    "true_x_prev": "x0",
    "true_y_prev": "y0",
    "true_tx_prev": "tx0",
    "true_ty_prev": "ty0",
    "z_prev": "z0",
    "true_x": "x1",
    "true_y": "y1",
    "true_tx": "tx1",
    "true_ty": "ty1",
    "z": "z1",
    "x_extr": "xe",
    "y_extr": "ye",
    "tx_extr": "txe",
    "ty_extr": "tye",
    "true_qop": "qop",
}
TREE_OF_SET = {
    "V": [0, 1],
    "VUT": [0],
    "UT": [1, 2, 3, 7, 6, 5],
    "UTTF": [0],
    "TFT": [0],
    "T": list(range(2, 24)),
}


def write_tuning(folder, samples, polarity, prefix="predictState", change=lambda tree: tree):
    """Write one file for each event of a polarity; a third of each tree's rows must be ignored."""
    events = np.unique(np.concatenate([rows["event"] for rows in samples.values()]))
    for event in events:
        with uproot.recreate(folder / f"ParameterizedKalmanTuning_4711_{event}.root") as file:
            for step, rows in samples.items():
                for number, tree in enumerate(TREE_OF_SET[step]):
                    own = (rows["event"] == event) & (rows["set"] == number) & (rows["polarity"] == polarity)
                    count = int(own.sum())
                    if not count:
                        continue
                    branches = {name: rows[column][own].astype(float) for name, column in TUNING.items()}
                    branches["true_qop_prev"] = (rows["charge"] / rows["p_true"])[own]
                    branches["true_qop_here"] = branches["qop_extr"] = branches["true_qop_prev"]
                    branches |= {
                        "nHitsV": np.full(count, 12, np.int32),
                        "nHitsUT": np.full(count, 4, np.int32),
                        "nHitsT": np.full(count, 12, np.int32),
                        "MCstatus": np.ones(count, np.int32),
                    }
                    useless = {name: np.concatenate([values] * 2) for name, values in branches.items()}
                    useless["MCstatus"][count : count + count // 2] = 0
                    useless["nHitsUT"][count + count // 2 :] = 3
                    useless["true_x"][count:] = 777.0
                    _tree(file, f"{prefix}{step}_{tree}", change(useless))
            _tree(file, "UTT_0", {"nothing": np.zeros(3)})
    return str(folder / "ParameterizedKalmanTuning_*.root")


def _tree(file, name, branches):
    file.mktree(name, {branch: values.dtype for branch, values in branches.items()}).extend(branches)


# Columns of another convention. For each of our columns: its name and unit there, and the number there that
# equals 1 of our unit.
FOREIGN = {
    "event": ("evt", None, 1),
    "particle": ("key", None, 1),
    "pdg_id": ("pid", None, 1),
    "polarity": ("magnet", None, -1),
    "set": ("gap", None, 1),
    "qop": ("qop_prod", "1/GeV", -1000),
    "qop_here": ("qop_from", "1/GeV", -1000),
    **{
        own: (name, "cm", 0.1)
        for own, name in (
            *(("z0", "zFrom"), ("z1", "zTo"), ("x0", "xFrom"), ("y0", "yFrom")),
            *(("x1", "xTo"), ("y1", "yTo"), ("xe", "xRK"), ("ye", "yRK")),
        )
    },
    **{
        f"t{axis}{end}": (f"slope{axis}{name}", "mrad", 1000)
        for axis in "xy"
        for end, name in (("0", "From"), ("1", "To"), ("e", "RK"))
    },
}


def foreign(rows):
    """The columns in the other convention."""
    ours = {name: rows[name].astype(float) for name in rows} | {"qop_here": rows["charge"] / rows["p_true"]}
    return {name: ours[own] * number for own, (name, _, number) in FOREIGN.items()}


def column_map(folder, files, steps, truth_alone=False, tree=None, change=lambda source: source, yaml=False):
    """Write the column map of that convention, as YAML; it is also JSON, unless keys are numbers."""
    columns = {}
    for own, (name, unit, number) in FOREIGN.items():
        if not (truth_alone and own.endswith("e") and own[:-1] in ("x", "y", "tx", "ty")):
            said = {"column": name, "sign": 1 if number > 0 else -1}
            columns[own] = said if unit is None else said | {"unit": unit}
    sources = {step: {"files": files.format(step=step), "columns": columns} for step in steps}
    for source in sources.values():
        if tree is not None:
            source["tree"] = tree
        change(source)
    path = folder / "columns.yaml"
    path.write_text((safe_dump if yaml else json.dumps)({"steps": sources}))
    return str(path)


def write_csv(path, columns):
    names = list(columns)
    lines = [",".join(names)]
    lines += [
        ",".join(repr(float(columns[name][row])) for name in names) for row in range(len(columns[names[0]]))
    ]
    path.write_text("\n".join(lines) + "\n")


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path, row_group_size=500)


def write_root(path, columns, kind=np.float64):
    with uproot.recreate(path) as file:
        _tree(file, "Steps", {name: values.astype(kind) for name, values in columns.items()})
