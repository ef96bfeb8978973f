"""The configuration of a family of runs as a model."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from parkf.io.documents.models import Strict, refuse
from parkf.io.documents.position import Place
from parkf.workflow.config_model import LEFT_OUT

Axis = Annotated[
    dict[
        Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")],
        Annotated[
            dict[str, Any],
            Field(description="keys of a run's configuration, over those of the base"),
        ],
    ],
    Field(min_length=1),
]
_KINDS = ("matrix", "conditions", "rounds")


class FamilyConfig(Strict):
    """Configuration of a family of runs: one of matrix, conditions and rounds.

    What an entry says of a run is part of a run's configuration, and checked as such once it lies over the
    base.
    """

    family: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$",
        description="name of the folder under results/, and the first part of the members'",
    )
    base: str = Field(
        pattern=r"\.yaml$", description="configuration of a run: what all members have in common"
    )
    matrix: list[Axis] = Field(LEFT_OUT, min_length=1, description="axes: a member for every combination")
    conditions: Axis = Field(LEFT_OUT, description="a member for each")
    rounds: int = Field(
        LEFT_OUT,
        ge=1,
        le=20,
        description="most rounds of a calibration: each is a member that is trained with what the one before"
        " found",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if len(self.model_fields_set.intersection(_KINDS)) != 1:
            raise ValueError(f"expected either {' or '.join(_KINDS)}, one of them")
        axes: list[tuple[Place, Axis]] = [(("conditions",), self.conditions or {})]
        axes += [(("matrix", number), axis) for number, axis in enumerate(self.matrix or ())]
        refuse(
            ((*place, label, "run"), "a member is named after its entry; leave it out")
            for place, axis in axes
            for label, part in axis.items()
            if "run" in part
        )
        return self
