"""Sets of forms: the formulas of all steps, and the layout of the constant blob."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from parkf.io.option_types import FormsName
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.model.layout.blocks import HEADER_TEXT, ODD_HEADER, Block, Column, Layout
from parkf.model.steps import beam, corrections, magnet, scifi, ut, velo, velo_to_ut
from parkf.model.steps.step import Step


@dataclass(frozen=True, eq=False)
class Forms:
    """A set of forms, and the layout of the constant blob that follows from it."""

    name: FormsName  # in configurations and manifests
    layout_version: int  # increases with every change of the meaning or position of a number in the blobs
    table: magnet.TableForm  # the hop through the magnet
    steps: dict[str, Step]  # in the order of their blocks

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        """The constant blob's blocks in their order."""
        header = tuple(
            Column(name, "", text, -1 if name in ODD_HEADER else 1) for name, text in HEADER_TEXT.items()
        )
        layers = ("z at y = 0, mm", "dy/dz", "dx/dy", "σ² by cluster size, mm²")
        scifi_layers, ut_layers = (
            tuple(Column(f"layer {i}", "", f"{part} layer {i}", 1) for i in range(count))
            for part, count in (("SciFi", SCIFI_LAYERS), ("UT", UT_LAYERS))
        )
        blocks = {name: block_of(step) for name, step in self.steps.items()}
        return (
            *(blocks[name] for name in ("V", "VUT", "UT", "UTTF")),
            Block("UTT_META", ("header",), header),
            *(blocks[name] for name in ("TFT", "T")),
            Block("TLayer", layers, scifi_layers),
            Block("UTLayer", ("z, mm",), ut_layers),
            blocks["BEAM"],
        )

    @cached_property
    def layout(self) -> Layout:
        """Layout of the numbers; the installed kernel's is :func:`parkf.model.layout.layout_of`."""
        return Layout(
            name=self.name,
            layout_version=self.layout_version,
            formulas=self.hash(),
            steps={name: step.formula_hash() for name, step in self.steps.items()},
            blocks=self._blocks,
            pieces=self.table.pieces,
            signature=self.table.signature,
        )

    def hash(self) -> str:
        """Fingerprint of all formulas and of the layout, by which a compiled kernel is identified."""
        layout = [(block.name, block.shape) for block in self._blocks]
        expressions = [magnet.U_X, magnet.U_Y, magnet.F, *magnet.WEIGHTS.values()]
        if self.table is not magnet.PRODUCTION:
            expressions += [*self.table.place, *self.table.summed]
        magnet_forms = [sp.srepr(expression) for expression in expressions]
        steps = [step.formula_hash() for step in self.steps.values()]
        text = repr((self.layout_version, steps, layout, self.table.pieces, magnet_forms))
        return hashlib.sha256(text.encode()).hexdigest()


def block_of(step: Step) -> Block:
    """Return the block of the constant blob that holds a step's numbers."""
    columns = (Column(f"p{i}", p.unit, p.text, p.parity) for i, p in enumerate(step.parameters))
    return Block(step.name, step.sets, tuple(columns))


# Each module has the forms of its steps as the tuples IMPROVED and PRODUCTION.
_MODULES = (velo, velo_to_ut, ut, corrections, scifi, beam)


def _combined(name: FormsName, table: magnet.TableForm) -> Forms:
    """Combine forms to a set; its layout is the newest layout among the forms."""
    steps = [step for module in _MODULES for step in getattr(module, name.upper())]
    layout_version = max(table.layout, *(step.layout for step in steps))
    return Forms(name, layout_version, table, {step.name: step for step in steps})


FORMS: dict[FormsName, Forms] = {
    "improved": _combined("improved", magnet.IMPROVED),
    "production": _combined("production", magnet.PRODUCTION),
}
# Names of the steps; they are the same in all sets of forms, and so are the datasets.
STEP_NAMES = tuple(FORMS["improved"].steps)


def file_of(step: Step) -> str:
    """Return the name of the file with the formulas of one of today's steps."""
    for module in _MODULES:
        if step in (*module.IMPROVED, *module.PRODUCTION):
            return module.__name__.rpartition(".")[2] + ".py"
    raise KeyError(step.name)
