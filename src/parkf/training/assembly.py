"""From fits, magnet table and geometry to a parameter set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf import __version__
from parkf.detector.alignment import load_alignment
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry, load_geometry
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.model.layout import HEADER, Layout
from parkf.model.steps import FORMS
from parkf.params.configuration import flat
from parkf.params.description import describe
from parkf.params.ghost_score import load_score
from parkf.params.imported import ALWAYS, EMPTY
from parkf.params.manifest import (
    FORMAT_VERSION,
    MINIMUM_READER,
    Blobs,
    Constants,
    FitSummary,
    Manifest,
    Validity,
)
from parkf.params.parameter_set import ParameterSet, load, sha256_of, with_blobs
from parkf.training.fit_noise import noise_factors
from parkf.training.magnet_table import MagnetTable, load_table
from parkf.training.result import FitResult, load_results

F64 = NDArray[np.float64]

# Name of the closed table among the manifest's inputs.
CLOSED_TABLE = "closed table"


def assemble(
    fits: Path,
    table: Path,
    *,
    geometry: Path,
    alignment: Path,
    field: Path,
    seed: int,
    configuration: Mapping[str, Any] | None = None,
    inputs: Mapping[str, str] | None = None,
    validity: Validity | None = None,
    closed: Path | None = None,
    seeds: Mapping[str, int] | None = None,
    score: Path | None = None,
) -> ParameterSet:
    """Put a parameter set together.

    Parameters
    ----------
    fits : Path
        Folder with ``<step>.json`` of every step.
    table : Path
        The magnet table that the steps were fitted with.
    geometry, alignment : Path
        Where the layers are, how well the VELO measures, and where the beam is.
    field : Path
        Map that all was trained with, for its fingerprint.
    seed : int
        Of the run.
    configuration : mapping of str to Any, optional
        What of the run's configuration decides the training, for the manifest. Its ``training.noise_scale``
        says by how much the noise of each kind of step is wider in a fit; 1 where it says nothing.
    inputs : mapping of str to str, optional
        Further fingerprints for the manifest.
    validity : Validity, optional
        Data that the set is for; all data by default.
    closed : Path, optional
        The table closed with these fits, to be the set's; `table` itself by default.
    seeds : mapping of str to int, optional
        Further seeds for the manifest.
    score : Path, optional
        The ghost score that was trained with the same set without one.

    Raises
    ------
    ParkfError
        When a file is missing, a fit is stale, or fits and table do not belong together.
    """
    detector = load_geometry(geometry).align(load_alignment(alignment))
    # Make sure that the map is sound before its fingerprint is taken.
    FieldMap.load(field)
    results = load_results(fits)
    magnet = load_table(table)
    if results["UTTF"].table != sha256(table):
        raise ParkfError(f"{fits / 'UTTF.json'}: fitted with another magnet table than {table}; fit it again")
    forms = FORMS[results["UTTF"].forms]
    layout = forms.layout
    said = None if configuration is None else flat(configuration)
    constant = np.full(layout.constant_count, np.nan)
    _put(layout, constant, "UTT_META", magnet.header[None].astype(np.float64))
    _put(layout, constant, "TLayer", scifi_layers(detector))
    _put(layout, constant, "UTLayer", detector.planes()[list(UT_PLANES), :1].T)
    fitted = numbers_of(results)
    grown = noise_factors(forms, fitted, said, _way_through_magnet(layout, constant.astype(np.float32)))
    for name, numbers in fitted.items():
        _put(layout, constant, name, numbers, grown[name])
    errors = {
        (name, i, j): None if error is None else error * abs(grown[name][i, j])
        for name, result in results.items()
        for i, one in enumerate(result.sets)
        for j, error in enumerate(one.errors)
    }
    values = constant.astype(np.float32)
    if closed is not None:
        magnet = _closed(closed, values, magnet)
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        minimum_reader=MINIMUM_READER,
        version=None,
        state="open",
        source="trained",
        detector=detector.tag,
        validity=validity or ALWAYS,
        forms=forms.name,
        layout_version=forms.layout_version,
        code_version=__version__,
        formulas=layout.formulas,
        blobs=EMPTY,
        constants=Constants(
            velo_sigma=detector.velo.resolution, beam_x=detector.beam.x, beam_y=detector.beam.y
        ),
        layout=describe(layout, values, errors),
        inputs={
            "geometry": sha256(geometry),
            "alignment": sha256(alignment),
            "field": sha256(field),
            "table": sha256(table),
            **({} if closed is None else {CLOSED_TABLE: sha256(closed)}),
            **{f"dataset {name}": result.dataset for name, result in results.items()},
            **{f"start {name}": result.start for name, result in results.items() if result.start},
            **(inputs or {}),
        },
        seeds={"run": seed, **(seeds or {})},
        configuration=said,
        steps=layout.steps,
        fits=[summary for result in results.values() for summary in _summaries(result)],
        gates=[],
        environment={},
        supersedes=None,
        created=None,
    )
    return with_blobs(manifest, values, magnet.coefficients, None if score is None else load_score(score))


def _closed(path: Path, constant: NDArray[np.float32], table: MagnetTable) -> MagnetTable:
    magnet = load_table(path)
    if magnet.closed_with != sha256_of(constant) or not np.array_equal(magnet.header, table.header):
        raise ParkfError(f"{path}: closed with other fits, noise or table than these; close the table again")
    return magnet


def check_made_of(parameters: Path, fits: Path, table: Path) -> Blobs:
    """Make sure that a set holds these fits and this table, and give the fingerprints of its blobs.

    Raises
    ------
    ParkfError
        When a file is missing or broken, or the set is of other numbers.
    """
    loaded, magnet = load(parameters), load_table(table)
    results = load_results(fits)
    fitted, grown = numbers_of(results), {}
    if all(result.forms == loaded.manifest.forms for result in results.values()):
        grown = grown_noise(loaded, fitted)
    for name, values in fitted.items():
        held = (values * grown[name]).astype(np.float32) if grown else None
        if held is None or not np.array_equal(loaded.block(name), held):
            raise ParkfError(
                f"{parameters}: block {name} is not that of {fits / f'{name}.json'}; assemble the set again"
            )
    if not np.array_equal(loaded.table, magnet.coefficients.astype(np.float32)):
        raise ParkfError(f"{parameters}: its magnet table is not that of {table}; assemble the set again")
    return loaded.manifest.blobs


def grown_noise(parameters: ParameterSet, fitted: dict[str, F64]) -> dict[str, F64]:
    """Give the factors by which a set's numbers differ from the fitted ones, (sets, m) of each step."""
    manifest = parameters.manifest
    way = way_through_magnet(parameters)
    return noise_factors(FORMS[manifest.forms], fitted, manifest.configuration, way)


