"""Manifests are read as they were written; what is wrong in one is named with its line."""

import bad_sets
import pytest

from parkf.io.errors import ParkfError
from parkf.params.manifest import FORMAT_VERSION, read_manifest, write_manifest


def test_a_manifest_is_read_as_it_was_written(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    assert read_manifest(path) == manifest


def test_mistakes_have_their_line_and_what_was_meant(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    text = path.read_text().replace('"beam_x": ', '"beam_x": "1", "bean_x": ').replace('"seeds"', '"sedes"')
    path.write_bytes(bad_sets.renewed(text.encode()))
    with pytest.raises(ParkfError) as caught:
        read_manifest(path)
    lines = str(caught.value).splitlines()
    numbers = [1 + text[: text.index(name)].count("\n") for name in ('"beam_x"', '"bean_x"', '"sedes"')]
    assert lines == [
        f"{path}:{numbers[0]}: constants.beam_x: got the text '1', expected a number (x of the beam line,"
        " mm.); write 1, without quotes",
        f"{path}:{numbers[1]}: constants.bean_x: unknown key 'bean_x'; did you mean 'beam_x'?",
        f"{path}:{numbers[2]}: sedes: unknown key 'sedes'; did you mean 'seeds'?; get the set again",
    ]


def test_a_manifest_for_this_reader_is_read(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    bad_sets.edit(lambda content: content.update(minimum_reader=FORMAT_VERSION))(tmp_path)
    assert read_manifest(path).constants == manifest.constants


def test_numbers_that_json_does_not_have_are_not_written(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    before = path.read_bytes()
    constants = manifest.constants.model_copy(update={"beam_x": float("nan")})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_manifest(path, manifest.model_copy(update={"constants": constants}))
    assert path.read_bytes() == before
