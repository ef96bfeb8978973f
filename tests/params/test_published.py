"""Each set in the project's registry is whole, meets its gates, and is part of an installation."""

from pathlib import Path

import parkf._fitter as _fitter
import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.fit.fitted import fitted_with
from parkf.params import claims
from parkf.params.claims import SHIPPED
from parkf.params.manifest import Gate
from parkf.params.publisher import Publisher
from parkf.params.registry import Registry, readable_registry

ROOT = Path(__file__).parents[2]
PUBLISHED = Registry(ROOT / "params")
SAMPLE = ROOT / "examples/candidates.parquet"


@pytest.mark.parametrize("version", PUBLISHED.versions())
def test_every_published_set_is_whole_and_met_its_gates(version):
    manifest = PUBLISHED.load(version).manifest
    assert manifest.gates
    assert all(gate.met for gate in manifest.gates)
    assert manifest.configuration is not None


@pytest.mark.parametrize("version", PUBLISHED.versions())
def test_every_published_set_is_installed(version):
    """Sets that were published after the installation come with the next one."""
    if SHIPPED.is_dir() and not (SHIPPED / version).exists():
        pytest.skip(f"{version} was published after the installation")
    for path in PUBLISHED.path(version).iterdir():
        assert (SHIPPED / version / path.name).read_bytes() == path.read_bytes()


def test_the_project_s_registry_comes_before_the_installation_s(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert readable_registry().folder == SHIPPED == Path(_fitter.__file__).parent / "params"
    (tmp_path / "params").mkdir()
    assert readable_registry().folder == Path("params")


@pytest.fixture
def installation(dipole, tmp_path, monkeypatch):
    """An installation with one set, seen from a folder without a project."""
    sets = Publisher(tmp_path / "installed/params")
    dipole.save(tmp_path / "set")
    gate = Gate(what="ghosts", measured="25 %", bar="≤ 40 %", met=True)
    monkeypatch.setattr(claims, "SHIPPED", sets.folder)
    monkeypatch.chdir(tmp_path)
    sets.publish(tmp_path / "set", year=2026, gates=[gate])
    return sets


def invoke(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.output


def test_a_fit_by_name_without_a_checkout(installation, tmp_path):
    (version,) = installation.versions()
    code, text = invoke("params", "list")
    assert code == 0
    assert version in text
    assert invoke("fit", version, SAMPLE, "fitted.parquet", "--trust")[0] == 0
    blobs = installation.load(version).manifest.blobs
    assert fitted_with(tmp_path / "fitted.parquet") == blobs.fingerprints()
    installation.withdraw(version, "no detector bends like this")
    code, _ = invoke("fit", version, SAMPLE, "again.parquet", "--trust")
    assert code == 1
    assert not (tmp_path / "again.parquet").exists()
    assert invoke("fit", version, SAMPLE, "again.parquet", "--trust", "--withdrawn")[0] == 0
