"""What the command line loads before it starts a command."""

import subprocess
import sys


def test_no_command_loads_numpy_before_the_process_is_prepared():
    """NumPy loads OpenBLAS, which then reads its threads and its kernels; last bits depend on both."""
    program = (
        "import sys, parkf.cli.main; print([n for n in ('numpy', 'scipy', 'pyarrow') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
