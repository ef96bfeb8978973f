"""Wrong outputs are refused before a command begins, and nothing is written."""

import subprocess
import sys
from pathlib import Path

import pytest

PARKF = Path(sys.executable).with_name("parkf")


def parkf(folder, *arguments):
    done = subprocess.run([PARKF, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.yaml").write_text("text")
    return tmp_path


@pytest.mark.parametrize("output", ["a.yaml", "./a.yaml", "link.yaml"])
def test_an_input_is_no_output(folder, output):
    (folder / "link.yaml").symlink_to("a.yaml")
    code, said = parkf(folder, "fit", "2026-run3-like-2-r009", "a.yaml", output)
    assert code == 1
    assert said.startswith(f"error: parkf fit: {Path(output)} is an input (candidates)")
    assert (folder / "a.yaml").read_text() == "text"


def test_a_command_of_a_group_is_guarded_too(folder):
    code, said = parkf(folder, "import", "field", "a.yaml", "a.yaml")
    assert code == 1
    assert "is an input" in said


def test_a_folder_is_not_made_for_a_file(folder):
    code, said = parkf(folder, "fit", "2026-run3-like-2-r009", "a.yaml", "there/fitted.parquet")
    assert code == 1
    assert (
        said == "error: parkf fit: there: no such folder, expected a folder; make it, or correct the output\n"
    )
    assert not (folder / "there").exists()


def test_a_file_is_no_set(folder):
    code, said = parkf(folder, "fit", "a.yaml", "2026-run3-like-2-r009", "fitted.parquet")
    assert code == 1
    assert said == "error: a.yaml: a file, expected a version or the folder of a set; name that first\n"
