"""The pulls on a step's page agree with the numbers of a published set."""

from dataclasses import replace
from pathlib import Path

from parkf.params.parameter_set import load
from parkf.report.step_page import moves

PUBLISHED = Path(__file__).parents[2] / "params/2026-run3-like-2-r005"


def test_numbers_of_other_formulas_have_no_pull_and_are_not_called_equal():
    published = load(PUBLISHED)
    steps = published.manifest.steps | {"VUT": "0" * 64}
    own = replace(published, manifest=published.manifest.model_copy(update={"steps": steps}))
    assert moves(published, published) == {}
    assert moves(published, own) == {("VUT", "forward", index): None for index in range(23)}
