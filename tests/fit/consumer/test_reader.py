"""The C++ header reads the sets that Python exports, by their digest, and refuses everything else."""

import hashlib
import struct
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.params import claims, load
from parkf.params.binary_form import binary_form, digest
from parkf.params.manifest import Gate
from parkf.params.publisher import Publisher
from parkf.params.registry import Registry

from ...sets import random_set

ROOT = Path(__file__).parents[3]
PUBLISHED = Registry(ROOT / "params")
GATES = [Gate(what="ghosts", measured="25 %", bar="40 %", met=True)]
# Arguments are pairs of a file and the digest that it must have; "any" parses whatever is there.
PROGRAM = r"""
#include <iostream>
#include "parkf.hpp"
#define main fuzz
#include "fuzz.cpp"
#undef main

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    try {
      const std::string sha256 = argv[i + 1];
      const auto set = sha256 == "any" ? parkf::ParameterSet::parse(parkf::read_file(argv[i]), "set")
                                       : parkf::ParameterSet::load(argv[i], sha256);
      std::cout.precision(9);
      std::cout << "loaded " << set.constant[0] << ' ' << set.table.back() << ' ' << set.velo_sigma << ' '
                << set.velo_loss << ' ' << set.score.size() << ' ' << set.slices.numbers.size() << ' '
                << set.electron.size() << ' ' << set.manifest.size() << ' ' << set.version << '\n';
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
    # Sums over a megabyte of each file: unoptimised, they would take longer than the compiler does.
    sanitizers = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["g++", "-std=c++17", *warnings, *sanitizers, "-DPARKF_CALLS", f"-I{header}"]
    command += [f"-I{Path(__file__).parent}", folder / "main.cpp", "-o", folder / "main", "-pthread"]
    subprocess.run(command, check=True)
    return folder / "main"


@pytest.fixture
def cpp_load(reader):
    """Load files with the C++ reader, each with the digest that it must have; return a line for each."""

    def run(*pairs) -> list[str]:
        words = [word for pair in pairs for word in pair]
        done = subprocess.run([reader, *words], capture_output=True, text=True, check=True, timeout=120)
        return done.stdout.splitlines()

    return run


@pytest.fixture
def form(parameters, tmp_path) -> bytes:
    """The binary form of a whole set."""
    parameters.save(tmp_path / "whole")
    return load(tmp_path / "whole").form


@pytest.mark.parametrize("version", PUBLISHED.versions())
def test_published_sets_are_read_by_the_digest_of_the_index(version, cpp_load, tmp_path):
    one = load(PUBLISHED.path(version), withdrawn=True)
    content = one.form
    (tmp_path / "set.parkf").write_bytes(content)
    said = cpp_load((tmp_path / "set.parkf", PUBLISHED.index().sets[version].sha256))
    numbers = (one.constant[0], one.table.ravel()[-1], one.manifest.constants.velo_sigma)
    counts = [0 if part is None else part.size for part in (one.score and one.score.numbers,)]
    counts += [0 if one.slices is None else one.slices.numbers.size]
    counts += [0 if one.electron is None else len(one.electron)]
    counts += [(PUBLISHED.path(version) / "manifest.json").stat().st_size]
    shown = [f"{number:.9g}" for number in (*numbers, one.manifest.constants.velo_loss)]
    assert said == [" ".join(["loaded", *shown, *map(str, counts), version])]


def test_the_form_is_as_described(parameters, form, tmp_path):
    """Read by hand what :mod:`parkf.params.binary_form` describes."""
    manifest = (tmp_path / "whole/manifest.json").read_bytes()
    formulas = parameters.manifest.formulas.encode()
    begin = b"PARKFSET" + struct.pack("<II", 1, 0) + struct.pack("<I", 10) + b"production"
    begin += (
        struct.pack("<I", 64) + formulas + struct.pack("<II4d", 1, 4, 0.0125, 0, 0, 0) + struct.pack("<I", 2)
    )
    for name, numbers in (("constant.f32", parameters.constant), ("global.f32", parameters.table)):
        begin += struct.pack("<I", len(name)) + name.encode() + struct.pack("<III", 0, 0, numbers.size)
        begin += numbers.astype("<f4").tobytes()
    assert form == begin + struct.pack("<I", len(manifest)) + manifest
    assert load(tmp_path / "whole").sha256 == hashlib.sha256(form).hexdigest()


def test_the_digest_covers_every_byte(parameters, form, cpp_load, tmp_path):
    random, path = np.random.default_rng(5), tmp_path / "set.parkf"
    pinned, places = digest(form), [0, len(form) - 1]
    places += random.integers(0, len(form), 20).tolist()
    paths = []
    for i, place in enumerate(places):
        changed = bytearray(form)
        changed[place] ^= 1 << random.integers(8)
        paths.append(path.with_name(f"{i}.parkf"))
        paths[-1].write_bytes(changed)
    for changed, message in zip(paths, cpp_load(*((one, pinned) for one in paths)), strict=True):
        got = hashlib.sha256(changed.read_bytes()).hexdigest()
        assert message == f"{changed}: digest {got}, expected {pinned}; it is not the set that you want"


def spoiled(form: bytes, parameters) -> dict[str, tuple[bytes, str]]:
    """Binary forms that the header must refuse even with their own digest, each with the message."""
    place = form.index(b"constant.f32") + 24
    table = form.index(b"global.f32") + 22
    sigma = form.index(struct.pack("<d", 0.0125))
    nan, infinite = struct.pack("<f", np.nan), struct.pack("<f", -np.inf)

    def put(at: int, content: bytes) -> bytes:
        return form[:at] + content + form[at + len(content) :]

    return {
        "empty": (b"", "not a parameter set in its binary form"),
        "no form": (b"{" + form, "not a parameter set in its binary form"),
        "newer": (
            put(8, struct.pack("<I", 2)),
            "format: got 2, expected 1; read it with the header of another",
        ),
        "cut": (form[:-1], "ends too early"),
        "cut in the numbers": (form[: place + 10], "ends too early"),
        "cut in the head": (form[:14], "ends too early"),
        "longer": (form + b"\0", "1 bytes more than expected"),
        "as many numbers as can be said": (put(place - 4, b"\xff" * 4), "ends too early"),
        "as many sections as can be said": (put(sigma + 32, b"\xff" * 4), ""),
        "other forms": (form.replace(b"production", b"bestthings", 1), 'forms: got "bestthings", which this'),
        "other formulas": (
            form.replace(parameters.manifest.formulas.encode(), b"0" * 64, 1),
            "formulas: got 000000000000…, expected",
        ),
        "other layout": (put(sigma - 8, struct.pack("<I", 9)), "layout_version: got 9, expected 1 of forms"),
        "no resolution": (put(sigma, struct.pack("<d", 0)), "velo_sigma: got 0, expected more than 0"),
        "negative loss": (put(sigma + 24, struct.pack("<d", -1)), "velo_loss: got -1, expected at least 0"),
        "infinite": (put(sigma, struct.pack("<d", np.inf)), "constants: index 0: got inf, expected a number"),
        "no constants": (
            form.replace(b"constant.f32", b"constant.f33", 1),
            "constant.f32: 0 numbers, expected 466",
        ),
        "NaN": (put(place + 4 * 30, nan), "constant.f32: index 30: got nan, expected a number"),
        "infinity in the table": (
            put(table + 4 * ((3 * 50 + 7) * 80 + 11), infinite),
            "global.f32: index 12571: got -inf, expected a number",
        ),
    }


def test_what_is_not_whole_is_refused_even_with_its_digest(parameters, form, cpp_load, tmp_path):
    cases = spoiled(form, parameters)
    pairs = []
    for name, (content, _) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        pairs.append((path, hashlib.sha256(content).hexdigest()))
    for (path, _), (_, said), message in zip(pairs, cases.values(), cpp_load(*pairs), strict=True):
        assert message.startswith(f"{path}: {said}"), path.name


def test_random_bytes_are_refused_or_read(form, reader, tmp_path):
    """Pieces are replaced, left out and repeated; the sanitizers see no access outside the bytes."""
    random, paths = np.random.default_rng(3), []
    head = form.index(b"global.f32") + 200
    for i in range(400):
        content, at = bytearray(form), int(random.integers(head))
        length = int(random.integers(1, 30))
        if i % 3:
            content[at : at + length] = random.bytes(length if i % 3 == 1 else int(random.integers(8)))
        else:
            content[at : at + 4] = struct.pack("<I", random.integers(2**32))
        paths.append(tmp_path / f"{i}.parkf")
        paths[-1].write_bytes(content[: head + 200])
    words = [word for path in paths for word in (path, "any")]
    done = subprocess.run([reader, *words], capture_output=True, check=True, timeout=300)
    assert done.stdout.count(b"\n") >= len(paths)


def test_versions_that_the_header_does_not_know_are_passed_over(parameters, tmp_path, cpp_load):
    one = load(PUBLISHED.path("2026-run3-like-2-r014"))
    manifest = one.manifest
    newer = {
        name: getattr(manifest, name).model_copy(update={"version": 99})
        for name in ("ghost_score", "slices", "electron")
    }
    folder = PUBLISHED.path("2026-run3-like-2-r014")
    content = binary_form(manifest.model_copy(update=newer), lambda name: (folder / name).read_bytes())
    (tmp_path / "newer").write_bytes(content)
    (said,) = cpp_load((tmp_path / "newer", digest(content)))
    assert said.split()[5:8] == ["0", "0", "0"]


@pytest.fixture
def here(parameters, tmp_path, monkeypatch):
    """A registry with a set in a working folder; the digest that a reader pinned."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(claims, "SHIPPED", tmp_path / "installed/params")
    parameters.save(tmp_path / "set")
    sets = Publisher(claims.FOLDER)
    version = sets.publish(tmp_path / "set", year=2026, gates=GATES)
    content = load(sets.path(version)).form
    (tmp_path / "set.parkf").write_bytes(content)
    return version, digest(content)


