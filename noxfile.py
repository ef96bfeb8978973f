#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Tasks that need environments of their own: ``nox --list``. Those of the checkout's are in the Makefile."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
PYTHONS = ["3.11", "3.12", "3.13"]


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """Install the package as a user would, and run its tests."""
    session.install(".[dev]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0], venv_backend="uv", default=False)
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml promises to work with."""
    session.install("--resolution", "lowest-direct", ".[dev]")
    session.run("pytest", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages of docs/; a broken link stops it."""
    project = nox.project.load_toml("pyproject.toml")
    session.install(*project["project"]["optional-dependencies"]["docs"])
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session(default=False)
def sdist(session: nox.Session) -> None:
    """Build the source distribution, and a wheel from nothing else."""
    session.install("build")
    session.run("python", "-m", "build", "--outdir", "dist")


if __name__ == "__main__":
    nox.main()
