"""A process that is ready for Snakemake and parkf in jobs of Slurm: ``ready.py SOCKET PLUGIN...``."""

import gc
import socket
import sys
from importlib import import_module

from parkf.workflow.running.ready import serve
from snakemake.cli import get_argument_parser
from snakemake.cli import main as snakemake

from parkf.cli.main import app, program
from parkf.cli.main import main as parkf
from parkf.io.process_settings import prepare_process


def main() -> None:
    """Run the program that the first word names."""
    del sys.argv[0]
    (parkf if sys.argv[0] == "parkf" else snakemake)()


if __name__ == "__main__":
    gc.set_threshold(100_000)  # as runs start Snakemake
    prepare_process()
    program(app)
    get_argument_parser()  # finds the plug-ins
    import_module("parkf.workflow.running.rules")
    serve(socket.socket(fileno=int(sys.argv[1])), main)
