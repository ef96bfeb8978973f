"""Which published sets hold: those of a registry, by detector and forms, without the withdrawn ones."""

from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName
from parkf.params.manifest import Validity, read_manifest
from parkf.params.parameter_set import MANIFEST_FILE
from parkf.params.registry import Registry
from parkf.params.validity import Interval, Series

Kind = tuple[str, FormsName]


def series_of(
    registry: Registry, *, detector: str | None = None, forms: FormsName | None = None
) -> dict[Kind, Series]:
    """Sort the sets of a registry into series, by detector and forms.

    Parameters
    ----------
    registry : Registry
        With the published sets.
    detector, forms : str, optional
        Only of this tag of a geometry, of these forms.

    Raises
    ------
    ParkfError
        When a manifest cannot be read or says no valid interval, or a series has limits of two kinds.
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
            of_kind[version] = _interval(str(path), manifest.validity)
    series = {}
    for kind, several in intervals.items():
        try:
            series[kind] = Series(several, supersedes)
        except ParkfError as error:
            raise ParkfError(f"{registry.folder}: {kind[0]}, {kind[1]}: {error}") from error
    return series


def _interval(where: str, validity: Validity) -> Interval:
    try:
        return Interval.of(validity)
    except ParkfError as error:
        raise ParkfError(f"{where}: {error}") from error
