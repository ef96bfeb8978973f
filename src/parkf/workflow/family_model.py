"""The configuration of a family of runs as a model."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from parkf.io.documents.models import Strict, refuse
from parkf.workflow.config_model import LEFT_OUT

Conditions = Annotated[
    dict[
        Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")],
        Annotated[
            dict[str, Any],
            Field(description="keys of a run's configuration, over those of the base"),
        ],
    ],
    Field(min_length=1),
]


class FamilyConfig(Strict):
    """Configuration of a family of runs: either conditions or rounds.

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
    conditions: Conditions = Field(LEFT_OUT, description="a member for each")
    rounds: int = Field(
        LEFT_OUT,
        ge=1,
        le=20,
        description="most rounds of a calibration: each is a member that is trained with what the one before"
        " found",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if ("conditions" in self.model_fields_set) == ("rounds" in self.model_fields_set):
            raise ValueError("expected either conditions or rounds, one of them")
        refuse(
            (("conditions", name, "run"), "a member is named after its entry; leave it out")
            for name, part in (self.conditions or {}).items()
            if "run" in part
        )
        return self
