"""Assembly of a parameter set from fits, magnet table and geometry."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry, load_geometry
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.fingerprints.meaning import meaning_of
from parkf.model.steps import FORMS
from parkf.params.blobs import blob_of
from parkf.params.configuration import flat
from parkf.params.description import describe
from parkf.params.electron import ElectronFit
from parkf.params.ghost_score import load_score
from parkf.params.imported import ALWAYS, new_manifest
from parkf.params.manifest import Constants, FitSummary, Validity
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.params.slices import load_slices
from parkf.training.fit_noise import noise_factors, way_through_magnet
from parkf.training.magnet_table import load_table
from parkf.training.result import FitResult, load_results
from parkf.training.rich import RichFit
from parkf.training.rows import F64

# Name of the closed table among the manifest's inputs.
CLOSED_TABLE = "closed table"


def assemble(
    fits: Path,
    table: Path,
    geometry: Path,
    alignment: Path,
    field: Path,
    *,
    seed: int,
    configuration: Mapping[str, Any] | None = None,
    inputs: Mapping[str, str] | None = None,
    validity: Validity | None = None,
    closed: Path | None = None,
    seeds: Mapping[str, int] | None = None,
    score: Path | None = None,
    rich: Path | None = None,
    slices: Path | None = None,
    electron: Path | None = None,
    source: str = "trained",
) -> ParameterSet:
    """Make a parameter set from its parts.

    Folder `fits` has ``<step>.json`` of every step. The steps were fitted with the magnet table `table`, and
    in the map `field`. `configuration` goes into the manifest; it has the keys of the run's configuration
    that decide the training. Its ``training.noise_scale`` has the factor of the noise of each kind of step, 1
    by default. `inputs` are further fingerprints for the manifest, and `seeds` are seeds besides the run's.
    The set is for all data by default. Its magnet table is `closed`, by default `table`. The ghost score
    `score` was trained with the same set without a score. `rich` is the fit of the RICH constants,
    `slices` has the steps inside the magnet, and `electron` is the fit of what electrons radiate. `source`
    says in the manifest where the numbers are from.
    """
    detector = load_geometry(geometry, alignment)
    results = load_results(fits)
    magnet = load_table(table)
    forms = FORMS[results["UTTF"].forms]
    layout = forms.layout
    flattened = None if configuration is None else flat(configuration)
    constant = np.full(layout.constant_count, np.nan)

    def put(name: str, values: F64, factor: F64 | float = 1.0) -> None:
        if values.shape != layout.block(name).shape:
            raise ParkfError(f"block {name}: {values.shape} numbers, expected {layout.block(name).shape}")
        constant[layout.block_slice(name)] = (values * factor).ravel()

    put("UTT_META", magnet.header[None].astype(np.float64))
    put("TLayer", scifi_layers(detector))
    put("UTLayer", detector.planes()[list(UT_PLANES), :1].T)
    way = way_through_magnet(layout, constant.astype(np.float32))
    grown = noise_factors(forms, {n: r.numbers for n, r in results.items()}, flattened, way)
    for name, result in results.items():
        put(name, result.numbers, grown[name])
    values = constant.astype(np.float32)
    if closed is not None:
        fitted, magnet = magnet, load_table(closed)
        if magnet.closed_with != blob_of(values).sha256 or not np.array_equal(magnet.header, fitted.header):
            raise ParkfError(
                f"{closed}: closed with other fits, noise or table than these; close the table again"
            )
    manifest = new_manifest(
        layout,
        source=source,
        detector=detector.description.tag,
        validity=validity or ALWAYS,
        constants=Constants(
            velo_sigma=detector.velo.resolution,
            beam_x=detector.beam.x,
            beam_y=detector.beam.y,
            velo_loss=magnet.velo_loss,
        ),
        layout=describe(layout, values, _grown_errors(results, grown)),
        inputs={
            "geometry": meaning_of(geometry),
            "alignment": meaning_of(alignment),
            "field": sha256(field),
            "table": sha256(table),
            **({} if closed is None else {CLOSED_TABLE: sha256(closed)}),
            **{f"dataset {name}": result.dataset for name, result in results.items()},
            **(inputs or {}),
        },
        seeds={"run": seed, **(seeds or {})},
        configuration=flattened,
        electron=None if electron is None else ElectronFit.load(electron).described(),
        fits=[
            FitSummary(
                step=name,
                set=one.label,
                rows=one.rows,
                note=one.note,
                valid=True,
                edm=max((m.edm for m in one.minima), default=0.0),
                ratio_rms=max((b.ratio_rms for b in one.accuracy if b.ratio_rms is not None), default=None),
            )
            for name, result in results.items()
            for one in result.sets
        ],
    )
    return with_blobs(
        manifest,
        values,
        magnet.coefficients,
        None if score is None else load_score(score),
        None if rich is None else RichFit.load(rich).constants(),
        None if slices is None else load_slices(slices),
    )


def _grown_errors(
    results: Mapping[str, FitResult], grown: Mapping[str, F64]
) -> dict[tuple[str, str, int], float | None]:
    """Return the errors of a set's numbers, by step, set and index, from fits and noise factors."""
    return {
        (name, one.label, j): None if error is None else error * abs(float(grown[name][i, j]))
        for name, result in results.items()
        for i, one in enumerate(result.sets)
        for j, error in enumerate(one.errors)
    }


def scifi_layers(geometry: Geometry) -> F64:
    """Return block TLayer, (4, 12): z at y = 0 (mm), dy/dz, dx/dy by layer; error² by cluster size (mm²)."""
    planes = geometry.planes()[list(SCIFI_PLANES)]
    if (planes[:, 2] == 0).any():
        place = f"geometry: SciFi layer {int(np.argmax(planes[:, 2] == 0))}"
        raise ParkfError(f"{place} has dz/dy = 0; the parameter set holds dy/dz of each layer")
    slopes = [layer.dxdy for layer in geometry.scifi.layers]
    errors = np.array(geometry.scifi.hit_errors)
    return np.stack([planes[:, 0], 1 / planes[:, 2], slopes, errors**2])
