"""Commands for families of runs."""

from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.options import GATES, GatesFile
from parkf.io.terminal import aligned

app = typer.Typer(help="Many alignments, fields and geometries, trained together.", no_args_is_help=True)


@app.command()
def members(
    configuration: Annotated[Path, typer.Argument(help="Configuration of a family (YAML).")],
    schemas: Annotated[Path, typer.Option(help="Folder of the schemas.")] = Path("workflow/schemas"),
) -> None:
    """List the runs of a family, their own settings, and the products that they link from another member."""
    from parkf.io.project import found
    from parkf.workflow.family import read_family, sources

    family = read_family(configuration, found(schemas), Path.cwd())
    shared = sources(family.members, Path.cwd())
    rows = []
    for member in family.members:
        taken: dict[str, list[str]] = {}
        for product, (maker, _) in shared[member.name].items():
            if maker != member.name:
                taken.setdefault(maker, []).append(product)
        rows.append(
            (
                member.config["run"],
                ", ".join(f"{key}: {value}" for key, value in member.own.items()),
                "; ".join(f"{', '.join(products)} of {maker}" for maker, products in taken.items()),
            )
        )
    print(aligned(("run", "its own", "takes"), rows))


@app.command()
def report(
    index: Annotated[Path, typer.Argument(help="The page: results/<family>/index.html.")],
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs.")],
    gates: GatesFile = GATES,
) -> None:
    """Write the page that lays runs beside each other."""
    from parkf.proof.gates import load_thresholds
    from parkf.report.family import write_family

    write_family(runs, index, load_thresholds(gates))
