"""A fit may start from another fit, a run or a set."""

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.model.steps import FORMS
from parkf.params.configuration import flat, start_file
from parkf.params.parameter_set import ParameterSet
from parkf.training.fit_noise import widening
from parkf.training.neighbour import neighbour


@pytest.fixture
def folder(better, tmp_path):
    """A set whose noise is wider than that of single steps."""
    configuration = flat({"training": {"noise_scale": {"T": 1.04}}})
    steps = {name: step.formula_hash() for name, step in FORMS[better.manifest.forms].steps.items()}
    manifest = better.manifest.model_copy(update={"configuration": configuration, "steps": steps})
    ParameterSet(better.constant, better.table, manifest).save(tmp_path / "set")
    return tmp_path / "set"


def test_a_set_gives_what_its_fits_had(folder, better):
    near = neighbour(folder, "T", "improved")
    grown = widening(FORMS[better.manifest.forms].steps["T"], 1.04)
    assert (grown > 1).any()
    np.testing.assert_allclose(np.array(near.values) * grown, better.block("T"), rtol=1e-12)
    assert near.fingerprint == sha256(folder / "manifest.json")
    np.testing.assert_array_equal(neighbour(folder, "V", "improved").values, better.block("V"))


def test_a_set_of_other_forms_or_formulas_is_refused(folder, better):
    with pytest.raises(ParkfError, match="forms 'improved', expected 'production' to start from"):
        neighbour(folder, "T", "production")
    steps = {**better.manifest.steps, "T": "0" * 64}
    ParameterSet(better.constant, better.table, better.manifest.model_copy(update={"steps": steps})).save(
        folder
    )
    with pytest.raises(ParkfError, match="other formulas than step T has now"):
        neighbour(folder, "T", "improved")


def test_files_of_places(folder, tmp_path):
    assert start_file(folder, "T") == folder / "manifest.json"
    assert start_file(tmp_path / "run", "T") == tmp_path / "run/fits/T.json"
    assert start_file(tmp_path / "T.json", "T") == tmp_path / "T.json"
    with pytest.raises(ParkfError, match=r"run/fits/T\.json: no such file"):
        neighbour(tmp_path / "run", "T", "improved")
