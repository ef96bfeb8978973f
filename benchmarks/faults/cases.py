"""What was tried, and what came of it; kept in a file, so that a benchmark that is stopped goes on."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parkf.files import write_json


@dataclass(frozen=True)
class Case:
    """One fault.

    Attributes
    ----------
    kind : str
        What was done: "kill", "flip", "disk full", …
    name : str
        Unique: where, and how.
    outcome : str
        What came of it, in words.
    survived : bool
        Whether the run has ended with the undisturbed bytes, or has said why not in one clear line.
    """

    kind: str
    name: str
    outcome: str
    survived: bool


class Journal:
    """All cases so far, in a JSON file that is written anew after each."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self._path = path
        self._about = about
        self.cases: list[Case] = []
        if path.exists():
            before = json.loads(path.read_text())
            if all(before.get(key) == value for key, value in about.items()):
                self.cases = [Case(**case) for case in before["cases"]]

    def __contains__(self, name: str) -> bool:
        return any(case.name == name for case in self.cases)

    def add(self, case: Case) -> None:
        """Keep a case."""
        self.cases.append(case)
        print(
            f"{'survived' if case.survived else 'FAILED  '} {case.kind}: {case.name}: {case.outcome}",
            flush=True,
        )
        kinds = sorted({case.kind for case in self.cases})
        write_json(
            self._path,
            {
                **self._about,
                "tried": len(self.cases),
                "survived": sum(case.survived for case in self.cases),
                "kinds": {
                    kind: {
                        "tried": sum(case.kind == kind for case in self.cases),
                        "survived": sum(case.kind == kind and case.survived for case in self.cases),
                    }
                    for kind in kinds
                },
                "cases": [asdict(case) for case in self.cases],
            },
        )
