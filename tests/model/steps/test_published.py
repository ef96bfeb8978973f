"""With published numbers the formulas move tracks as Runge-Kutta does, and scatter them as material does."""

from pathlib import Path

import numpy as np
import pytest

from parkf.detector.transport.runge_kutta import propagate
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.model.steps.frozen import forms_of
from parkf.params.registry import Registry

SETS = {"improved": "2026-run3-like-2-r005", "production": "2026-run3-like-1-r001"}
TRACKS = 400
SEED = 5
COMPONENTS = ("x", "y", "tx", "ty")


def published(forms):
    return Registry(Path(__file__).parents[3] / "params").load(SETS[forms])


class Walk:
    """True tracks through the detector without scattering, and a set's prediction for each hop."""

    def __init__(self, forms, field, polarity):
        print(f"seed {SEED}")
        random = np.random.default_rng(SEED)
        self._set = published(forms)
        self._steps = forms_of(forms, self._set.manifest.formulas).steps
        self._field, self._polarity = field, polarity
        self._p = np.exp(random.uniform(np.log(3e3), np.log(5e4), TRACKS))
        self._q = random.choice([-1, 1], TRACKS)
        tx, ty = random.uniform(-0.15, 0.15, TRACKS), random.uniform(-0.12, 0.12, TRACKS)
        self._states = np.column_stack([tx * 300, ty * 300, tx, ty, self._q / self._p])
        self._z = np.full(TRACKS, 300.0)
        self.hops = {}
        self._walk()

    def _walk(self):
        ut_z = self._set.block("UTLayer")[0].astype(float)
        planes, leans = self._set.block("TLayer")[:2].astype(float)
        z_out = float(self._set.block("UTT_META")[0, 1])
        self._hop("V forward", "V", 0, (325.0, 0, 0), stay=True)
        self._hop("V backward", "V", 1, (275.0, 0, 0), stay=True)
        self._to((700.0, 0, 0))
        self._hop("VUT", "VUT", 0, (ut_z[0], 0, 0))
        for gap in range(3):
            self._hop(f"UT {gap}", "UT", gap, (ut_z[gap + 1], 0, 0))
            self._hop(f"UT {gap} back", "UT", 3 + gap, (ut_z[gap], 0, 0), stay=True)
        self._to((z_out, 0, 0))
        self._keep(np.all(np.abs(self._states[:, :2]) < [3000.0, 2400.0], axis=1))
        self._hop("TFT", "TFT", 0, (planes[0], 0, 1 / leans[0]))
        for gap in range(11):
            plane = planes[gap + 1], 0, 1 / leans[gap + 1]
            up = self._states[:, 1] >= 0
            self._hop(f"T {gap} up", "T", 2 * gap, plane, stay=True, only=up)
            self._hop(f"T {gap} down", "T", 2 * gap + 1, plane, stay=True, only=~up)
            self._to(plane)

    def _keep(self, mask):
        self._states, self._z = self._states[mask], self._z[mask]
        self._p, self._q = self._p[mask], self._q[mask]

    def _propagated(self, plane, loss=0.0, mask=slice(None)):
        states = self._states[mask].copy()
        states[:, 4] = (self._q / (self._p - loss))[mask]
        ends = propagate(self._field, self._polarity, states, self._z[mask], plane, threads=1)
        assert ends.ok.all()
        return ends

    def _to(self, plane):
        ends = self._propagated(plane)
        self._states, self._z = ends.states, ends.z

    def _hop(self, label, name, number, plane, *, stay=False, only=None):
        mask = np.ones(len(self._p), bool) if only is None else only
        step = self._steps[name]
        p = self._set.block(name)[number // step.joined].astype(float)
        # Energy loss on the way also changes the bend in the field.
        loss = sum(value for value, one in zip(p, step.parameters, strict=True) if one.kind == "loss")
        ends = self._propagated(plane, loss, mask)
        x, y, tx, ty, _ = self._states[mask].T
        rows = {"x0": x, "y0": y, "tx0": tx, "ty0": ty, "z0": self._z[mask], "z1": ends.z}
        rows |= {"qop": (self._q / self._p)[mask], "polarity": np.full(mask.sum(), float(self._polarity))}
        functions = numpy_step(step)
        error = np.column_stack(functions.predict(p, rows)) - ends.states[:, :4]
        self.hops[label] = (name, number), rows, error, functions.noise(p, rows) if step.noise else None
        if not stay:
            self._states, self._z = ends.states, ends.z


@pytest.fixture(scope="module")
def walks(field):
    return {forms: Walk(forms, field, polarity) for forms, polarity in (("improved", -1), ("production", 1))}


# Limits on the RMS of error/σ_MS for x, y, tx, ty, from 3 to 50 GeV: a quarter above the sets' own values.
WITHIN, BETWEEN = "SciFi, within a station", "SciFi, between stations"
BARS = {
    "improved": {
        "V": (0.007, 0.004, 0.009, 0.005),
        "VUT": (0.155, 0.042, 0.13, 0.008),
        "UT 0": (0.011, 0.013, 0.013, 0.017),
        "UT 1": (0.05, 0.05, 0.05, 0.038),
        "UT 2": (0.006, 0.002, 0.007, 0.003),
        WITHIN: (0.017, 0.043, 0.019, 0.072),
        BETWEEN: (0.077, 0.22, 0.085, 0.18),
    },
    "production": {
        "V": (0.008, 0.004, 0.010, 0.005),
        "VUT": (0.27, 0.115, 0.16, 0.042),
        "UT 0": (0.018, 0.043, 0.024, 0.059),
        "UT 1": (0.045, 0.22, 0.045, 0.29),
        "UT 2": (0.009, 0.049, 0.012, 0.067),
        WITHIN: (0.22, 0.14, 0.29, 0.21),
        BETWEEN: (0.61, 0.25, 0.67, 0.27),
    },
}


def of(label):
    """Key of a hop's limits in BARS."""
    name, *where = label.split()
    if name == "T":
        return BETWEEN if where[0] in ("3", "7") else WITHIN
    return f"UT {where[0]}" if name == "UT" else name


@pytest.mark.parametrize("forms", SETS)
def test_tracks_go_where_runge_kutta_takes_them(walks, forms):
    for label, (_, _, error, noise) in walks[forms].hops.items():
        if noise is None:
            # The first SciFi layer is some mm away. The limits are 0.1 µm and 0.1 mrad.
            assert np.abs(error).max() < 1e-4, label
            continue
        sigma = np.column_stack([noise[component] for component in COMPONENTS])
        rms = np.sqrt(np.mean((error / sigma) ** 2, axis=0))
        assert (rms < BARS[forms][of(label)]).all(), (label, rms)


def test_both_forms_scatter_alike(walks):
    """Both forms were trained on samples with the same material, so their widths agree for all tracks."""
    blocks = published("production")
    for label, ((name, number), rows, _, noise) in walks["improved"].hops.items():
        if noise is None:
            continue
        step = FORMS["production"].steps[name]
        other = numpy_step(step).noise(blocks.block(name)[number // step.joined].astype(float), rows)
        soft = np.abs(rows["qop"]) > 1 / 8000
        for which, one in noise.items():
            ratio = other[which] / one
            assert 0.7 < ratio.min() <= ratio.max() < 1.25, (label, which)
            for mask in (soft, ~soft):
                assert 0.9 < np.median(ratio[mask]) < 1.2, (label, which)


@pytest.mark.parametrize("forms", SETS)
def test_scattering_is_that_of_the_material(walks, forms):
    """Highland: σ of a slope is 13.6 MeV/p·√(x/X0)·(1 + 0.038 ln(x/X0)); a layer has 0.5 to 10 % of X0."""
    for label, (_, rows, _, noise) in walks[forms].hops.items():
        if noise is None:
            continue
        for plane in ("x", "y"):
            angle = np.median(noise[f"t{plane}"] / np.abs(rows["qop"]))
            thickness = np.square(angle / 13.6)
            assert 0.002 < thickness < 0.2, (label, plane, thickness)
            # The kick happens at one point of the step, or is spread along it.
            lever = np.median(noise[plane] / noise[f"t{plane}"] / np.abs(rows["z1"] - rows["z0"]))
            assert 0.05 < lever < 1.0, (label, plane, lever)
            backward = label.endswith(("back", "backward"))
            assert (np.sign(noise[f"rho_{plane}"]) == (-1 if backward else 1)).all(), label
