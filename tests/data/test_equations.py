"""Least squares of nuisances against NumPy's, with surveys, constraints and weak modes."""

import numpy as np
import pytest

from parkf.data.equations import Equations, whitener

NAMES = ["a", "b", "c"]
RANDOM = np.random.default_rng(1)
SLOPES, RESIDUALS = RANDOM.standard_normal((40, 5, 3)), RANDOM.standard_normal((40, 5))
SPREAD = RANDOM.standard_normal((5, 8))
COVARIANCE = SPREAD @ SPREAD.T


@pytest.fixture
def equations():
    found = Equations(NAMES)
    found.add(SLOPES, np.broadcast_to(np.linalg.inv(COVARIANCE), (40, 5, 5)), RESIDUALS)
    return found


def rows():
    """Slopes and residuals of independent measurements with errors of 1."""
    whiten = np.linalg.inv(np.linalg.cholesky(COVARIANCE))
    return (whiten @ SLOPES).reshape(-1, 3), (whiten @ RESIDUALS[..., None]).ravel()


def test_solutions_are_those_of_numpy(equations):
    slopes, residuals = rows()
    found = equations.solve()
    np.testing.assert_allclose(found.value, np.linalg.lstsq(slopes, residuals)[0])
    np.testing.assert_allclose(found.covariance, np.linalg.inv(slopes.T @ slopes), atol=1e-12)
    assert not found.weak


def test_a_survey_is_one_more_measurement(equations):
    slopes, residuals = rows()
    more = np.vstack([slopes, [0, 1 / 0.02, 0]]), np.append(residuals, 0.5 / 0.02)
    found = equations.solve(known=np.array([np.inf, 0.02, np.inf]), at=np.array([9.0, 0.5, 9.0]))
    np.testing.assert_allclose(found.value, np.linalg.lstsq(*more)[0])
    np.testing.assert_allclose(found.error, np.sqrt(np.diag(np.linalg.inv(more[0].T @ more[0]))))


def test_a_fixed_combination_stays_0(equations):
    slopes, residuals = rows()
    found = equations.solve(fixed=np.array([[1.0, 1.0, 0.0]]))
    of = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found.value, np.linalg.lstsq(slopes @ of.T, residuals)[0] @ of, atol=1e-12)
    assert found.covariance[0].sum() == pytest.approx(found.covariance[0, 2])


def test_what_nothing_determines_stays_and_is_named():
    """The sum of a and b is measured to 0.1; their difference is not, and c only to 3."""
    found = Equations(NAMES)
    found.add(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.diag([100.0, 1 / 9]), np.array([2.0, 7.0]))
    solution = found.solve(scale=np.ones(3), weak=0.5)
    assert solution.value == pytest.approx([1.0, 1.0, 0.0])
    assert solution.error == pytest.approx([0.05, 0.05, 0.0])
    assert len(solution.weak) == 2
    assert found.solve(scale=np.ones(3), weak=5.0).value[2] == pytest.approx(7.0)


def test_a_whitener_makes_a_covariance_the_identity():
    constant = np.zeros((6, 6))
    constant[:5, :5] = COVARIANCE
    whiten = whitener(constant)
    np.testing.assert_allclose(whiten @ constant @ whiten.T, np.eye(5), atol=1e-10)
