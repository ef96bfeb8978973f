"""Runs whose products are in a bucket have the bytes of a local run."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from parkf.io.ledger import Ledger
from parkf.workflow.config_files import laid, read_layers

from ..conftest import ROOT, Project
from .conftest import FEW_PLUGINS

pytestmark = pytest.mark.slow
HOW_TO = ROOT / "docs/how-to/cluster.md"
BIN = Path(sys.executable).parent
# Field, collisions, transport.
WANTED = "states/training_up.parquet"
JOBS = 3
KEYS = {f"SNAKEMAKE_STORAGE_S3_{name}_KEY": "of-the-test" for name in ("ACCESS", "SECRET")}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Address of a server of S3 on this machine."""
    for module in ("snakemake_storage_plugin_s3", "moto", "flask", "flask_cors"):
        pytest.importorskip(module, reason="needs pip install 'parkf[dev]'")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("moto") / "log.txt"
    with (
        log.open("w") as said,
        subprocess.Popen(
            [BIN / "moto_server", "-H", "127.0.0.1", "-p", str(port)], stdout=said, stderr=said
        ) as process,
    ):
        for _ in range(300):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        else:
            pytest.fail(f"moto_server: {log.read_text()}")
        yield f"http://127.0.0.1:{port}"
        process.terminate()


@pytest.fixture
def bucket(server):
    """What is in the bucket of the test, by path; the server is empty at first."""
    import boto3

    urlopen(f"{server}/moto-api/reset", data=b"").close()
    keys = dict(zip(("aws_access_key_id", "aws_secret_access_key"), KEYS.values(), strict=True))
    own = boto3.resource("s3", endpoint_url=server, region_name="us-east-1", **keys).Bucket("physics")

    def content():
        found = {one.key.removeprefix("parkf/"): one.get()["Body"].read() for one in own.objects.all()}
        assert all(path.startswith("results/") for path in found), sorted(found)
        return found

    return content


def configure(folder, name):
    """Write a configuration of few tracks."""
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml")) | {"run": name}
    config["events"]["training"] = 4
    (folder / f"workflow/config/{name}.yaml").write_text(yaml.safe_dump(config))


def run(folder, name, profile, server=None):
    """Run parkf until the states are there; return the number of logs, and what it said."""
    configure(folder, name)
    keys = {} if server is None else KEYS | {"SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": server}
    done = subprocess.run(
        [BIN / "parkf", "run", "--profile", profile, "--cores", "1", name, f"results/{name}/{WANTED}"],
        cwd=folder,
        env=os.environ | FEW_PLUGINS | keys,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    log = folder / f"results/{name}/logs/snakemake.txt"
    assert done.returncode == 0, said + (log.read_text() if log.exists() else "")
    return len([*log.parent.glob("*.log")]), said


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The bytes that a run in a project of its own has on the disk."""
    folder = Project.new(tmp_path_factory.mktemp("local")).folder
    run(folder, "local", "local")
    return (folder / "results/local" / WANTED).read_bytes()


def write_profile(folder, text):
    """Write the profile `ours` with the bucket of the test."""
    profile = folder / "workflow/profiles/ours/profile.yaml"
    profile.parent.mkdir()
    profile.write_text(text.replace("s3://bucket/prefix", "s3://physics/parkf"))


@pytest.mark.slurm
def test_jobs_of_a_cluster_have_their_products_in_a_bucket(node, project, server, bucket, local):
    folder = project.folder
    # The lines that the how-to adds to the profile of a cluster.
    (lines,) = re.findall(r"```yaml\n(default-storage.*?)```", HOW_TO.read_text(), re.DOTALL)
    slurm = (folder / "workflow/profiles/slurm/profile.yaml").read_text()
    write_profile(folder, re.sub("(before-status-checks): 10", r"\1: 2", slurm) + lines)
    run(folder, "first", "ours", server)
    assert bucket()[f"results/first/{WANTED}"] == local
    assert not (folder / "results/first" / WANTED).exists()


def test_a_run_in_a_bucket_has_the_bytes_of_a_local_run(project, server, bucket, local):
    folder = project.folder
    write_profile(folder, (folder / "workflow/profiles/s3/profile.yaml").read_text())
    logs, said = run(folder, "first", "ours", server)
    assert "results/first: its products are in s3://physics/parkf/results/first, its logs are here" in said
    assert logs == JOBS
    assert bucket()[f"results/first/{WANTED}"] == local
    # The ledger names products by their paths in the working folder.
    entries = [*Ledger(folder / "results/first").entries()]
    assert [entry.stage for entry in entries if entry.stage] == ["field", "generate", "simulate"]
    assert f"results/first/{WANTED}" in entries[-1].outputs
    assert entries[-1].inputs["results/first/field.npz"] == entries[0].outputs["results/first/field.npz"]

    # Nothing runs again, and copies are removed when the jobs that needed them end.
    run(folder, "first", "ours", server)
    assert len([*Ledger(folder / "results/first").entries()]) == len(entries)
    here = [*(folder / ".snakemake/storage").rglob("*"), *(folder / "results").rglob("*.parquet")]
    assert [path for path in here if path.is_file()] == []
    assert not (folder / "results/.store").exists()
