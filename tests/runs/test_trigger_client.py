"""`parkf params validate --client trigger` on the candidates of a run."""

import json
import subprocess
import sys
from pathlib import Path

PARKF = Path(sys.executable).with_name("parkf")
# The finished run has a registry of its own.
PARAMS = Path(__file__).parents[2] / "params"
PUBLISHED, BEFORE = (str(PARAMS / f"2026-run3-like-2-{revision}") for revision in ("r007", "r003"))


def ask(folder, *arguments):
    return subprocess.run(
        [PARKF, "params", "validate", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_published_set_is_measured_as_the_trigger_uses_it(finished):
    client = ("--client", "trigger", "--run", "results/smoke", "--before", BEFORE)
    done = ask(finished.folder, PUBLISHED, *client, "--json")
    assert done.returncode in (0, 1), done.stderr
    content = json.loads(done.stdout)
    assert content["client"] == "trigger"
    # There are few tracks, so the bounds around the scheme's known figures are wide.
    assert content["tracks"] > 300
    assert 1.4 < content["pull"] < 2.5
    assert 0.003 < content["core"] < 0.0055
    assert len(content["gates"]) == 5
    text = ask(finished.folder, PUBLISHED, *client)
    assert "exported and read back" in text.stdout
    assert text.stdout.rstrip().endswith("for the trigger")


def test_a_set_of_other_forms_is_refused(finished):
    done = ask(finished.folder, "results/smoke/set", "--client", "trigger")
    assert done.returncode == 1
    assert "forms 'improved', expected 'production'" in done.stderr
    assert "Traceback" not in done.stderr
