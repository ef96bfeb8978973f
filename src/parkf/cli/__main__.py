"""The program ``parkf``: its command line, begun so that an interrupt and closed streams are no errors."""

import os
import sys


def main() -> None:
    """Run the command line; an interrupt before its first command ends it with one line and exit code 130."""
    try:
        _open_streams()
        # Imported here, because the import takes long enough to be interrupted.
        from parkf.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


def _open_streams() -> None:
    """Let streams that are closed lead nowhere; a file would otherwise get their numbers, and their text."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # The system gives the lowest free number.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


if __name__ == "__main__":
    main()
