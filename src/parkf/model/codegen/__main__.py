"""Write C++ headers and layouts, a folder for each set of forms that the kernel is built for.

``python -m parkf.model.codegen <published layouts> <folder>``. Without the folder it prints the names of the
sets of forms. Both fail if today's formulas differ from those published under the version of their layout.
"""

import sys
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import replacing, write_sealed
from parkf.model.codegen.cpp_slices import slices_header
from parkf.model.codegen.header import OPENING, by_name_header, kernel_header, list_header
from parkf.model.layout.built import LAYOUT_FILE
from parkf.model.steps.frozen import document, kernel_forms


def main() -> None:
    """Run the command line."""
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m parkf.model.codegen <published layouts> [<folder>]")
    try:
        kernel = kernel_forms(Path(sys.argv[1]))
        if len(sys.argv) == 2:
            print(";".join(kernel))
            return
        folder = Path(sys.argv[2])
        _write(folder / "all_forms.hpp", list_header(kernel))
        _write(folder / "slices_generated.hpp", slices_header(OPENING))
        for name, forms in kernel.items():
            _write(folder / name / "steps_generated.hpp", kernel_header(forms, name))
            _write(folder / name / "steps_by_name.hpp", by_name_header(forms))
            write_sealed(folder / name / LAYOUT_FILE, document(forms))
    except ParkfError as error:
        sys.exit(str(error))


def _write(path: Path, text: str) -> None:
    # The build compiles a file again only if its time has changed.
    if path.is_file() and path.read_text("utf-8") == text:
        return
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
