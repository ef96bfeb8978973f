"""The page of the detector that a set is for: the aligned detector, and what the alignment moves."""

from pathlib import Path
from typing import Any

from parkf.detector.alignment import load_alignment
from parkf.detector.geometry import load_geometry
from parkf.io.documents.document import read_document
from parkf.proof.comparing.documents import INPUTS, KEPT
from parkf.proof.comparing.inputs import displacements
from parkf.report.geometry import draw_parts


def detector_page(run: Path, figures: Path) -> dict[str, Any]:
    """Draw a run's detector into the folder `figures`, and return the content of ``detector.html``.

    Geometry and alignment are the copies in the folder of the run; a ParkfError where either is broken.
    """
    geometry, alignment = (run / INPUTS / f"{kind}.yaml" for kind in KEPT)
    if not (geometry.is_file() and alignment.is_file()):
        return {"drawn": []}
    moved = load_alignment(alignment)
    aligned = load_geometry(geometry).align(moved)
    figures.mkdir(parents=True, exist_ok=True)
    parts = draw_parts(aligned, figures / "detector")
    return {
        "drawn": [f"{figures.name}/detector-{part}.svg" for part in parts],
        "geometry": aligned.tag,
        "alignment": moved.tag,
        "moved": displacements({}, read_document(alignment).content),
    }