def forged_form(version):
    """Make the binary form of another set that says it is the published one."""
    other = random_set(field="abc", seed=8)
    manifest = other.manifest.model_copy(update={"version": version, "state": "published"})
    other.write(Path("forged"), manifest)
    return binary_form(manifest, lambda name: Path("forged", name).read_bytes())


def test_a_forged_set_is_refused_whatever_its_name_and_place(here, cpp_load):
    """By a link, in the place of the pinned file, or from another registry: its digest is another."""
    version, pinned = here
    Path("forged").mkdir()
    Path("forged.parkf").write_bytes(forged_form(version))
    Path("link.parkf").symlink_to("forged.parkf")
    (Path("installed") / version).mkdir(parents=True)
    Path("installed", version, "set.parkf").write_bytes(forged_form(version))
    paths = (Path("forged.parkf"), Path("link.parkf"), Path("installed", version, "set.parkf"))
    for path, message in zip(paths, cpp_load(*((path, pinned) for path in paths)), strict=True):
        assert message.startswith(f"{path}: digest ")
        assert f"expected {pinned}" in message
    with pytest.raises(ParkfError, match="says that it is published"):
        load(Path("forged"))


def test_a_set_swapped_while_it_is_read_is_the_pinned_one_or_refused(here, cpp_load):
    version, pinned = here
    Path("forged").mkdir()
    Path("forged.parkf").write_bytes(forged_form(version))
    whole, stop = cpp_load(("set.parkf", pinned)), threading.Event()
    assert whole[0].startswith("loaded")

    def swap():
        while not stop.is_set():
            for one, other in (
                ("set.parkf", "aside"),
                ("forged.parkf", "set.parkf"),
                ("aside", "forged.parkf"),
            ):
                Path(one).rename(other)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        said = cpp_load(*[("set.parkf", pinned)] * 200)
    finally:
        stop.set()
        swapper.join()
    for message in said:
        assert message == whole[0] or not message.startswith("loaded")
    assert any(message != whole[0] for message in said)


def test_the_header_has_neither_keys_nor_documents(header):
    """What it does not have, it cannot read otherwise than Python."""
    text = (header / "parkf.hpp").read_text()
    for word in ("json::", "ed25519", "Sha512", "allowed_signers", "PARKF_TRUST", "getenv"):
        assert word not in text
