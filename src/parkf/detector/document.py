"""Reading a YAML file into a strict model, with errors that name file, field, value and expectation."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from parkf.errors import ParkfError
from parkf.files import existing

# The compiled one where there is one: a geometry with all its sectors and mats is 2,300 lines.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Model = TypeVar("Model", bound=BaseModel)


def load_document(path: Path, model: type[Model]) -> Model:
    """Read a YAML file.

    Raises
    ------
    ParkfError
        When the file is missing, is not YAML, or says something that `model` does not allow.
    """
    try:
        content = yaml.load(existing(path).read_text(), Loader=_LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ParkfError(f"{path}: not a YAML file: {error}") from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        complaints = [
            f"{path}: {'.'.join(map(str, entry['loc'])) or 'the file'}: {entry['msg']}"
            for entry in error.errors()
        ]
        raise ParkfError("\n".join(complaints)) from error
