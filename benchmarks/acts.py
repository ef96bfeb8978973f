"""ACTS's Kalman fitter beside ours: time a track on one core. Needs `pip install 'parkf[acts]'`.

Run: python -m benchmarks.acts
ACTS fits tracks of 3 to 50 GeV in 26 upright planes. The planes are at the same z as ours, and the field
map is the same. The 10 VELO planes measure two coordinates. The 4 UT and 12 SciFi planes measure one,
across their strips. Every plane is 1 mm of silicon, in which tracks scatter but lose no energy.

The time is that of ACTS's example algorithm for fits. This algorithm filters, smooths and extrapolates to
the beam line, by Runge-Kutta with covariances, and its navigator looks for the next plane. The time does
not include making measurements and first states. A first state is the true one with smeared parameters.
Its momentum is smeared by only 0.2 %, so that the fit may linearise there: with 2 % the pull of q/p widens
to 1.08.

Our fits are the parameterised fit and the full fit. Their tracks have as many hits as those of ACTS. The
full fit goes through all material three times. All times are CPU times of the thread, on one core.
"""

import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path

import acts
import acts.examples
import acts.fatras
import numpy as np
from benchmarks.fitter import repeated, toy_of_ten, tracks_per_second

from parkf.detector.field import FieldMap, make_field_map
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, load_geometry
from parkf.detector.transport import propagate
from parkf.fit.reference.full import fit_full

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "detector/transport"))
from acts_peer import acts_field  # noqa: E402

COUNT = 2000
MAGDOWN = -1
SILICON, RADIATION_LENGTH = 1.0, 93.7  # mm
# Half sizes of all planes in mm. ACTS also uses the two numbers as radii, so the second must be larger.
BOUNDS = (3100.0, 3110.0)
MAP = np.array([[-3200.0, -2500.0, -200.0], [3200.0, 2500.0, 9600.0]])
# Errors with which the first state is smeared: position, angles, momentum.
SMEARING = {"sigmaLoc0": 0.05, "sigmaLoc1": 0.05, "sigmaPhi": 1e-3, "sigmaTheta": 3e-4, "sigmaPtRel": 0.002}
NO_MOMENTUM_DEPENDENCE = dict.fromkeys(("sigmaLoc0PtA", "sigmaLoc0PtB", "sigmaLoc1PtA", "sigmaLoc1PtB"), 0.0)
QUIET = {"level": acts.logging.ERROR}


class Planes:
    """26 planes: z [mm], measurement error [mm], angle of the measured axis to x, number of coordinates."""

    def __init__(self) -> None:
        geometry = load_geometry(ROOT / "data/geometry/run3.yaml")
        numbers = [*VELO_PLANES[20:40:2], *UT_PLANES, *SCIFI_PLANES]
        velo = np.array(numbers) < VELO_PLANES.stop
        self.z = geometry.planes()[numbers, 0]
        slopes = [
            0.0 if in_velo else geometry.strip_slope(n) for n, in_velo in zip(numbers, velo, strict=True)
        ]
        self.angle = -np.arctan(slopes)
        self.sigma = np.where(velo, 0.0125, np.where(np.array(numbers) < SCIFI_PLANES.start, 0.05, 0.08))
        self.coordinates = np.where(velo, 2, 1).tolist()


