"""Counts how many mechanisms there are for one thing, and lines of code; exits with 1 above a bar.

    python tools/mechanisms.py

- Private names of Snakemake: imports of its packages, and attributes of ``workflow`` in rules, but for what
  its documentation names.
- Ledgers: modules that compute digests of files and write files, in the rooms that run stages. A product with
  digests in it, as a set's manifest, is no ledger; Snakemake's own records are not counted.
- Validators: modules that import a validator, or interpret the keywords of a JSON Schema.
- Own cryptography: lines of files that implement signatures or SHA-512.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BARS = {
    "private names of Snakemake": 0,
    "ledgers": 1,
    "validators": 1,
    "lines of own cryptography": 0,
    "lines of Python in src/parkf": 40_500,
    "lines of C++": 12_600,
    "lines of tests": 35_000,
    "lines of tools and benchmarks": 9_000,
}
_SNAKEMAKE = re.compile(
    r"^\s*(?:from|import) (snakemake\w*(?:\.\w+)*)|(?<![\w./])(workflow\.\w+)\b(?!/)", re.MULTILINE
)
_DOCUMENTED = {"snakemake.utils", "snakemake.script", "workflow.basedir", "workflow.cores"}
_DIGEST = re.compile(r"\b(?:content_of|fingerprint|stamp_of|sha256|file_digest)\(")
_WRITE = re.compile(r"\b(?:write|write_text|write_bytes|write_json)\(")
# The functions for this themselves, and a module that compares digests and writes a configuration.
_NO_LEDGERS = ("src/parkf/io/files.py", "src/parkf/workflow/reproduce.py")
_VALIDATOR = re.compile(
    r"^\s*(?:from|import) \w*(?:jsonschema|cerberus|marshmallow)|additionalProperties", re.MULTILINE
)
_CRYPTOGRAPHY = re.compile(
    r"SSHSIG|\b(?:def|namespace|inline|struct)\b[^;{\n]*(?:sha512|ed25519)", re.IGNORECASE
)


def _texts(*patterns: str, but: tuple[str, ...] = ()) -> dict[str, str]:
    """Read files by their paths in the checkout, without code of others and what was built."""
    paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()})
    names = {str(path.relative_to(ROOT)): path for path in paths if not {"vendor", "build"} & {*path.parts}}
    return {name: path.read_text("utf-8") for name, path in names.items() if name not in but}


def mechanisms() -> dict[str, list[str]]:
    """Find the mechanisms: the name or the file of each, and of each line of own cryptography."""
    rules, python = _texts("Snakefile", "workflow/**/*.smk"), _texts("src/parkf/**/*.py")
    code = python | _texts("src/**/*.cpp", "src/**/*.hpp")
    rooms = _texts(*(f"src/parkf/{room}/**/*.py" for room in ("io", "stages", "workflow")), but=_NO_LEDGERS)
    names = {
        f"{file}: {one}"
        for file, text in (rules | python).items()
        for imported, attribute in _SNAKEMAKE.findall(text)
        if (one := imported or (attribute if file in rules else "")) and one not in _DOCUMENTED
    }
    own = {file: text for file, text in code.items() if _CRYPTOGRAPHY.search(text)}
    return {
        "private names of Snakemake": sorted(names),
        "ledgers": [file for file, text in rooms.items() if _DIGEST.search(text) and _WRITE.search(text)],
        "validators": [file for file, text in code.items() if _VALIDATOR.search(text)],
        "lines of own cryptography": [file for file, text in own.items() for _ in text.splitlines()],
    }


def lines() -> dict[str, int]:
    """Count the lines of each part of the project."""
    kernel = [
        f"{place}/**/*.{end}"
        for place in ("src/kernel", "src/parkf/fit/consumer")
        for end in ("cpp", "hpp", "cu")
    ]
    parts = (["src/parkf/**/*.py"], kernel, ["tests/**/*.py"], ["tools/**/*.py", "benchmarks/**/*.py"])
    return {
        name: sum(len(text.splitlines()) for text in _texts(*patterns).values())
        for name, patterns in zip(list(BARS)[4:], parts, strict=True)
    }


def main() -> int:
    """Print each count with its bar, and where the mechanisms are; return whether one is above its bar."""
    places = mechanisms()
    counts = {name: len(found) for name, found in places.items()} | lines()
    for name, count in counts.items():
        print(f"{name:32}{count:7,}  at most {BARS[name]:,}", *sorted({*places.get(name, ())}), sep="\n    ")
    return int(any(count > BARS[name] for name, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
