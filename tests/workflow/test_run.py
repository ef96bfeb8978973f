"""Properties of a run that its rules use."""

import subprocess
import sys

import pytest

from parkf.model.steps import FORMS
from parkf.workflow.run import Run

BEGUN = """
import sys
from parkf.workflow.run import Run
config = {"forms": sys.argv[1], "fits": {"of": []}}
print(dict(Run(config, has_begun=True).sets), "sympy" in sys.modules)
"""


@pytest.mark.parametrize("forms", FORMS)
def test_jobs_know_the_sets_of_all_steps_without_the_formulas(forms):
    sets = dict(Run({"forms": forms, "fits": {"of": []}}).sets)
    assert list(sets) == list(FORMS[forms].steps)
    said = subprocess.check_output([sys.executable, "-c", BEGUN, forms], text=True)
    assert said == f"{sets} False\n"