class Tracks:
    """Tracks from the origin, scattered in planes: q/p [1/MeV], direction, measurements (planes, 2, n)."""

    def __init__(self, field: FieldMap, planes: Planes) -> None:
        rng = np.random.default_rng(3)
        count = 2 * COUNT
        self.qop = rng.choice([-1.0, 1.0], count) / np.exp(rng.uniform(np.log(3000), np.log(50000), count))
        slopes = rng.uniform(-0.2, 0.2, count), rng.uniform(-0.15, 0.15, count)
        self.direction = _unit(np.column_stack([*slopes, np.ones(count)]))
        states = np.column_stack([np.zeros((count, 2)), *slopes, self.qop])
        z, inside, measured = 0.0, np.ones(count, bool), []
        for number, target in enumerate(planes.z):
            arrived = propagate(field, MAGDOWN, states, z, (target, 0.0, 0.0))
            inside &= arrived.ok & (np.abs(np.nan_to_num(arrived.states[:, :2])) < BOUNDS[0]).all(1)
            states, z = np.where(inside[:, None], arrived.states, 0.0), target
            c, s = np.cos(planes.angle[number]), np.sin(planes.angle[number])
            local = np.stack([c * states[:, 0] + s * states[:, 1], c * states[:, 1] - s * states[:, 0]])
            measured.append(local + rng.normal(0.0, planes.sigma[number], local.shape))
            states[:, 2:4] = _scattered(states[:, 2:4], np.abs(self.qop), rng)
        chosen = np.flatnonzero(inside)[:COUNT]
        self.qop, self.direction = self.qop[chosen], self.direction[chosen]
        self.measured = np.stack(measured)[:, :, chosen]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def _scattered(slopes: np.ndarray, inverse_p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Slopes (n, 2) behind a plane: Highland's angle in both directions across the track."""
    direction = _unit(np.column_stack([slopes, np.ones(len(slopes))]))
    thickness = SILICON / RADIATION_LENGTH / direction[:, 2]
    angle = 13.6 * inverse_p * np.sqrt(thickness) * (1 + 0.038 * np.log(thickness))
    across = _unit(np.cross(direction, [0.0, 1.0, 0.0]))
    kicks = rng.normal(0.0, 1.0, (2, len(slopes), 1)) * angle[:, None]
    direction = direction + kicks[0] * across + kicks[1] * np.cross(direction, across)
    return direction[:, :2] / direction[:, 2:]


def telescope(planes: Planes) -> acts.examples.TelescopeDetector:
    """Build ACTS's detector from the planes."""
    return acts.examples.TelescopeDetector(
        positions=planes.z.tolist(), stereos=planes.angle.tolist(), bounds=BOUNDS, thickness=SILICON
    )


class Source(acts.examples.IAlgorithm):
    """Puts tracks, their measurements and the links between both into ACTS's event store."""

    def __init__(self, tracks: Tracks, planes: Planes, detector: acts.examples.TelescopeDetector) -> None:
        super().__init__("Source", acts.logging.ERROR)
        types = {
            "measurements": acts.examples.MeasurementContainer,
            "prototracks": acts.examples.ProtoTrackContainer,
            "particles": acts.examples.SimParticleContainer,
        }
        self._content = {name: kind() for name, kind in types.items()}
        self._handles = {name: acts.examples.WriteDataHandle(self, types[name], name) for name in types}
        for name, handle in self._handles.items():
            handle.initialize(name)
        surfaces: list[acts.Surface] = []
        detector.trackingGeometry().visitSurfaces(surfaces.append)
        context = detector.nominalGeometryContext()
        surfaces.sort(key=lambda surface: surface.center(context)[2])
        for number in range(len(tracks.qop)):
            self._add(number, tracks, planes, [surface.geometryId for surface in surfaces])

    def _add(self, number: int, tracks: Tracks, planes: Planes, surfaces: list) -> None:
        measurements, hits = self._content["measurements"], acts.examples.ProtoTrack()
        for plane, (surface, n) in enumerate(zip(surfaces, planes.coordinates, strict=True)):
            hits.append(len(measurements))
            variance = planes.sigma[plane] ** 2
            values = tracks.measured[plane, :n, number].tolist()
            measurements.emplaceMeasurement(surface, list(range(n)), values, [variance] * n)
        self._content["prototracks"].append(hits)
        barcode = acts.fatras.Barcode()
        barcode.vertexPrimary, barcode.particle = 1, number + 1
        kind = acts.PdgParticle.ePionPlus if tracks.qop[number] > 0 else acts.PdgParticle.ePionMinus
        particle = acts.examples.SimParticle(barcode, kind)
        particle.fourPosition = acts.Vector4(0, 0, 0, 0)
        particle.direction = acts.Vector3(*tracks.direction[number])
        particle.absoluteMomentum = acts.UnitConstants.MeV / abs(tracks.qop[number])
        self._content["particles"].insert(particle)

    def execute(self, context: acts.examples.AlgorithmContext) -> acts.examples.ProcessCode:
        """Write everything to the event store."""
        for name, handle in self._handles.items():
            handle(context, self._content[name])
        return acts.examples.ProcessCode.SUCCESS


class Clock(acts.examples.IAlgorithm):
    """Records the thread's time at one position in the sequence of algorithms."""

    def __init__(self) -> None:
        super().__init__("Clock", acts.logging.ERROR)

    def execute(self, context: acts.examples.AlgorithmContext) -> acts.examples.ProcessCode:
        """Read the clock."""
        self.time = time.thread_time()
        return acts.examples.ProcessCode.SUCCESS


class Result(acts.examples.IAlgorithm):
    """Keeps parameters (n, 6), covariances (n, 6, 6) and numbers of measurements (n,) of fitted tracks."""

    def __init__(self) -> None:
        super().__init__("Result", acts.logging.ERROR)
        self._handle = acts.examples.ReadDataHandle(self, acts.examples.ConstTrackContainer, "tracks")
        self._handle.initialize("tracks")

    def execute(self, context: acts.examples.AlgorithmContext) -> acts.examples.ProcessCode:
        """Copy the fitted tracks from the event store."""
        tracks = self._handle(context.eventStore)
        self.parameters, self.covariance = tracks.parameters.copy(), tracks.covariance.copy()
        self.measurements = tracks.nMeasurements.copy()
        return acts.examples.ProcessCode.SUCCESS


def fit_with_acts(tracks: Tracks, planes: Planes, field: acts.MagneticFieldProvider) -> tuple[float, Result]:
    """Fit with ACTS; return the CPU time of its thread in seconds, and the fitted tracks."""
    detector = telescope(planes)
    fitter = acts.examples.makeKalmanFitterFunction(
        detector.trackingGeometry(),
        field,
        multipleScattering=True,
        energyLoss=False,
        reverseFilteringMomThreshold=0.0,
        reverseFilteringCovarianceScaling=100.0,
        freeToBoundCorrection=acts.examples.FreeToBoundCorrection(False),
        chi2Cut=float("inf"),
        useJosephFormulation=False,
        **QUIET,
    )
    before, after, result = Clock(), Clock(), Result()
    sequence = acts.examples.Sequencer(events=1, numThreads=1, logLevel=acts.logging.ERROR)
    for algorithm in (
        Source(tracks, planes, detector),
        acts.examples.ParticleTrackParamExtractor(
            inputParticles="particles", outputTrackParameters="true", **QUIET
        ),
        acts.examples.TrackParameterSmearing(
            inputTrackParameters="true",
            outputTrackParameters="first",
            randomNumbers=acts.examples.RandomNumbers(seed=1),
            sigmaTime=1.0,
            initialVarInflation=[100.0] * 6,
            particleHypothesis=acts.ParticleHypothesis.pion,
            **SMEARING,
            **NO_MOMENTUM_DEPENDENCE,
            **QUIET,
        ),
        before,
        acts.examples.TrackFittingAlgorithm(
            inputMeasurements="measurements",
            inputProtoTracks="prototracks",
            inputInitialTrackParameters="first",
            inputClusters="",
            outputTracks="tracks",
            pickTrack=-1,
            fit=fitter,
            calibrator=acts.examples.makePassThroughCalibrator(),
            linkForward=False,
            referenceSurface=acts.Surface.createPerigee(acts.Vector3(0, 0, 0)),
            **QUIET,
        ),
        after,
        result,
    ):
        sequence.addAlgorithm(algorithm)
    sequence.run()
    return after.time - before.time, result


def main() -> None:
    ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    planes = Planes()
    source = ROOT / "data/field/dipole.json"
    field = make_field_map(source, spacing=100.0, outside="error", interpolation="linear")
    tracks = Tracks(field, planes)
    with tempfile.TemporaryDirectory() as folder:
        peer = acts_field(field, Path(folder), lower=MAP[0], upper=MAP[1])
    seconds, found = fit_with_acts(tracks, planes, peer)
    variance = found.covariance[:, 4, 4]
    good = (found.measurements == len(planes.z)) & (variance > 0.0)
    residual = found.parameters[good, 4] / 1000.0 / tracks.qop[good] - 1.0
    pull = residual * 1000.0 * tracks.qop[good] / np.sqrt(variance[good])
    print(f"ACTS: {1e6 * seconds / len(good):.0f} us a track")
    print(
        f"  {good.mean():.1%} of {len(good)} tracks have all measurements and reach the beam line; "
        f"q/p to {100 * _width(residual):.2f} %, pull width {_width(pull):.2f}"
    )
    toy = toy_of_ten(1024, "production")
    rate = tracks_per_second(toy, repeated(toy, 1024, "float32"))
    print(f"parameterised fit: {1e6 / rate:.2f} us a track")
    begin = time.thread_time()
    fit_full(load_geometry(ROOT / "data/geometry/run3.yaml"), field, toy.candidates("float64"), threads=1)
    print(f"full fit: {1e6 * (time.thread_time() - begin) / len(toy.arrays['qop']):.0f} us a track")


def _width(values: np.ndarray) -> float:
    low, high = np.quantile(values, (0.1587, 0.8413))
    return float(high - low) / 2


if __name__ == "__main__":
    main()
