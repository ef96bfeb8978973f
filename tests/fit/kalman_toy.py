"""Tracks whose truth follows the step functions and noise models: a right fit has unit pulls."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import parkf._fitter as _fitter
from kalman_reference import Model, landing

from parkf.fit.candidates import from_arrays
from parkf.model.layout import TABLE_SHAPE
from parkf.model.steps import FORMS
from parkf.model.steps.rich import RICH_STEPS
from parkf.params.imported import EMPTY
from parkf.params.parameter_set import aligned

SCIFI_Z = [7826, 7896, 7966, 8036, 8508, 8578, 8648, 8718, 9193, 9263, 9333, 9403]
UT_Z = [2327.5, 2372.5, 2597.5, 2642.5]
STEREO = 0.0874892
SCIFI_DXDY = np.array([0, STEREO, -STEREO, 0] * 3)
UT_DXDY = np.array([0, STEREO, -STEREO, 0])
VELO_SIGMA, UT_SIGMA, SCIFI_SIGMA = 0.0125, 0.05, 0.08
HEADER = [2665, 7826, 1500, -29.5, -35, 310, -140, 0.3, 0.25, 2500, 0.005]


def constant_blob(forms):
    """Start values, with small terms added where they vanish, and the layers' places."""
    random = np.random.default_rng(1)
    blob = np.zeros(forms.layout.constant_count)
    for block in forms.layout.blocks:
        rows, columns = block.shape
        part = blob[forms.layout.block_slice(block.name)].reshape(rows, columns)
        if block.name in forms.steps:
            for i, parameter in enumerate(forms.steps[block.name].parameters):
                odd = parameter.kind == "extrapolation" and parameter.start == 0
                # Powers of places in m, of up to three at the SciFi, must stay corrections.
                size = 2e-4 if "/m" in parameter.unit else 0.02
                part[:, i] = parameter.start + (random.normal(0, size, rows) if odd else 0)
        if block.name == "UTT_META":
            part[0, : len(HEADER)], part[0, len(HEADER) :] = HEADER, list(forms.table.signature.values())
        if block.name == "TLayer":
            part[0], part[1], part[2], part[3] = SCIFI_Z, 1 / 0.0036, SCIFI_DXDY, 0.01
        if block.name == "UTLayer":
            part[0] = UT_Z
    blob[forms.layout.offsets["V"] + 6 + 5] *= -1  # backward, position and slope are anticorrelated
    return blob.astype(np.float32)


def magnet_table(form):
    """A kick at z = 5.2 m that varies over the bins, with small higher terms: 1.2 GeV, linear in q/p.

    Where sines are summed, slopes are not linear in q/p: a quarter of it keeps 2 GeV in the detector, and
    a fit without Newton's step from going astray.
    """
    random = np.random.default_rng(2)
    x, y = np.meshgrid(np.linspace(-0.295, 0.295, 60), np.linspace(-0.245, 0.245, 50), indexing="ij")
    shape = 1 + x**2 + 1.5 * y**2
    table = np.zeros(TABLE_SHAPE)
    table += random.normal(0, 1e-4, 80) * shape[..., None]
    lever = 7826 - 5200
    stops = np.cumsum([piece.degree for piece in form.pieces])
    at = {(p.component, p.factor): stop - p.degree for p, stop in zip(form.pieces, stops, strict=True)}
    for component, size in (("x", 1), ("tx", 1e-3)):
        begin = at[component, "1"]
        table[..., begin] = -(0.2 if form.sines else 0.8) * shape * (lever if component == "x" else 1)
        table[..., begin + 1], table[..., begin + 2] = 20 * size * x, -30 * size * shape
    table[..., at["x", "u_x"]], table[..., at["x", "u_y"]] = -3 * x, -1e-3 * x
    table[..., at["y", "1"] + 1], table[..., at["ty", "1"] + 1] = 30 * y, 0.01 * y
    return table.astype(np.float32)


@dataclass
class Toy:
    """Truth at the vertex, and candidates in the kernel's layout."""

    parameters: SimpleNamespace
    arrays: dict
    vertex: np.ndarray  # (n, 5): x, y, tx, ty, q/p
    z_vertex: np.ndarray
    passed: dict = field(default_factory=dict)  # true states (n, 5) and z (n,) on the way

    def candidates(self, precision):
        return from_arrays(self.arrays, precision)

    def pulls(self, fitted):
        """(fit − truth)/σ of x, y, tx, ty, q/p at the fit's z."""
        x, y, tx, ty, qop = self.vertex.T
        dz = fitted.z - self.z_vertex
        truth = {"x": x + tx * dz, "y": y + ty * dz, "tx": tx, "ty": ty, "qop": qop}
        return {n: (getattr(fitted, n) - t) / np.sqrt(getattr(fitted, n + n)) for n, t in truth.items()}


def parameters(name="improved"):
    forms = FORMS[name]
    constants = SimpleNamespace(velo_sigma=VELO_SIGMA, beam_x=0.02, beam_y=-0.03)
    manifest = SimpleNamespace(
        constants=constants,
        forms=name,
        layout_version=forms.layout_version,
        formulas=_fitter.formulas[name],
        blobs=EMPTY,
    )
    return SimpleNamespace(
        constant=constant_blob(forms),
        table=aligned(magnet_table(forms.table)),
        manifest=manifest,
        score=None,
        rich=SimpleNamespace(numbers=rich_numbers()),
    )


