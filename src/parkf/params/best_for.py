"""Which published set of a registry is for which data, by detector and forms."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName
from parkf.params.manifest import read_manifest
from parkf.params.parameter_set import MANIFEST_FILE
from parkf.params.registry import Registry
from parkf.params.validity import Interval, Moment, Series

Kind = tuple[str, FormsName]


@dataclass(frozen=True)
class BestSet:
    """The set of one detector and forms to use for some data; None and empty where there is none.

    Attributes
    ----------
    set : str or None
        Its version.
    validity : str or None
        All data that it is for.
    superseded : list of str
        Other sets for the same data, which it superseded.
    path : str or None
        Its folder.
    """

    detector: str
    forms: FormsName
    set: str | None
    validity: str | None
    superseded: list[str]
    path: str | None


def series_of(
    registry: Registry, *, detector: str | None = None, forms: FormsName | None = None
) -> dict[Kind, Series]:
    """Sort the sets of a registry into series, by detector and forms.

    Parameters
    ----------
    detector, forms : str, optional
        Only of this tag of a geometry, of these forms.

    Raises
    ------
    ParkfError
        When a manifest cannot be read or has no valid interval, or a series has limits of two kinds.
    """
    intervals: dict[Kind, dict[str, Interval]] = {}
    supersedes: dict[str, str | None] = {}
    for version in registry.versions():
        path = registry.path(version) / MANIFEST_FILE
        manifest = read_manifest(path)
        supersedes[version] = manifest.supersedes
        chosen = detector in (None, manifest.detector) and forms in (None, manifest.forms)
        if chosen and registry.withdrawal(version) is None:
            of_kind = intervals.setdefault((manifest.detector, manifest.forms), {})
            with _naming(str(path)):
                of_kind[version] = Interval.of(manifest.validity)
    series = {}
    for (tag, form), several in intervals.items():
        with _naming(f"{registry.folder}: {tag}, {form}"):
            series[tag, form] = Series(several, supersedes)
    return series


def best_sets(
    registry: Registry, moment: Moment, *, detector: str | None = None, forms: FormsName | None = None
) -> list[BestSet]:
    """Find the set to use for a run or a time, one of each detector and forms.

    Raises
    ------
    ParkfError
        As :func:`series_of`; when several sets are for the data and none of them superseded the others; when
        the series is limited in the other unit; when the set is broken.
    """
    found = []
    for (tag, form), series in series_of(registry, detector=detector, forms=forms).items():
        where = f"{registry.folder}: {tag}, {form}"
        with _naming(where):
            sets = series.at(moment)
        if not sets.holding:
            found.append(BestSet(tag, form, None, None, [], None))
            continue
        version, *others = sets.holding
        if others:
            raise ParkfError(
                f"{where}: {' and '.join(sets.holding)} are both for {moment.unit} {moment}, and "
                "neither superseded the other; withdraw one"
            )
        # A broken set is refused here.
        registry.load(version)
        superseded = [one for one in sets.versions if one != version]
        path = str(registry.path(version))
        found.append(BestSet(tag, form, version, str(series.interval(version)), superseded, path))
    return found


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Put the place in front of an error's message."""
    try:
        yield
    except ParkfError as error:
        raise ParkfError(f"{where}: {error}") from error
