"""The C++ reader takes what Python's takes, and refuses the same sets for the same reasons."""

import re
import subprocess
import tarfile
from pathlib import Path

import bad_sets
import pytest

from parkf.errors import ParkfError
from parkf.parameters import load

PROGRAM = r"""
#include <iostream>

#include "parkf.hpp"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    try {
      const auto set = parkf::ParameterSet::load(argv[i]);
      std::cout << "loaded " << set.constant[0] << ' ' << set.table.back() << ' ' << set.velo_sigma << '\n';
    } catch (const parkf::Error& error) {
      std::cout << error.what() << '\n';
    }
  }
}
"""


@pytest.fixture(scope="module")
def cpp_load(header, tmp_path_factory):
    """Load sets with the C++ reader, under the sanitizers; give a line for each."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "main.cpp").write_text(PROGRAM)
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-fsanitize=address,undefined"]
    build = [
        "g++",
        *options,
        "-fno-sanitize-recover=all",
        f"-I{header}",
        "main.cpp",
        "-o",
        "main",
        "-pthread",
    ]
    subprocess.run(build, cwd=folder, check=True)

    def run(*sets: Path) -> list[str]:
        done = subprocess.run(
            [folder / "main", *sets], capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.splitlines()

    return run


def python_message(path: Path) -> str:
    with pytest.raises(ParkfError) as caught:
        load(path)
    return str(caught.value)


def test_every_bad_set_is_refused_for_the_same_reason(tmp_path, parameters, cpp_load):
    reasons = bad_sets.make(parameters, tmp_path)
    for (path, reason), message in zip(reasons.items(), cpp_load(*reasons), strict=True):
        python = python_message(path)
        assert message.startswith(f"{path}/{reason}"), path.name
        if "not a JSON file" not in message:
            # What to do about it may be said in other words; place, got and expected are the same.
            assert re.split(" of forms|; ", message)[0] == re.split(" of forms|; ", python)[0]


def test_whole_sets_are_read(tmp_path, parameters, cpp_load):
    parameters.save(tmp_path / "one")
    parameters.save(tmp_path / "newer")
    bad_sets.edit(lambda c: c.update(format_version=4, news={"a": [1]}))(tmp_path / "newer")
    parameters.save(tmp_path / "older")
    bad_sets.edit(as_format_2)(tmp_path / "older")
    expected = f"loaded {parameters.constant[0]:.6g} {parameters.table.ravel()[-1]:.6g} 0.0125"
    folders = [tmp_path / name for name in ("one", "newer", "older")]
    assert cpp_load(*folders) == [expected] * 3
    assert all(load(folder).constant.tobytes() == parameters.constant.tobytes() for folder in folders)


def as_format_2(manifest):
    """What a manifest of format 2 lacks."""
    manifest["format_version"] = 2
    del manifest["configuration"]


def test_other_formulas_are_refused(tmp_path, parameters, cpp_load):
    parameters.save(tmp_path)
    bad_sets.edit(lambda c: c.update(formulas="0" * 64))(tmp_path)
    assert "formulas: got 000000000000…, expected" in cpp_load(tmp_path)[0]


def test_what_the_fuzzer_kept(tmp_path, parameters, cpp_load):
    """Both readers think the same of the inputs that led the fuzzer (fuzz.cpp) to new refusals."""
    with tarfile.open(Path(__file__).parent / "corpus.tar.xz") as corpus:
        manifests = {m.name: corpus.extractfile(m).read() for m in corpus.getmembers()}
    folders = [tmp_path / name for name in manifests]
    for folder, manifest in zip(folders, manifests.values(), strict=True):
        parameters.save(folder)
        (folder / "manifest.json").write_bytes(manifest)
    assert len(folders) > 30
    for folder, message in zip(folders, cpp_load(*folders), strict=True):
        # Fingerprints of formulas grow old; Python looks at them when it fits.
        if "formulas: got" not in message:
            python = python_message(folder)
            ending = ": not a JSON file"
            assert (ending in message) == (ending in python), message
            if ending not in message:
                assert re.split(" of forms|; ", message)[0] == re.split(" of forms|; ", python)[0]
