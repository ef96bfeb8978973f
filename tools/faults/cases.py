"""The cases that were tried and their outcomes, in a file, so that a benchmark that was stopped continues."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from parkf.io.files import write_json


@dataclass(frozen=True)
class Case:
    """One fault.

    Attributes
    ----------
    kind : str
        Kind of fault: "kill", "flip", "disk full", …
    name : str
        Unique name: where and how the fault happened.
    outcome : str
        Description of the outcome.
    survived : bool
        Whether the run ended with the undisturbed bytes, or gave the reason in one clear line.
    code : str
        Fingerprint of the package's source with which the case was tried.
    """

    kind: str
    name: str
    outcome: str
    survived: bool
    code: str = ""


class Journal:
    """All cases so far, in a JSON file that is written again after each case.

    Parameters
    ----------
    path : Path
        The file. Its cases are kept if they belong to the same plan.
    about : dict
        The plan.
    code : str
        Fingerprint of the package's source. Cases that did not survive with another source are tried again;
        the file keeps them under ``failed_before``.
    """

    def __init__(self, path: Path, about: dict[str, Any], code: str) -> None:
        self._path = path
        self._about = about
        self._code = code
        self.cases: list[Case] = []
        self._failed_before: list[Case] = []
        before = json.loads(path.read_text()) if path.exists() else {}
        if before and all(before.get(key) == value for key, value in about.items()):
            self._failed_before = [Case(**case) for case in before["failed_before"]]
            for case in (Case(**case) for case in before["cases"]):
                again = not case.survived and case.code != code
                (self._failed_before if again else self.cases).append(case)

    def __contains__(self, name: str) -> bool:
        return any(case.name == name for case in self.cases)

    def add(self, case: Case) -> None:
        """Keep a case."""
        self.cases.append(replace(case, code=self._code))
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
                "failed_before": [asdict(case) for case in self._failed_before],
            },
        )
