import numpy as np
import parkf._fitter as _fitter
import pytest
from kalman_reference import Model
from kalman_toy import HEADER, parameters

from parkf.model.steps import FORMS
from parkf.training.magnet_table.form import inside_grid


def states(n=400, seed=4):
    random = np.random.default_rng(seed)
    x, y = random.uniform(-780, 780, n), random.uniform(-640, 640, n)
    tx, ty = x / 2665 + random.normal(0, 0.02, n), y / 2665 + random.normal(0, 0.005, n)
    return np.column_stack([x, y, tx, ty]), random.choice([-1, 1], n) / random.uniform(1300, 5e4, n)


@pytest.fixture(scope="module", params=sorted(FORMS))
def magnet(request):
    p = parameters(request.param)
    p.constant[FORMS[request.param].layout.block_slice("UTTF")] = 0  # no energy loss, no corrections
    return p, Model(p)


def test_table_is_the_written_out_formula(magnet):
    p, model = magnet
    at, qop = states()
    polarity = np.where(np.arange(len(qop)) % 2, 1.0, -1.0)
    carried, _ = _fitter.magnet_extrapolate(model.header, p.table.reshape(-1), at, qop, polarity)
    expected = model.magnet(np.column_stack([at, qop]), qop, polarity)[:, :4]
    np.testing.assert_allclose(carried, expected, rtol=1e-10, atol=1e-10)


def test_derivatives_are_the_numerical_ones(magnet):
    """Only leading coefficients vary between bins in the derivatives; other variations are left out."""
    p, model = magnet
    table = np.broadcast_to(p.table[30, 20], p.table.shape).copy()
    table[..., model.leading] = p.table[..., model.leading]
    table = table.reshape(-1)
    at, qop = states()
    polarity = np.full(len(qop), -1.0)

    def carried(tx=0.0, ty=0.0, k=0.0):
        moved = at + np.array([0, 0, tx, ty])
        return _fitter.magnet_extrapolate(model.header, table, moved, qop + k, polarity)

    got = carried()[1]
    for column, (name, eps) in enumerate({"tx": 1e-6, "ty": 1e-6, "k": 1e-9}.items()):
        numerical = (carried(**{name: eps})[0] - carried(**{name: -eps})[0]) / (2 * eps)
        scale = np.abs(numerical).max(axis=0)
        # At the edge of the polynomials in |f|, and at the largest slope, the two one-sided derivatives
        # differ.
        smooth = np.abs(np.abs(qop) * model.header[2] - 1.05) > 1e-4
        smooth &= (np.abs(carried()[0][:, 2:]).max(axis=1) < 4) & inside_grid(model.header, at)
        assert smooth.mean() > 0.95
        np.testing.assert_allclose((got[..., column] - numerical)[smooth] / scale, 0, atol=2e-5)


def test_both_polarities_share_the_table(magnet):
    p, model = magnet
    at, qop = states()
    one = np.ones(len(qop))
    up = _fitter.magnet_extrapolate(model.header, p.table.reshape(-1), at, qop, one)[0]
    down = _fitter.magnet_extrapolate(model.header, p.table.reshape(-1), at, -qop, -one)[0]
    np.testing.assert_array_equal(up, down)


def test_threads_change_nothing(magnet):
    p, model = magnet
    at, qop = states(20000)
    one = np.ones(len(qop))
    results = [
        _fitter.magnet_extrapolate(model.header, p.table.reshape(-1), at, qop, one, threads=t)[0]
        for t in (1, 2)
    ]
    np.testing.assert_array_equal(*results)


def test_below_the_trained_momenta_goes_on_straight(magnet):
    p, model = magnet
    at, _ = states(50)
    h = np.array([1.06, 1.2, 1.34]) / HEADER[2]
    x = [
        _fitter.magnet_extrapolate(model.header, p.table.reshape(-1), at, np.full(50, k), np.ones(50))[0]
        for k in h
    ]
    # u varies with h as well, but the terms with u_x and u_y bend by less than a millimetre here. In forms
    # with sums of sines, slopes are not linear in h: they follow from straight lines in s.
    columns = slice(0, 2 if FORMS[p.manifest.forms].table.sines else 4)
    np.testing.assert_allclose((x[0] - 2 * x[1] + x[2])[:, columns], 0, atol=1.0)


def test_places_without_a_number_or_bin_are_safe(magnet):
    p, model = magnet
    at = np.array([[np.nan, 0, 0, 0], [1e30, -1e30, 0, 0], [0, np.inf, 0, 0]])
    carried, _ = _fitter.magnet_extrapolate(
        model.header, p.table.reshape(-1), at, np.full(3, 1e-4), np.ones(3)
    )
    assert not np.isfinite(carried).all(axis=1).any() or np.isfinite(carried[1]).all()


@pytest.mark.parametrize(
    ("change", "message"), [(lambda h: h[:18], "19 numbers"), (lambda h: h * 2, "UTT_META")]
)
def test_wrong_header_is_refused(magnet, change, message):
    p, model = magnet
    at, qop = states(3)
    with pytest.raises(ValueError, match=message):
        _fitter.magnet_extrapolate(change(model.header), p.table.reshape(-1), at, qop, np.ones(3))
