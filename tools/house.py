"""Prints the rooms of the package (lines, floors, upward imports, circles) and draws them for the docs.

    python tools/house.py [--svg FILE]

A room is a package directly below ``parkf``. Its floor is one above the highest room that it imports. Imports
have to follow the contract in pyproject.toml (``tool.importlinter``); a test checks that.
"""

import argparse
import ast
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PACKAGE = "parkf"


@dataclass(frozen=True)
class House:
    """Rooms of the package and the imports between them.

    Attributes
    ----------
    lines : mapping of str to int
        Lines of Python by room.
    files : mapping of str to int
    parts : mapping of str to list of str
        Packages inside each room.
    purpose : mapping of str to str
        First line of each room's docstring.
    imports : mapping of str to set of str
        Rooms that each room imports.
    upwards : list of str
        Imports from a lower layer of the contract to a higher one, module by module.
    circles : list of str
        Groups of modules that import each other, in a loop of any length.
    """

    lines: Mapping[str, int]
    files: Mapping[str, int]
    parts: Mapping[str, list[str]]
    purpose: Mapping[str, str]
    imports: Mapping[str, set[str]]
    upwards: list[str]
    circles: list[str]

    def floor(self, room: str) -> int:
        """Return the floor of a room; the ground floor is 1."""
        return 1 + max((self.floor(below) for below in self.imports[room]), default=0)

    def floors(self) -> list[list[str]]:
        """Return the rooms floor by floor, the ground floor first."""
        of = {room: self.floor(room) for room in self.lines}
        return [[room for room in of if of[room] == number] for number in range(1, max(of.values()) + 1)]

    def direct(self, room: str) -> set[str]:
        """Return the imports of a room that no other import of it implies."""
        return {
            below
            for below in self.imports[room]
            if not any(below in self._reach(other) for other in self.imports[room])
        }

    def _reach(self, room: str) -> set[str]:
        return self.imports[room].union(*(self._reach(below) for below in self.imports[room]), set())


def layers() -> list[set[str]]:
    """Return the rooms of each layer of the contract, the highest first."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    return [set(layer.replace("|", " ").split()) for layer in contract["layers"]]


def survey() -> House:
    """Measure the house from the imports in the code, including those inside functions."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    rooms = sorted(child.rpartition(".")[2] for child in graph.find_children(PACKAGE) if _is_package(child))
    pairs = [(a, b) for a in graph.modules for b in graph.find_modules_directly_imported_by(a)]
    between = {(a, b) for a, b in pairs if _room(a) in rooms and _room(b) in rooms and _room(a) != _room(b)}
    height = {room: number for number, layer in enumerate(reversed(layers())) for room in layer}
    upwards = [f"{a} -> {b}" for a, b in sorted(between) if height[_room(a)] <= height[_room(b)]]
    imports = {
        room: {_room(b) for a, b in between if _room(a) == room and height[_room(b)] < height[room]}
        for room in rooms
    }
    files = {room: sorted((ROOT / "src" / PACKAGE / room).rglob("*.py")) for room in rooms}
    return House(
        lines={
            room: sum(len(file.read_text("utf-8").splitlines()) for file in files[room]) for room in rooms
        },
        files={room: len(files[room]) for room in rooms},
        parts={room: _parts(room) for room in rooms},
        purpose={room: _purpose(room) for room in rooms},
        imports=imports,
        upwards=upwards,
        circles=_circles({a: {b for x, b in pairs if x == a} for a in graph.modules}),
    )


def _is_package(module: str) -> bool:
    return (ROOT / "src" / module.replace(".", "/") / "__init__.py").is_file()


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _parts(room: str) -> list[str]:
    folder = ROOT / "src" / PACKAGE / room
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


def _purpose(room: str) -> str:
    text = (ROOT / "src" / PACKAGE / room / "__init__.py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def _circles(imports: Mapping[str, set[str]]) -> list[str]:
    """Name each group of modules in which every module imports every other one, directly or indirectly."""
    reach: dict[str, set[str]] = {}
    for module in imports:
        found: set[str] = set()
        waiting = [module]
        while waiting:
            for below in imports[waiting.pop()] - found:
                found.add(below)
                waiting.append(below)
        reach[module] = found
    groups = {
        tuple(sorted(other for other in reach if other in reach[module] and module in reach[other]))
        for module in reach
        if module in reach[module]
    }
    return [" <-> ".join(group) for group in sorted(groups)]


_WIDTH, _HEIGHT, _GAP = 900, 62, 34
_STYLE = (
    "rect{fill:#2b7bd9;fill-opacity:.12;stroke:#2b7bd9} path{stroke:#888;fill:none;marker-end:url(#head)}"
    "text{font:13px sans-serif;text-anchor:middle;fill:#888} .name{font-weight:bold;font-size:16px}"
)
_HEAD = (
    '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto">'
    '<path d="M0 0L8 4L0 8z" style="fill:#888;stroke:none;marker-end:none"/></marker></defs>'
)


def drawing(house: House) -> str:
    """Draw the house as SVG, floor by floor: the rooms, their packages, and their imports.

    An import that follows from two others is left out. Numbers of lines are left out, too: the drawing
    changes only where the rooms do.
    """
    floors = house.floors()
    places = {
        room: (_WIDTH / len(rooms) * (number + 0.5), (len(floors) - 1 - floor) * (_HEIGHT + _GAP) + 4)
        for floor, rooms in enumerate(floors)
        for number, room in enumerate(rooms)
    }
    width = {room: min(_WIDTH / len(rooms) - 16, 420) for rooms in floors for room in rooms}
    boxes = [_box(room, house.parts[room], *places[room], width[room]) for room in house.lines]
    arrows = [
        _arrow(places[room], places[below]) for room in house.lines for below in sorted(house.direct(room))
    ]
    height = len(floors) * (_HEIGHT + _GAP) - _GAP + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-label="Rooms of parkf and their imports"><style>{_STYLE}</style>{_HEAD}'
        f"{''.join(arrows + boxes)}</svg>\n"
    )


def _box(room: str, parts: list[str], x: float, y: float, width: float) -> str:
    return (
        f'<rect x="{x - width / 2:.0f}" y="{y}" width="{width:.0f}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x:.0f}" y="{y + 26}" class="name">{room}</text>'
        f'<text x="{x:.0f}" y="{y + 47}">{", ".join(parts)}</text>'
    )


def _arrow(begin: tuple[float, float], end: tuple[float, float]) -> str:
    return f'<path d="M{begin[0]:.0f} {begin[1] + _HEIGHT}L{end[0]:.0f} {end[1] - 3}"/>'


def main() -> None:
    """Print the house."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", type=Path, help="file to draw the house to")
    wanted = parser.parse_args().svg
    house = survey()
    for number, rooms in reversed(list(enumerate(house.floors(), 1))):
        for room in rooms:
            print(f"floor {number}  {room:<11} {house.lines[room]:6,} lines {house.files[room]:3} files")
    print(f"{len(house.lines)} rooms, {len(house.floors())} floors, {sum(house.lines.values()):,} lines")
    print(f"{len(house.upwards)} imports upwards", *house.upwards, sep="\n    ")
    print(f"{len(house.circles)} circles", *house.circles, sep="\n    ")
    if wanted:
        wanted.write_text(drawing(house), "utf-8")


if __name__ == "__main__":
    main()
