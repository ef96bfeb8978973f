"""Write C++ headers and layout, a folder for each set of forms: ``python -m parkf.codegen <folder>``."""

import sys
from pathlib import Path

from parkf.codegen.header import by_name_header, kernel_header
from parkf.files import replacing
from parkf.layout.built import LAYOUT_FILE, layout_text
from parkf.steps import FORMS


def main() -> None:
    """Write the files to the folder given on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m parkf.codegen <folder>")
    for name, forms in FORMS.items():
        files = {
            "steps_generated.hpp": kernel_header(forms),
            "steps_by_name.hpp": by_name_header(forms),
            LAYOUT_FILE: layout_text(forms.layout),
        }
        for file, text in files.items():
            with replacing(Path(sys.argv[1]) / name / file) as temporary:
                temporary.write_text(text)


if __name__ == "__main__":
    main()
