"""Run a stage: ``python -m parkf.stages NAME --argument value ... [--code KEY]``.

Exits with 0, with 1 after a message about what is wrong with a file, and with 2 for wrong arguments.
"""

import gc
import sys

from parkf.io.fingerprints.sources import sources_state
from parkf.io.leader import follow
from parkf.io.process_settings import prepare_process


def run(words: list[str]) -> int:
    """Run the stage that the words call, and return the exit code."""
    follow()
    prepare_process()
    # Whatever is imported from now on must be what the sources are now.
    state = sources_state()
    from parkf.io.explained import explained
    from parkf.io.terminal import say
    from parkf.stages.call import UsageError, read_call
    from parkf.stages.run import run_stage

    name, *rest = words or [""]
    code = None
    if "--code" in rest[:-1]:
        place = rest.index("--code")
        code = rest[place + 1]
        del rest[place : place + 2]
    try:
        run_stage(read_call(name, rest), code, state)
        sys.stdout.flush()
    except UsageError as error:
        say(f"error: python -m parkf.stages {error}", file=sys.stderr)
        return 2
    except Exception as error:
        message = explained(error)
        if message is None:
            raise
        say(f"error: {message}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = run(sys.argv[1:])
    # Otherwise the interpreter searches all modules for garbage at its exit, for up to 0.3 s.
    gc.freeze()
    sys.exit(code)
