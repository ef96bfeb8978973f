"""The constant blob: which numbers it holds, in which order."""

import hashlib
from dataclasses import dataclass

import sympy as sp

from parkf.steps import beam, magnet, scifi, ut, velo
from parkf.steps.step import Parameter, Step

STEPS: dict[str, Step] = {
    step.name: step for step in (velo.V, velo.VUT, ut.UT, ut.UTTF, scifi.TFT, scifi.T, beam.BEAM)
}


@dataclass(frozen=True)
class Block:
    """A rectangle of the constant blob: `sets` rows of `columns` (name, unit, text)."""

    name: str
    sets: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.sets), len(self.columns)


def _of_step(step: Step) -> Block:
    def column(index: int, parameter: Parameter) -> tuple[str, str, str]:
        return f"p{index}", parameter.unit, parameter.text

    return Block(step.name, step.sets, tuple(column(i, p) for i, p in enumerate(step.parameters)))


def _layers(kind: str, count: int) -> tuple[tuple[str, str, str], ...]:
    return tuple((f"layer {i}", "", f"{kind} layer {i}") for i in range(count))


BLOCKS: tuple[Block, ...] = (
    *(_of_step(STEPS[name]) for name in ("V", "VUT", "UT", "UTTF")),
    Block(
        "UTT_META",
        ("header",),
        tuple((n, "", t) for n, t in zip(magnet.HEADER, magnet.HEADER_TEXT, strict=True)),
    ),
    *(_of_step(STEPS[name]) for name in ("TFT", "T")),
    Block("TLayer", ("z at y = 0, mm", "dy/dz", "dx/dy", "σ² by cluster size, mm²"), _layers("SciFi", 12)),
    Block("UTLayer", ("z, mm",), _layers("UT", 4)),
    _of_step(STEPS["BEAM"]),
)


def offsets() -> dict[str, int]:
    """Position of every block's first number in the constant blob."""
    result, position = {}, 0
    for block in BLOCKS:
        result[block.name] = position
        position += block.shape[0] * block.shape[1]
    return result


CONSTANT_COUNT = sum(block.shape[0] * block.shape[1] for block in BLOCKS)
TABLE_SHAPE = (*magnet.BINS, magnet.COEFFICIENTS)


def formulas_hash() -> str:
    """Fingerprint of all formulas and of the layout, which a compiled kernel was made from."""
    layout = [(block.name, block.shape) for block in BLOCKS]
    magnet_forms = [
        sp.srepr(e) for e in (ut.LOCAL_QOP, magnet.U_X, magnet.U_Y, magnet.F, *magnet.WEIGHTS.values())
    ]
    text = repr(([step.formula_hash() for step in STEPS.values()], layout, magnet.PIECES, magnet_forms))
    return hashlib.sha256(text.encode()).hexdigest()
