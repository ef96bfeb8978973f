"""The C++ reader accepts the same sets as Python's, and refuses the others for the same reasons."""

import re
import subprocess
import tarfile
from pathlib import Path

import bad_sets
import pytest

from parkf.io.errors import ParkfError
from parkf.params import load

FUZZ = Path(__file__).with_name("fuzz.cpp")
# Both programs are one, because the header compiles slowly.
PROGRAM = r"""
#define main replay
#include "fuzz.cpp"
#undef main

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string("replay")) return replay(argc - 1, argv + 1);
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
def reader(header, tmp_path_factory) -> Path:
    """Compile the C++ reader with the sanitizers."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "main.cpp").write_text(PROGRAM)
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    defined = ["-DPARKF_CALLS", "-DPARKF_REPLAY"]
    command = ["g++", "-std=c++17", *warnings, *sanitizers, *defined, f"-I{header}", f"-I{FUZZ.parent}"]
    subprocess.run([*command, folder / "main.cpp", "-o", folder / "main", "-pthread"], check=True)
    return folder / "main"


@pytest.fixture
def cpp_load(reader):
    """Load sets with the C++ reader; return a line for each set."""

    def run(*sets: Path) -> list[str]:
        done = subprocess.run([reader, *sets], capture_output=True, text=True, check=True, timeout=60)
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
            # The advice may be worded differently; location, found and expected value must be the same.
            assert re.split(" of forms|; ", message)[0] == re.split(" of forms|; ", python)[0]


def test_whole_sets_are_read(tmp_path, parameters, cpp_load):
    parameters.save(tmp_path / "one")
    parameters.save(tmp_path / "newer")
    bad_sets.edit(lambda c: c.update(format_version=10, news={"a": [1]}))(tmp_path / "newer")
    parameters.save(tmp_path / "older")
    bad_sets.edit(as_format_2)(tmp_path / "older")
    expected = f"loaded {parameters.constant[0]:.6g} {parameters.table.ravel()[-1]:.6g} 0.0125"
    folders = [tmp_path / name for name in ("one", "newer", "older")]
    assert cpp_load(*folders) == [expected] * 3
    assert all(load(folder).constant.tobytes() == parameters.constant.tobytes() for folder in folders)


def as_format_2(manifest):
    """Remove from a manifest the entries that format 2 lacks."""
    manifest["format_version"] = 2
    del manifest["configuration"], manifest["checksum"]


def test_other_formulas_are_refused(tmp_path, parameters, cpp_load):
    parameters.save(tmp_path)
    bad_sets.edit(lambda c: c.update(formulas="0" * 64))(tmp_path)
    assert "formulas: got 000000000000…, expected" in cpp_load(tmp_path)[0]


def reason(message: str) -> str:
    """Remove the value found from a message: C++ prints it as written, Python as read (1e9 and 1e+09)."""
    return re.sub("got .*, expected", "got …, expected", re.split(" of forms|; ", message)[0])


def test_what_the_fuzzer_kept(tmp_path, reader, parameters):
    """Both readers give the same verdict on the inputs with which libFuzzer (fuzz.cpp) reached new code."""
    (tmp_path / "corpus").mkdir()
    with tarfile.open(FUZZ.with_name("corpus.tar.xz")) as corpus:
        files = {m.name: corpus.extractfile(m).read() for m in corpus.getmembers()}
    # Inputs that were valid then must be valid now.
    today = f'"formulas":"{parameters.manifest.formulas}"'.encode()
    for name, content in files.items():
        (tmp_path / "corpus" / name).write_bytes(re.sub(rb'"formulas": ?"[0-9a-f]{64}"', today, content))
    parameters.save(tmp_path / "set")
    paths = sorted((tmp_path / "corpus").iterdir())
    said = subprocess.run(
        [reader, "replay", *paths],
        env={"PARKF_FUZZ_SET": str(tmp_path / "set")},
        capture_output=True,
        check=True,
    )
    messages = said.stdout.decode(errors="ignore").split("\n")[:-1]
    assert len(messages) == len(paths) > 400
    for path, message in zip(paths, messages, strict=True):
        (tmp_path / "set/manifest.json").write_bytes(path.read_bytes())
        try:
            load(tmp_path / "set")
            python = "loaded"
        except ParkfError as error:
            python = str(error).removeprefix(str(tmp_path / "set")).replace("\n", " ")
        if "formulas: got" in message:
            continue  # Python checks formulas only when it fits.
        if "not a JSON file" in message:
            assert "not a JSON file" in python, path.name
        else:
            assert reason(message) == reason(python), path.name
    assert messages.count("loaded") >= 2
    print(f"{len(paths)} inputs, {messages.count('loaded')} of them whole sets")
