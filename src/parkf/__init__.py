"""Trains, proves and publishes the parameters of LHCb's Parameterised Kalman Filter.

    import parkf

    tracks = parkf.load("2026-run3-like-2-r018").fit(parkf.example())
    print(tracks.to_pandas())

A name is loaded when it is first used, so that ``import parkf`` itself takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parkf.api.comparison import compare
    from parkf.api.hits import example
    from parkf.api.parameters import Parameters, load, published
    from parkf.api.runs import Run, run
    from parkf.api.steps import StepFunction
    from parkf.api.tracks import Tracks
    from parkf.io.errors import ParkfError

__version__ = "0.2.0"

_HOME = {
    "Parameters": "parkf.api.parameters",
    "ParkfError": "parkf.io.errors",
    "Run": "parkf.api.runs",
    "StepFunction": "parkf.api.steps",
    "Tracks": "parkf.api.tracks",
    "compare": "parkf.api.comparison",
    "example": "parkf.api.hits",
    "load": "parkf.api.parameters",
    "published": "parkf.api.parameters",
    "run": "parkf.api.runs",
}

__all__ = [
    "Parameters",
    "ParkfError",
    "Run",
    "StepFunction",
    "Tracks",
    "__version__",
    "compare",
    "example",
    "load",
    "published",
    "run",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(
            f"module 'parkf' has no attribute {name!r}; public names are {', '.join(__all__)}"
        )
    from parkf.io.extras import extras_named

    with extras_named():
        value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