def rich_numbers():
    """Start values of the steps to the RICH planes."""
    return np.concatenate(
        [
            np.tile([parameter.start for parameter in step.parameters], len(step.sets))
            for step in RICH_STEPS.values()
        ]
    ).astype(np.float32)


def scatter(random, noise):
    """Draw (x, y, tx, ty) shifts from σ and ρ of a step."""
    a, b, c, d = random.normal(size=(4, len(noise["x"])))
    rho_x, rho_y = noise["rho_x"], noise["rho_y"]
    tx = noise["tx"] * (rho_x * a + np.sqrt(1 - rho_x**2) * b)
    ty = noise["ty"] * (rho_y * c + np.sqrt(1 - rho_y**2) * d)
    return np.stack([noise["x"] * a, noise["y"] * c, tx, ty], axis=1)


def generate(n, momentum, seed, *, seed_error=0.02, efficiency=1.0, forms="improved"):
    """`n` tracks of `momentum` (MeV); the pattern recognition's q/p is off by the relative `seed_error`."""
    random = np.random.default_rng(seed)
    p = parameters(forms)
    model = Model(p)
    polarity = random.choice([-1.0, 1.0], n)
    k = random.choice([-1.0, 1.0], n) / momentum
    slopes = random.uniform(-0.17, 0.17, (n, 2))
    vertex = np.column_stack([random.normal(0.02, 0.01, n), random.normal(-0.03, 0.01, n), slopes, k])
    z_vertex = random.normal(0, 45, n)

    # From the vertex to the first hit, against bend and noise of the way back to the beam line.
    z = z_vertex + 60 + random.uniform(0, 25, n)
    noise = model.noise("BEAM", 1, vertex, polarity, z, z_vertex)
    at_rest = vertex * [0, 0, 0, 0, 1]
    half = np.abs(z - z_vertex) / 2
    bend = model.predict("V", 1, at_rest, polarity, z + half, z_vertex + half)[:, :4]
    shift = scatter(random, noise) + bend
    state = vertex.copy()
    state[:, 2:4] -= shift[:, 2:]
    state[:, :2] += -shift[:, :2] + state[:, 2:4] * (z - z_vertex)[:, None]

    velo = np.full((3, n, 26), np.nan)
    velo_n = random.integers(3, 15, n)
    for slot in range(15):
        here = slot < velo_n
        if slot:
            z_next = z + random.choice([12.5, 25.0, 50.0], n)
            moved = model.predict("V", 0, state, polarity, z, z_next)
            moved[:, :4] += scatter(random, model.noise("V", 0, state, polarity, z, z_next))
            state[here], z[here] = moved[here], z_next[here]
        hit = random.normal(state[:, :2], VELO_SIGMA)
        velo[0, here, slot], velo[1, here, slot], velo[2, here, slot] = hit[here, 0], hit[here, 1], z[here]

    passed = {"last VELO hit": (state.copy(), z.copy())}

    def strip(state, dxdy, sigma, z_layer):
        x = random.normal(state[:, 0] - dxdy * state[:, 1], sigma)
        x[random.random(n) > efficiency] = np.nan
        return np.stack([x, np.full(n, z_layer), np.full(n, dxdy), np.full(n, sigma)])

    ut = np.empty((4, n, 4))
    for layer, z_layer in enumerate(UT_Z):
        name, row = ("VUT", 0) if layer == 0 else ("UT", layer - 1)
        z_next = np.full(n, z_layer)
        noise = model.noise(name, row, state, polarity, z, z_next)
        state = model.predict(name, row, state, polarity, z, z_next)
        state[:, :4] += scatter(random, noise)
        z = z_next
        if layer == 0:
            passed["first UT layer"] = state.copy(), z
        ut[:, :, layer] = strip(state, UT_DXDY[layer], UT_SIGMA, z_layer)
    state = model.predict("UT", 2, state, polarity, z, np.full(n, model.z_in))
    before, state = state, model.magnet(state, k, polarity)
    state[:, :4] += scatter(random, model.noise("UTTF", 0, state, polarity, z, z, before=before))

    scifi = np.empty((4, n, 12))
    z = np.full(n, model.z_out)
    for layer, z_layer in enumerate(SCIFI_Z):
        z_next = landing(state, z, z_layer, 0.0036)
        if layer == 0:
            state = model.predict("TFT", 0, state, polarity, z, z_next)
        else:
            row = model.gap_row(layer - 1, state[:, 1])
            noise = model.noise("T", row, state, polarity, z, z_next)
            state = model.predict("T", row, state, polarity, z, z_next)
            state[:, :4] += scatter(random, noise)
        # From here on the plane's own z, as for a track that is exactly on it.
        z = z_layer + 0.0036 * state[:, 1]
        scifi[:, :, layer] = strip(state, SCIFI_DXDY[layer], SCIFI_SIGMA, z_layer)

    arrays = {
        "polarity": polarity,
        "qop": k * (1 + seed_error * random.normal(size=n)),
        "velo_n": velo_n,
        **dict(zip(("velo_x", "velo_y", "velo_z"), velo, strict=True)),
        **dict(zip(("ut_x", "ut_z", "ut_dxdy", "ut_sigma"), ut, strict=True)),
        **dict(zip(("scifi_x", "scifi_z", "scifi_dxdy", "scifi_sigma"), scifi, strict=True)),
    }
    passed["last SciFi layer"] = state, z
    return Toy(p, arrays, vertex, z_vertex, passed)