def way_through_magnet(parameters: ParameterSet) -> float:
    """From the last UT layer to z_out, mm."""
    return _way_through_magnet(parameters.layout, parameters.constant)


def _way_through_magnet(layout: Layout, constant: NDArray[Any]) -> float:
    layers, header = (constant[layout.block_slice(name)] for name in ("UTLayer", "UTT_META"))
    return float(header[HEADER.index("z_out")]) - float(layers[-1])


def numbers_of(results: Mapping[str, FitResult]) -> dict[str, F64]:
    """Numbers of the steps as they were fitted, (sets, m) each."""
    return {name: np.array([one.values for one in result.sets]) for name, result in results.items()}


def scifi_layers(geometry: Geometry) -> F64:
    """Block TLayer, (4, 12): z at y = 0 (mm), dy/dz, dx/dy by layer; squared error by cluster size (mm²).

    Raises
    ------
    ParkfError
        When a layer does not lean: dy/dz, which the trigger's format wants, is infinite.
    """
    planes = geometry.planes()[list(SCIFI_PLANES)]
    if (planes[:, 2] == 0).any():
        layer = int(np.argmax(planes[:, 2] == 0))
        raise ParkfError(
            f"geometry: SciFi layer {layer} has dz/dy = 0; the parameter set holds dy/dz of each layer"
        )
    slopes = [layer.dxdy for layer in geometry.scifi.layers]
    errors = np.array(geometry.scifi.hit_errors)
    return np.stack([planes[:, 0], 1 / planes[:, 2], slopes, errors**2])


def _put(layout: Layout, constant: F64, name: str, values: F64, factor: F64 | float = 1.0) -> None:
    if values.shape != layout.block(name).shape:
        raise ParkfError(f"block {name}: {values.shape} numbers, expected {layout.block(name).shape}")
    constant[layout.block_slice(name)] = (values * factor).ravel()


def _summaries(result: FitResult) -> list[FitSummary]:
    return [
        FitSummary(
            step=result.step,
            set=one.label,
            rows=one.rows,
            valid=True,
            edm=max((m.edm for m in one.minima), default=0.0),
            ratio_rms=max((b.ratio_rms for b in one.accuracy if b.ratio_rms is not None), default=None),
        )
        for one in result.sets
    ]
