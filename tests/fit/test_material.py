"""Material that a track crossed: momentum lost in the VELO, and what lies in front of the first hit."""

from types import SimpleNamespace

import numpy as np
import pytest
from kalman_reference import Model
from kalman_toy import generate

from parkf.fit import cpu, fit
from parkf.model.layout import layout_of

LOSS, FOIL = 0.5, 0.7  # MeV in each module; before the first hit
OTHERS = ("z", "tx", "txtx", "tyty", "chi2_velo", "chi2_ut", "chi2_scifi", "ndof_velo")


def with_loss(toy, loss=LOSS, foil=FOIL):
    """The toy's set with a loss in each VELO module and a mean loss before the first hit."""
    p = toy.parameters
    constant = p.constant.copy()
    layout = layout_of(p.manifest.forms)
    constant[layout.block_slice("BEAM")].reshape(layout.block("BEAM").shape)[1, 3] = foil
    manifest = SimpleNamespace(
        **vars(p.manifest) | {"constants": SimpleNamespace(**vars(p.manifest.constants))}
    )
    manifest.constants.velo_loss = loss
    return SimpleNamespace(**vars(p) | {"manifest": manifest, "constant": constant})


@pytest.fixture(scope="module")
def toy():
    return generate(200, 5000.0, seed=41, efficiency=0.95)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("robust", [False, True])
def test_each_module_adds_its_loss_to_the_momentum(toy, precision, robust):
    without = fit(toy.parameters, toy.candidates(precision), robust=robust)
    there = fit(with_loss(toy), toy.candidates(precision), robust=robust)
    gained = 1 / np.abs(there.qop.astype(float)) - 1 / np.abs(without.qop.astype(float))
    tolerance = 2e-3 if precision == "float32" else 1e-8
    np.testing.assert_allclose(gained, LOSS * toy.arrays["velo_n"], atol=tolerance)
    assert (np.sign(there.qop) == np.sign(without.qop)).all()
    for name in OTHERS:
        np.testing.assert_allclose(getattr(there, name), getattr(without, name), rtol=2e-3, atol=1e-5)


def test_a_set_without_a_loss_gives_the_same_bytes(toy):
    tracks = toy.candidates("float32")
    before, there = fit(toy.parameters, tracks), fit(with_loss(toy, 0.0), tracks)
    assert before.qop.tobytes() == there.qop.tobytes()
    assert before.xx.tobytes() == there.xx.tobytes()


def test_fits_with_rich_states_know_the_loss(toy):
    p, tracks = with_loss(toy), toy.candidates("float64")
    plain = fit(p, tracks)
    states, _ = cpu.fit_with_rich(p, tracks, threads=1)
    np.testing.assert_allclose(states.qop, plain.qop, rtol=1e-9)


def test_tracks_born_behind_the_foil_scatter_in_half_of_a_module_instead(toy):
    """The covariances differ by the noise of the step to the beam, less half of that between two hits."""
    p, tracks = with_loss(toy), toy.candidates("float64")
    vertex, first = fit(p, tracks), fit(p, tracks, origin="first-hit")
    model, z, pol = Model(p), toy.arrays["velo_z"][:, 0], toy.arrays["polarity"]
    dz = vertex.z - z
    state = np.column_stack([getattr(vertex, name) for name in ("x", "y", "tx", "ty", "qop")])
    to_beam = model.noise_matrix("BEAM", 1, state, pol, z, vertex.z)
    module = model.noise_matrix("BEAM", 0, state, pol, z, vertex.z) / 2
    for axis, (x, t) in {"x": (0, 2), "y": (1, 3)}.items():
        slope = module[:, t, t]
        dropped = {
            f"{axis}{axis}": (to_beam[:, x, x], dz**2 * slope),
            f"{axis}t{axis}": (to_beam[:, x, t], dz * slope),
            f"t{axis}t{axis}": (to_beam[:, t, t], slope),
        }
        for name, (foil, half_module) in dropped.items():
            there = getattr(vertex, name) - getattr(first, name)
            # The kernel's noise is that of the state at the first hit, before the bend to the beam.
            np.testing.assert_allclose(there, foil - half_module, atol=5e-3 * np.abs(foil).max())
    for name in ("z", "chi2_velo", "chi2_scifi"):
        np.testing.assert_array_equal(getattr(vertex, name), getattr(first, name))
    lost = 1 / np.abs(vertex.qop) - 1 / np.abs(first.qop)
    np.testing.assert_allclose(lost, FOIL - LOSS / 2, rtol=1e-6)
