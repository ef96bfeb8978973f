"""Ask a process that is ready for jobs to do one: ``python -I -S ask.py SOCKET WORD...``.

It takes the place of ``parkf WORD...`` in the shell of a job, and ends with the same exit code. It imports
nothing of the package, and so starts in a hundredth of a second.
"""

import json
import os
import socket
import sys
from pathlib import Path


def main() -> None:
    """Send the words, environment, folder and outputs of this process, and exit as the job does."""
    place, *words = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(place)
        except OSError:
            # Nobody is ready: this process becomes parkf itself.
            os.execvp("parkf", ["parkf", *words])
        request = {"words": words, "environment": dict(os.environ), "folder": str(Path.cwd())}
        # JSON may begin with a blank, and descriptors need a byte to go with.
        socket.send_fds(connection, [b" "], [sys.stdout.fileno(), sys.stderr.fileno()])
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(16)
    sys.exit(
        int(answer) if answer else f"error: parkf {words[0]}: the process that was ready for jobs has ended"
    )


if __name__ == "__main__":
    main()
