"""Measures what a wheel takes of disk and time, alone and with the extra `train`: installation, first tracks.

    python -m tools.footprint WHEEL [--again WHEEL] [--json benchmarks/results/footprint.json]

`--again` is a second build, in another folder with the same SOURCE_DATE_EPOCH, whose bytes are compared. Each
installation goes to a new virtual environment. Sizes are those of its packages without pip, after the first
fit. Times include the download of packages that pip has not kept.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST_ALONE, SLOWEST = 150, 120
"""MB of the wheel alone, and seconds to the first track."""


def first_tracks() -> str:
    """Return the program of docs/how-to/install.md that fits the first tracks."""
    page = (ROOT / "docs/how-to/install.md").read_text("utf-8")
    return page.partition("python - <<'END'\n")[2].partition("END\n")[0]


def megabytes(folder: Path) -> float:
    """Sum the sizes of the files in a folder, without pip's own."""
    own = {"pip", "setuptools", "pkg_resources"}
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    kept = (path for path in files if path.relative_to(folder).parts[0] not in own)
    return sum(path.stat().st_size for path in kept) / 1e6


def measure(wheel: Path, extra: str) -> tuple[float, float, float]:
    """Return seconds to install and then to the first tracks, and MB."""
    with tempfile.TemporaryDirectory() as name:
        python = Path(name) / "bin/python"
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        begin = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel.resolve()}{extra}"], check=True)
        installed = time.perf_counter()
        subprocess.run([python, "-c", first_tracks()], check=True, cwd=name, stdout=subprocess.DEVNULL)
        fitted = time.perf_counter()
        (packages,) = Path(name).glob("lib/python*/site-packages")
        return installed - begin, fitted - begin, megabytes(packages)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--again", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    measured: dict[str, float | bool] = {"wheel [MB]": round(given.wheel.stat().st_size / 1e6, 1)}
    if given.again is not None:
        measured["a second build has the same bytes"] = given.wheel.read_bytes() == given.again.read_bytes()
    for what, extra in (("alone", ""), ("with [train]", "[train]")):
        installed, fitted, size = measure(given.wheel, extra)
        measured |= {
            f"{what}: installed [s]": round(installed, 1),
            f"{what}: to the first tracks [s] (at most {SLOWEST})": round(fitted, 1),
            f"{what}: size [MB]" + (f" (at most {LARGEST_ALONE})" if not extra else ""): round(size),
        }
    for what, value in measured.items():
        print(f"{what:55}{value}")
    if given.json is not None:
        given.json.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
