"""Layouts and their formulas as documents, so that published sets stay usable when formulas change.

The build of the kernel writes a document for each set of forms, beside its headers. Publishing the first set
of a layout adds the document to the registry, as ``layouts/<version>.json``. From then on the layout is
frozen: the kernel is built for it in addition to today's formulas in :mod:`parkf.model.steps`.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import sympy as sp

from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.option_types import FormsName
from parkf.model.layout.blocks import Layout
from parkf.model.layout.built import layout_files, layout_in
from parkf.model.steps.forms import FORMS, Forms, file_of
from parkf.model.steps.formula_text import formula, text
from parkf.model.steps.magnet import TABLE_FORMS, TableForm
from parkf.model.steps.step import NOISE, Parameter, Step
from parkf.model.steps.symbols import COMPONENTS


def document(forms: Forms) -> dict[str, Any]:
    """Return a set of forms as a document: its layout and its formulas."""
    return {
        "layout": asdict(forms.layout),
        "table": _table(forms.table),
        "steps": {name: _written(step) for name, step in forms.steps.items()},
    }


def thawed(path: Path) -> Forms:
    """Read a set of forms from a document.

    A ParkfError when the file is missing or damaged, or the formulas are not the same when they are read.
    """
    content = read_json(path)
    layout = layout_in(content)
    table = next((form for form in TABLE_FORMS if _table(form) == content["table"]), None)
    if table is None:
        raise ParkfError(
            f"{path}: its magnet table is none of TABLE_FORMS in parkf.model.steps.magnet; keep that form"
            " there, and give a new one a grid of another number"
        )
    steps = {name: _step(layout, name, content["steps"][name]) for name in layout.steps}
    forms = Forms(layout.name, layout.layout_version, table, steps)
    if forms.layout != layout:
        raise ParkfError(
            f"{path}: with SymPy {sp.__version__} its formulas do not come out as they were; what all "
            "layouts share, above all in parkf.model.steps.magnet, must stay as it is"
        )
    return forms


def forms_of(name: FormsName, formulas: str) -> Forms:
    """Return the formulas of this fingerprint: today's, or those of a published layout.

    A ParkfError when the installed kernel was not built with these formulas.
    """
    if FORMS[name].hash() == formulas:
        return FORMS[name]
    for path in layout_files(name):
        if layout_in(read_json(path)).formulas == formulas:
            return thawed(path)
    raise ParkfError(f"parameter set: made for formulas {formulas[:12]}…, which the installed kernel lacks")


def kernel_forms(layouts: Path) -> dict[str, Forms]:
    """Return all sets of forms that a kernel is built for, by the names of their namespaces.

    Today's sets have the names of their forms; older published ones have names such as ``improved_2``. The
    folder `layouts` has the published layouts, ``<version>.json`` each, if there are any. A ParkfError when
    today's formulas differ from those that were published under their version.
    """
    published = {int(path.stem): path for path in layouts.glob("[0-9]*.json")}
    today = {forms.layout_version: forms for forms in FORMS.values()}
    following = 1 + max(*published, *today)
    if len(today) < len(FORMS):
        raise ParkfError(
            f"two sets of forms share a step of layout {max(today)}; leave PRODUCTION as it was there, and "
            "give IMPROVED a step of its own"
        )
    kernel: dict[str, Forms] = {forms.name: forms for forms in FORMS.values()}
    for version, path in sorted(published.items()):
        layout = layout_in(read_json(path))
        forms = today.get(version)
        if forms is None:
            kernel[f"{layout.name}_{version}"] = thawed(path)
        elif forms.hash() != layout.formulas:
            edit = _what_to_edit(forms, layout, following)
            raise ParkfError(f"layout {version} is published; call this {following}: {edit}")
    return kernel


def _what_to_edit(forms: Forms, published: Layout, version: int) -> str:
    changed = [step for name, step in forms.steps.items() if step.formula_hash() != published.steps.get(name)]
    if not changed:
        where = "its form in src/parkf/model/steps/magnet.py"
        return f"the magnet table has changed; write layout={version} into {where}"
    names = ", ".join(step.name for step in changed)
    file = f"src/parkf/model/steps/{file_of(changed[0])}"
    return f"{names} changed; write layout={version} into the Step {changed[0].name} in {file}"


def _table(form: TableForm) -> dict[str, Any]:
    kept = {name: getattr(form, name) for name in ("central", "linear", "sines", "grid")}
    return kept | {"depth": str(form.depth)}


def _written(step: Step) -> dict[str, Any]:
    # The layout has the names and units of the parameters.
    return {
        "text": step.text,
        "joined": step.joined,
        "parameters": [{"start": one.start, "kind": one.kind} for one in step.parameters],
        "outputs": {name: text(form) for name, form in step.outputs.items()},
        "noise": {name: text(form) for name, form in step.noise.items()},
        "surface": {str(z): text(form) for z, form in step.surface.items()},
        "local_qop": None if step.local_qop is None else text(step.local_qop),
    }


def _step(layout: Layout, name: str, written: dict[str, Any]) -> Step:
    block, local_qop = layout.block(name), written["local_qop"]
    return Step(
        name=name,
        text=written["text"],
        sets=block.sets,
        parameters=tuple(
            Parameter(column.text, column.unit, one["start"], one["kind"], column.parity)
            for column, one in zip(block.columns, written["parameters"], strict=True)
        ),
        outputs={each: formula(written["outputs"][each]) for each in COMPONENTS},
        noise={each: formula(written["noise"][each]) for each in NOISE if written["noise"]},
        surface={formula(z): formula(form) for z, form in sorted(written["surface"].items())},
        local_qop=None if local_qop is None else formula(local_qop),
        joined=written["joined"],
        layout=layout.layout_version,
    )
