#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Tasks that need separate environments: ``nox --list``. The Makefile has those for the checkout's own."""

import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
# The extra `train` has Pythia, which has no wheel for later versions.
PYTHONS = ["3.11", "3.12", "3.13"]
# Programs that the jobs of a run call beside `parkf`.
PROGRAMS = ("bash", "basename", "cat", "cp", "dirname", "env", "ln", "mkdir", "mv", "rm", "sh", "touch")


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """Install the package as a user would, and run its tests."""
    session.install(".[dev]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0], default=False)
def lowest(session: nox.Session) -> None:
    """Run the tests, or some of them, with the lowest versions that pyproject.toml promises."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    bounds = [one.replace(">=", "==") for one in project["dependencies"] + extras["train"]]
    tools = [one for one in extras["dev"] if not one.startswith("parkf[")]
    session.install(*bounds, *tools)
    # A separate folder keeps the build of the checkout's own environment.
    session.install("--no-build-isolation", "--no-deps", "-Cbuild-dir=build/lowest", "--editable", ".")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0], default=False)
def lock(session: nox.Session) -> None:
    """Write requirements.lock: versions and checksums for runs that give the same bytes elsewhere."""
    session.install("pip-tools")
    session.run(
        *(
            "pip-compile",
            "--upgrade",
            "--generate-hashes",
            "--strip-extras",
            "--no-emit-options",
            "--extra",
            "train",
        ),
        *("--output-file", "requirements.lock", "pyproject.toml"),
        env={"CUSTOM_COMPILE_COMMAND": "nox -s lock"},
    )


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages of docs/; a broken link stops it."""
    session.install(".[docs]")
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session(python=PYTHONS[0], default=False)
def sbom(session: nox.Session) -> None:
    """Write the bill of materials of a release, dist/parkf.cdx.json, which its writer validates."""
    session.install("cyclonedx-bom")
    Path("dist").mkdir(exist_ok=True)
    how = ("--pyproject", "pyproject.toml", "--output-reproducible", "--spec-version", "1.6")
    session.run("cyclonedx-py", "requirements", *how, "-o", "dist/parkf.cdx.json", "requirements.lock")


@nox.session(python=PYTHONS[0], default=False)
def mutants(session: nox.Session) -> None:
    """Make one mistake at a time in the code, and run the tests that reach it; this takes hours."""
    session.install(".[dev]", "mutmut>=3.8")
    copy = Path(session.create_tmp()).absolute() / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    session.run("git", "clone", "--quiet", ".", str(copy), external=True)
    # The changed package hides the installed one, and needs its compiled modules.
    for module in Path(session.virtualenv.location).glob("lib/*/site-packages/parkf/_*.so"):
        shutil.copy(module, copy / "src/parkf")
    session.chdir(copy)
    session.run("mutmut", "run", *session.posargs)
    session.run("mutmut", "results")


def first_tracks() -> str:
    """Return the lines of docs/how-to/install.md that fit the first tracks with a wheel alone."""
    page = Path("docs/how-to/install.md").read_text()
    return page.partition("python - <<'END'\n")[2].partition("END\n")[0]


@nox.session(python=PYTHONS, default=False)
def wheel(session: nox.Session) -> None:
    """Build wheels from the checkout and the source distribution, compare them, and run with no compiler."""
    made = Path(session.create_tmp()).absolute() / "wheels"
    shutil.rmtree(made, ignore_errors=True)
    clock = {"SOURCE_DATE_EPOCH": "1767225600"}
    session.install("build")
    session.run("python", "-m", "build", "--sdist", "--outdir", str(made), env=clock)
    (archive,) = made.glob("*.tar.gz")
    for place, origin in (("checkout", "."), ("sdist", str(archive))):
        words = (f"-Cbuild-dir={made}/build-{place}", "--wheel-dir", str(made / place), origin)
        session.run("python", "-m", "pip", "wheel", "--quiet", "--no-deps", *words, env=clock)
    (file,) = (made / "checkout").glob("*.whl")
    if file.read_bytes() != (made / "sdist" / file.name).read_bytes():
        session.error(f"{file.name}: the source distribution gives other bytes")
    session.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "build")
    session.install("--require-hashes", "--requirement", "requirements.lock")
    session.install("--no-deps", str(file))
    # This folder has the programs that rules call, but no compiler.
    programs = made / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or session.error(f"needs {name}"))
    path = f"{session.bin}:{programs}"
    session.chdir(made)
    session.run("python", "-c", first_tracks(), env={"PATH": path})
    session.run("parkf", "init", "x", env={"PATH": path})
    session.chdir("x")
    session.run("parkf", "run", "smoke", env={"PATH": path})


if __name__ == "__main__":
    nox.main()
