"""One C++17 header without dependencies, for other fitters: it loads a set and runs the kernel."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from parkf import __version__
from parkf.fit.source import KERNEL_FOLDER, expanded, text_in
from parkf.io.files import read_json
from parkf.io.option_types import FORMS_NAMES
from parkf.model.layout.built import layout_files, layout_in
from parkf.params import binary_form, electron, slices

_HERE = Path(__file__).parent
_FOLDERS = (_HERE, KERNEL_FOLDER)
# Headers that all sets of forms have in common, and names of those in `fit` that include formulas.
_COMMON = ("numbers/number.hpp", "numbers/lanes.hpp", "fit.hpp")
_OWN = ("smoother", "fit_kind", "trigger", "score", "magnet_lanes", "slices_lanes", "magnet_block")


def cpp_header() -> str:
    """Return the header for all sets of forms of the installed kernel, also of old layouts."""
    # The kernel's names for sets of forms are the names of its folders.
    kernel = {
        path.parent.name: layout_in(read_json(path)) for name in FORMS_NAMES for path in layout_files(name)
    }
    shared: set[str] = set()
    common = {file: expanded(file, _FOLDERS, shared) for file in _COMMON}
    own = {}
    for name in kernel:
        # Code of a set of forms is in its namespace, and appears once for each set.
        seen, folders = set(shared), (*_FOLDERS, KERNEL_FOLDER / name)
        own[name] = {part: expanded(f"fit/{part}.hpp", folders, seen) for part in _OWN}
        shared |= {file for file in seen if "PARKF_FORMS" not in text_in(folders, file)}
    templates = Environment(loader=FileSystemLoader(_HERE), undefined=StrictUndefined, trim_blocks=True)
    text = templates.get_template("header.hpp.jinja").render(
        version=__version__,
        binary_format=binary_form.FORMAT,
        slices_version=slices.VERSION,
        electron_version=electron.VERSION,
        kernel=kernel,
        common=common,
        own=own,
    )
    return text + "\n"
