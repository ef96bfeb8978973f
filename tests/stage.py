"""A stage of a run, called in this process by its name and keywords."""

from importlib import import_module
from typing import Any

import pytest

from parkf.io.errors import ParkfError


def stage(name: str, **arguments: Any) -> None:
    getattr(import_module(f"parkf.stages.{name}"), name)(**arguments)


def refused(name: str, **arguments: Any) -> str:
    """Return the message with which a stage refuses what it is given."""
    with pytest.raises(ParkfError) as raised:
        stage(name, **arguments)
    return str(raised.value)
