"""Write the generated C++ headers: ``python -m parkf.codegen <folder>``."""

import sys
from pathlib import Path

from parkf.codegen.header import by_name_header, kernel_header
from parkf.files import replacing


def main() -> None:
    """Write the headers to the folder given on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m parkf.codegen <folder>")
    for name, text in (("steps_generated.hpp", kernel_header()), ("steps_by_name.hpp", by_name_header())):
        with replacing(Path(sys.argv[1]) / name) as temporary:
            temporary.write_text(text)


if __name__ == "__main__":
    main()
