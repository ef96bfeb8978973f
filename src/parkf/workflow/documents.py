"""Documents that people write or read, by the name under which ``parkf schema`` prints their JSON schema."""

from pydantic import BaseModel

from parkf.detector.alignment import Alignment
from parkf.detector.description import Description
from parkf.detector.dipole import DipoleSources
from parkf.imports.steps.column_map import ColumnMap
from parkf.params.manifest import Manifest
from parkf.proof.gates.thresholds import Thresholds
from parkf.workflow.config_model import RunConfig
from parkf.workflow.family_model import FamilyConfig

DOCUMENTS: dict[str, type[BaseModel]] = {
    "configuration": RunConfig,
    "family": FamilyConfig,
    "gates": Thresholds,
    "geometry": Description,
    "alignment": Alignment,
    "dipole": DipoleSources,
    "column-map": ColumnMap,
    "manifest": Manifest,
}
