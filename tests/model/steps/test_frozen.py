"""The formulas of published layouts are read back from their files unchanged."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.model.steps import FORMS, frozen
from parkf.model.steps.formula_text import formula, text
from parkf.model.steps.frozen import document, forms_of, kernel_forms, thawed
from parkf.model.steps.symbols import Local, Side, h, tx, y

LAYOUTS = Path(__file__).parents[3] / "params/layouts"
KEPT = {1: "production", 2: "improved", 3: "improved"}


@pytest.mark.parametrize(("version", "name"), KEPT.items())
def test_what_is_kept_are_the_formulas_of_published_sets(version, name):
    """The fingerprint, formulas and layout equal those that the file was written from."""
    kept = thawed(LAYOUTS / f"{version}.json")
    manifests = (json.loads(path.read_text()) for path in LAYOUTS.parent.glob("*/manifest.json"))
    of_sets = {one["formulas"] for one in manifests if one["layout_version"] == version}
    assert of_sets == {kept.hash()}
    today = FORMS[name]
    if today.layout_version == version:
        assert kept.layout == today.layout
        assert document(kept) == document(today)


def test_formulas_are_written_for_people():
    form = tx + sp.Rational(3, 2) * h * Side(y) * sp.sqrt(1 + tx**2) / Local(y)
    assert text(form) == "3*h*sqrt(tx**2 + 1)*Side(y)/(2*Local(y)) + tx"
    assert formula(text(form)) == form


@pytest.mark.parametrize("form", [0.5 * tx, sp.exp(tx), sp.Symbol("tx")])
def test_what_would_not_be_read_back_is_refused(form):
    with pytest.raises(ParkfError, match="cannot be"):
        text(form)


@pytest.mark.parametrize(
    "written", ["__import__('os')", "tx.__class__", "Min(tx, key=1)", "0.5*tx", "(tx", "tx if tx else ty", ""]
)
def test_text_is_read_and_not_run(written):
    with pytest.raises(ParkfError, match="cannot be read"):
        formula(written)


@pytest.fixture
def layouts(tmp_path):
    shutil.copytree(LAYOUTS, tmp_path / "layouts")
    return tmp_path / "layouts"


def rewritten(path, old, new):
    """Change a file and its checksum."""
    content = json.dumps(read_json(path))
    assert old in content
    write_sealed(path, json.loads(content.replace(old, new)))


def with_step(monkeypatch, name, **changes):
    """Put another step into today's improved forms."""
    forms = FORMS["improved"]
    step = replace(forms.steps[name], **changes)
    steps = {**forms.steps, name: step}
    version = max(forms.layout_version, step.layout)
    today = {**FORMS, "improved": type(forms)(forms.name, version, forms.table, steps)}
    monkeypatch.setattr(frozen, "FORMS", today)
    return today["improved"]


def test_without_changes_the_kernel_is_built_for_todays_forms_and_older_ones(layouts, tmp_path):
    assert kernel_forms(tmp_path / "none") == FORMS
    kernel = kernel_forms(layouts)
    assert list(kernel) == [*FORMS, "improved_2"]
    assert {name: kernel[name] for name in FORMS} == FORMS


def test_other_formulas_take_another_number(layouts, monkeypatch):
    outputs = FORMS["improved"].steps["UT"].outputs
    changed = {**outputs, "ty": outputs["ty"] + h}
    monkeypatch.setattr(frozen, "file_of", lambda step: "ut.py")
    with_step(monkeypatch, "UT", outputs=changed)
    edit = "UT changed; write layout=4 into the Step UT in src/parkf/model/steps/ut.py"
    with pytest.raises(ParkfError, match=f"^layout 3 is published; call this 4: {edit}$"):
        kernel_forms(layouts)
    today = with_step(monkeypatch, "UT", outputs=changed, layout=4)
    kernel = kernel_forms(layouts)
    assert list(kernel) == ["improved", "production", "improved_2", "improved_3"]
    assert (kernel["improved"], today.layout.layout_version) == (today, 4)
    assert kernel["improved_3"].layout == FORMS["improved"].layout
    # A step in both sets of forms would give both the same layout number.
    production = FORMS["production"]
    shared = type(production)("production", 4, production.table, production.steps)
    monkeypatch.setitem(frozen.FORMS, "production", shared)
    with pytest.raises(ParkfError, match="share a step of layout 4; leave PRODUCTION as it was"):
        kernel_forms(layouts)
    # A layout number is given only once, even to other forms.
    with_step(monkeypatch, "UT", outputs=changed, layout=1)
    shutil.copy(layouts / "2.json", layouts / "5.json")
    with pytest.raises(ParkfError, match="layout 3 is published; call this 6"):
        kernel_forms(layouts)


def test_the_formulas_of_a_set_are_found_by_their_fingerprint():
    for name, forms in FORMS.items():
        assert forms_of(name, forms.hash()) is forms
    with pytest.raises(ParkfError, match="formulas 000000000000…, which the installed kernel lacks"):
        forms_of("improved", "0" * 64)


def test_a_kept_layout_that_is_not_what_it_was_is_refused(layouts):
    path = layouts / "2.json"
    rewritten(path, "Abs(k)", "Abs(h)")
    with pytest.raises(ParkfError, match=r"2\.json: with SymPy .* do not come out as they were"):
        thawed(path)
    rewritten(path, '"grid": 2', '"grid": 4')
    with pytest.raises(ParkfError, match=r"2\.json: its magnet table is none of TABLE_FORMS"):
        thawed(path)
    path.write_text(path.read_text().replace("Abs(h)", "Abs(k)"))
    with pytest.raises(ParkfError, match=r"2\.json: not a JSON file as it was written"):
        thawed(path)
