"""The exit codes of ``python -m parkf.stages``, and where its messages go."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("take_score", "--theirs", "in.txt", "--output", "out.txt"), 0),
        (("take_score", "--theirs", "none.txt", "--output", "out.txt"), 1),
        (("take_score", "--output", "out.txt"), 2),
        (("no_such_stage",), 2),
        ((), 2),
    ],
)
def test_a_stage_ends_with_a_code_and_a_message(tmp_path, words, code):
    (tmp_path / "in.txt").write_text("text")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "parkf.stages", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") == (code != 0)
    assert (tmp_path / "out.txt").exists() == (code == 0)
