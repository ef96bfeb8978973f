"""The kernel of a checkout is compiled by two commands, and what prevents it is named."""

import subprocess
import sys

import pytest

from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.workflow import installation


@pytest.fixture
def commands(monkeypatch):
    """Commands that would run in a checkout with a compiler; those that `fail` names fail."""
    ran, fail = [], set()

    def run(command, **options):
        ran.append(command)
        failed = any(word in fail for word in command)
        return subprocess.CompletedProcess(command, int(failed))

    monkeypatch.setattr(installation, "IS_CHECKOUT", True)
    monkeypatch.setattr(installation, "found_compiler", lambda: "g++")
    monkeypatch.setattr(installation.subprocess, "run", run)
    return ran, fail


def test_the_package_is_installed_again_and_then_the_kernel_is_asked(commands):
    ran, _ = commands
    installation.compile_kernel()
    first, second = ran
    assert first[:5] == [sys.executable, "-P", "-m", "pip", "install"]
    assert first[-2:] == ["--editable", str(PROJECT)]
    assert {"--no-deps", "--no-build-isolation"} < set(first)
    assert second[:3] == [sys.executable, "-P", "-c"]
    assert "kernel_is_current" in second[3]


@pytest.mark.parametrize(("failing", "count"), [("pip", 1), ("-c", 2)])
def test_a_command_that_fails_is_the_last(commands, failing, count):
    ran, fail = commands
    fail.add(failing)
    with pytest.raises(ParkfError, match="the kernel was not compiled; what was wrong is said above"):
        installation.compile_kernel()
    assert len(ran) == count


def test_without_a_checkout_or_a_compiler_nothing_is_run(commands, monkeypatch):
    ran, _ = commands
    monkeypatch.setattr(installation, "found_compiler", lambda: None)
    with pytest.raises(ParkfError, match="there is no C\\+\\+ compiler"):
        installation.compile_kernel()
    monkeypatch.setattr(installation, "IS_CHECKOUT", False)
    with pytest.raises(ParkfError, match="make it in a checkout"):
        installation.compile_kernel()
    assert ran == []


def test_the_compiler_that_the_user_names_comes_first(monkeypatch):
    there = {"g++", "my-compiler"}
    monkeypatch.setattr(installation.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setenv("CXX", "my-compiler")
    assert installation.found_compiler() == "my-compiler"
    monkeypatch.setenv("CXX", "not-there")
    assert installation.found_compiler() == "g++"
    there.clear()
    assert installation.found_compiler() is None
