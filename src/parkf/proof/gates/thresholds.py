"""The file of thresholds, ``workflow/config/gates.yaml``: every gate with its figure, bound and reason."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from parkf.io.documents.models import Strict, load_document
from parkf.io.option_types import Client, FormsName
from parkf.proof.gates.path import find

GATES_FILE = Path("workflow/config/gates.yaml")
# Files of a run that figures may name.
FILES = ("validation", "accuracy", "lhcb")
# Only runs that fit LHCb's own hits have this file and its gates.
OPTIONAL = "lhcb"

Figure = Annotated[str, Field(pattern=rf"^({'|'.join(FILES)})\.json: [^ ].*$")]


class Threshold(Strict):
    """One gate."""

    gate: str = Field(min_length=1, description="What is held against a bound, for people.")
    figure: Figure = Field(
        description="File of the run, and path in it; of several matches each is held against the bound."
    )
    count: int = Field(default=1, ge=1, description="How many figures there must be.")
    at_least: float | None = Field(default=None, description="Lower bound, included.")
    at_most: float | None = Field(default=None, description="Upper bound, included.")
    at_most_each: list[Annotated[float, Field(gt=0)]] | None = Field(
        default=None,
        min_length=1,
        description="Upper bounds, included, as many as there are figures, in the file's order of them.",
    )
    unit: str = Field(
        default="", description="Of figure and bounds; '%': both are fractions, shown as percentages."
    )
    forms: FormsName | None = Field(default=None, description="Only for this set of forms.")
    client: Client | None = Field(default=None, description="Only for sets that are trained for this fitter.")
    reason: str = Field(min_length=1, description="Why this figure, and why this bound.")

    @model_validator(mode="after")
    def _sensible(self) -> "Threshold":
        if self.at_least is None and self.at_most is None and self.at_most_each is None:
            raise ValueError("at_least or at_most is missing")
        if self.at_most_each is not None:
            if self.at_most is not None or self.at_least is not None:
                raise ValueError("at_most_each stands alone, without at_most and at_least")
            if self.count not in (1, len(self.at_most_each)):
                raise ValueError(f"count {self.count} of {len(self.at_most_each)} bounds")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least:g} is above at_most {self.at_most:g}")
        list(find({}, split_figure(self.figure)[1]))
        return self


class Thresholds(Strict):
    """All gates of a run; a set is published only when it meets every one."""

    gates: list[Threshold] = Field(min_length=1)

    @model_validator(mode="after")
    def _named_once(self) -> "Thresholds":
        for number, one in enumerate(self.gates):
            # Gates of one name are for different forms or different clients.
            others = [other for other in self.gates[:number] if other.gate == one.gate]
            if any(_both(one.forms, other.forms) and _both(one.client, other.client) for other in others):
                raise ValueError(f"gate '{one.gate}' is there twice")
        return self


def _both(one: str | None, other: str | None) -> bool:
    """Whether two conditions can hold at once; None holds always."""
    return one is None or other is None or one == other


def split_figure(figure: str) -> tuple[str, str]:
    """Return the file's name without ending, and the path in it."""
    file, _, path = figure.partition(".json: ")
    return file, path


def load_thresholds(path: Path) -> Thresholds:
    """Read the file of thresholds; a ParkfError has one line for each mistake."""
    return load_document(path, Thresholds)
