"""What the command line loads before it starts a command."""

import os
import subprocess
import sys

import pytest

INTERRUPTED = """
import sys
from types import SimpleNamespace
def find_spec(name, *_):
    if name == "parkf.cli.main":
        raise KeyboardInterrupt
sys.meta_path.insert(0, SimpleNamespace(find_spec=find_spec))
"""


def test_no_command_loads_numpy_before_the_process_is_prepared():
    """NumPy loads OpenBLAS, which then reads its threads and its kernels; last bits depend on both."""
    program = (
        "import sys, parkf.cli.main; print([n for n in ('numpy', 'scipy', 'pyarrow') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_interrupt_while_modules_are_imported_is_one_line():
    program = f"{INTERRUPTED}from parkf.cli.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_works_with_closed_streams(tmp_path, closed):
    """The first file that a command opens must not take the number of a stream, and its text."""
    words = [sys.executable, "-m", "parkf.cli", "field", "data/field/dipole.json", tmp_path / "field.npz"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words, "--spacing", "500"]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "field.npz").read_bytes()[:2] == b"PK"
    assert done.stderr == ("" if "2" in closed else f"{tmp_path}/field.npz: 57.0 kB written\n")


@pytest.mark.parametrize(
    ("settings", "cache"),
    [
        ({"HOME": "{}/home"}, None),
        ({"HOME": "/proc/nowhere"}, "{}/results/.cache"),
        ({"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "{}/own"}, "{}/own"),
        ({"HOME": "{}/file", "XDG_CACHE_HOME": "relative"}, "{}/results/.cache"),
    ],
)
def test_caches_lie_with_the_results_where_home_cannot_be_written(tmp_path, settings, cache):
    (tmp_path / "file").touch()
    given = {name: value.format(tmp_path) for name, value in settings.items()}
    others = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    program = (
        "import os; from parkf.io.process_settings import prepare_process as go; go();"
        "print(os.environ.get('XDG_CACHE_HOME'))"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, env=others | given, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(cache and cache.format(tmp_path))
    assert not (tmp_path / "results").exists()
