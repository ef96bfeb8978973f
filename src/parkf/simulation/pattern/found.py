"""Segments found from hits alone, as the trigger finds them; src/kernel/pattern holds the searches."""

from dataclasses import replace

import numpy as np

import parkf._pattern as _pattern
from parkf.detector.geometry import SCIFI_PLANES, VELO_PLANES, Geometry
from parkf.io.tables import VELO_SLOTS
from parkf.simulation.pattern.curves import enough
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.scifi import SciFiSegments, follow_curves
from parkf.simulation.pattern.velo import HIT_ERROR, VeloSegments, fit_lines
from parkf.simulation.pattern.windows import Windows

_COLUMNS = ("x", "y", "z", "dxdy")


def search_velo(hits: dict[str, np.ndarray], geometry: Geometry, windows: Windows) -> VeloSegments:
    """Find VELO segments that point forward, sorted by event; their `particle` is -1.

    Hits are columns (m,) of `parkf.io.tables.HITS`, sorted by event and plane, each hit once.
    """
    rows = _pattern.velo_segments(
        *_columns(hits),
        modules=len(VELO_PLANES),
        fewest=windows.velo_hits,
        slots=VELO_SLOTS,
        beam_x=geometry.beam.x,
        beam_y=geometry.beam.y,
        azimuth=windows.velo_azimuth,
        displaced=windows.velo_displaced,
        steepest=windows.velo_slope,
        kink=windows.velo_kink,
        offset=windows.velo_offset,
        chi2=windows.velo_chi2,
        error=HIT_ERROR,
    )
    points = np.stack([hits["x"], hits["y"]], axis=1)[rows]
    z, count = hits["z"][rows], (rows >= 0).sum(1)
    first, last = points[:, 0], points[np.arange(len(rows)), count - 1]
    beam = np.array([geometry.beam.x, geometry.beam.y])
    # Segments that approach the beam with growing z point backward, away from the magnet.
    forward = np.flatnonzero(((first - beam) * (last - first)).sum(1) > 0)
    lines = fit_lines(points[forward], z[forward], count[forward])
    event = hits["event"][rows[forward, 0]]
    return VeloSegments(event, np.full(len(event), -1), rows[forward], lines)


def search_scifi(
    hits: dict[str, np.ndarray], *, geometry: Geometry, magnet: MagnetModel, windows: Windows
) -> SciFiSegments:
    """Find SciFi segments, sorted by event; their `particle` is -1.

    Hits are columns (m,) of `parkf.io.tables.HITS`, sorted by event and plane, each hit once. The magnet
    model determines what curves particles have.
    """
    begun = _pattern.scifi_segments(
        *_columns(hits),
        first_plane=SCIFI_PLANES.start,
        fewest=windows.scifi_layers,
        fewest_x=windows.scifi_x,
        fewest_stereo=windows.scifi_stereo,
        z_reference=magnet.z_scifi,
        cubic_ratio=magnet.cubic_ratio,
        curvature=magnet.curvature,
        farthest=magnet.chord / windows.p_min,
        middle=windows.scifi_middle,
        middle_share=windows.scifi_middle_share,
        window=windows.scifi_found,
        focusing=magnet.focusing,
        y_origin=windows.scifi_y,
        y_origin_share=windows.scifi_y_share,
        half_height=max(layer.half_height for layer in geometry.scifi.layers),
        chi2_x=windows.scifi_chi2_x,
        chi2=windows.scifi_chi2,
        error=windows.scifi_error,
        shared=windows.scifi_shared,
    )
    begun = begun[enough(begun, windows.scifi_layers)]
    segments = follow_curves(hits, begun, geometry=geometry, magnet=magnet, windows=windows)
    return replace(segments, particle=np.full(len(segments.event), -1))


def _columns(hits: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """First row of each event, planes, and positions, in the types of the searches."""
    first = np.flatnonzero(np.diff(hits["event"], prepend=-1))
    return (
        first.astype(np.int64),
        np.ascontiguousarray(hits["plane"], np.int32),
        *(np.ascontiguousarray(hits[name], np.float64) for name in _COLUMNS),
    )
