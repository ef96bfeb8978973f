"""Tables on a terminal."""

from collections.abc import Sequence


def aligned(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lay out rows in columns: numbers to the right, empty cells for None."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [bool(rows) and all(_number(row[i]) for row in rows) for i in range(len(header))]
    lines = []
    for row in (header, *cells):
        pairs = zip(row, widths, right, strict=True)
        padded = (cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in pairs)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _number(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return cell is None
    return True
