"""Whatever the files contain, a reader returns a whole set or reports the fault."""

import json

import bad_sets
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parkf.io.errors import ParkfError
from parkf.params import load
from parkf.params.exchange import import_trigger
from parkf.params.exchange.trigger import export_trigger

reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PIECES = [b"{", b"}", b"[", b",", b'"', b"null", b"1e999", b"NaN", b"\\ud800", b"\xff", b"-", b"9" * 30]


@st.composite
def spoiled(draw, text: bytes) -> bytes:
    """A text with a few pieces inserted, replaced or dropped."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=4))
        text = text[:at] + piece + text[at + draw(st.integers(0, 200)) :]
    return text


def paths(content, place=()):
    """Paths of all values in a document, outermost first; of each list, only the first item."""
    yield place
    inner = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content[:1])
        if isinstance(content, list)
        else ()
    )
    for key, value in inner:
        yield from paths(value, (*place, key))


def manifest_of(folder, parameters):
    """Path of the manifest of a set in `folder`, which is saved once, and the manifest's bytes."""
    kept = folder / "kept.json"
    if not kept.exists():
        parameters.save(folder)
        kept.write_bytes((folder / "manifest.json").read_bytes())
    return folder / "manifest.json", kept.read_bytes()


@reuse
@given(st.data())
def test_manifests_with_spoiled_text(tmp_path, parameters, data):
    manifest, whole = manifest_of(tmp_path, parameters)
    # Half of the manifests keep their checksum, as after a disk fault; the others get a new one, as from
    # somebody who writes manifests.
    content = data.draw(spoiled(whole))
    manifest.write_bytes(bad_sets.renewed(content) if data.draw(st.booleans()) else content)
    _whole_or_refused(tmp_path, parameters)


@reuse
@given(st.data())
def test_manifests_with_something_else_somewhere(tmp_path, parameters, data):
    manifest, whole = manifest_of(tmp_path, parameters)
    content = json.loads(whole)
    *outer, last = data.draw(st.sampled_from(list(paths(content))[1:]))
    target = content
    for key in outer:
        target = target[key]
    target[last] = data.draw(JSON)
    manifest.write_bytes(bad_sets.renewed(json.dumps(content).encode()))
    _whole_or_refused(tmp_path, parameters)


def _whole_or_refused(folder, parameters):
    try:
        loaded = load(folder)
    except ParkfError as error:
        assert str(error).startswith(str(folder))  # noqa: PT017
    else:
        assert loaded.constant.tobytes() == parameters.constant.tobytes()


@pytest.mark.parametrize("name", ["params.json", "parkf.json"])
@settings(reuse, max_examples=10)
@given(st.data())
def test_the_trigger_s_files_with_spoiled_text(tmp_path, dipole, name, data):
    if not (tmp_path / "kept").exists():
        export_trigger(dipole, tmp_path / "kept")
        export_trigger(dipole, tmp_path / "spoiled")
    content = data.draw(spoiled((tmp_path / "kept" / name).read_bytes()))
    (tmp_path / "spoiled" / name).write_bytes(content)
    try:
        import_trigger(tmp_path / "spoiled")
    except ParkfError as error:
        assert str(error).startswith(str(tmp_path))  # noqa: PT017
    finally:
        (tmp_path / "spoiled" / name).write_bytes((tmp_path / "kept" / name).read_bytes())
