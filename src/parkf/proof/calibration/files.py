"""Files of a calibration: a folder with calibration.json, alignment, geometry and field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import load_alignment
from parkf.detector.description import Description
from parkf.detector.field import FieldMap
from parkf.detector.writing import write_alignment, write_geometry
from parkf.io.documents.models import load_document
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.proof.calibration import FILES
from parkf.proof.calibration.calibrate import State, strip_factors

FORMAT = 2
_NAMED = 3.0  # errors of a displacement that is counted


def read_state(geometry: Path, alignment: Path, field: Path, before: Path | None) -> State:
    """Read what a set was trained with, and the factors of the round `before`, if there was one."""
    return State(
        load_document(geometry, Description),
        load_alignment(alignment),
        FieldMap.load(field),
        {} if before is None else read_figures(before)["total"],
    )


def read_figures(path: Path) -> Any:
    """Read a calibration.json; a ParkfError reports another file."""
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT or "total" not in content:
        raise ParkfError(f"{path}: expected the calibration.json of `parkf calibrate`, format {FORMAT}")
    return content


def strip_errors(calibration: Path | None) -> NDArray[np.float64] | None:
    """Return the factors of a calibration.json on the errors of UT and SciFi hits, (16,)."""
    return None if calibration is None else strip_factors(read_figures(calibration)["total"])


def write_state(folder: Path, state: State, found: Mapping[str, Any]) -> None:
    """Write the four files into a folder, calibration.json last."""
    folder.mkdir(parents=True, exist_ok=True)
    figures, alignment, geometry, field = (folder / name for name in FILES)
    head = f"From {found['tracks']} tracks, by parkf calibrate."
    write_alignment(alignment, state.alignment.model_dump(exclude_defaults=True), head)
    write_geometry(geometry, state.description, head)
    state.magnet.save(field)
    write_sealed(figures, {"format": FORMAT, **_plain(found)})


def _plain(value: Any) -> Any:
    """Numbers for JSON, with seven digits, which are more than data determine."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.floating | float):
        return float(f"{value:.7g}")
    return value


def sentences(found: Mapping[str, Any]) -> list[str]:
    """Say in words what a round has found, and what its data cannot tell."""
    said = [f"{found['tracks']} tracks, beside {found['reference_tracks']} of the set's own simulation"]
    shifts = np.asarray(found["alignment"]["change"]), np.asarray(found["alignment"]["error"])
    moved = int((np.abs(shifts[0]) > _NAMED * shifts[1]).sum())
    said.append(
        f"alignment: {moved} of {len(shifts[0])} displacements changed by more than {_NAMED:g} errors"
    )
    for kind, key in (("masses", "value"), ("field", "change"), ("factors", "change"), ("layers", "change")):
        if found.get(kind) is not None:
            columns = (found[kind][one] for one in ("names", key, "error"))
            said += [
                f"{kind}: {name} {value:+.5f} ± {error:.5f}"
                for name, value, error in zip(*columns, strict=True)
            ]
    for mode in found["weak"]:
        if not mode["told"]:
            known = "" if mode["error"] is None else f" (known to {mode['error']:.2g})"
            said.append(f"not told by these data: {mode['name']}{known}; told by: {mode['sample']}")
    changes = ", ".join(f"{kind} {value:.1f}" for kind, value in found["change_in_errors"].items())
    end = (
        "this was the last round"
        if found["converged"]
        else "train a set with these files, and calibrate again"
    )
    return [*said, f"changes in errors, rms: {changes}; {end}"]
