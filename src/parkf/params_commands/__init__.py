"""``parkf params``: published parameter sets, their exchange with others, and their training once more.

Exit codes: 0 for yes or done; 1 for no: sets differ, a set is not valid, a publication is refused; 2 where
there is no answer: wrong usage, or files that cannot be read.
"""

import typer

from parkf.params_commands.difference import diff
from parkf.params_commands.exchange import export, header, import_
from parkf.params_commands.gates import gate
from parkf.params_commands.listing import list_
from parkf.params_commands.publication import publish, validate, withdraw
from parkf.params_commands.reproduction import reproduce
from parkf.params_commands.showing import show

app = typer.Typer(help="Published parameter sets, and their exchange with others.", no_args_is_help=True)
app.command("list")(list_)
app.command()(show)
app.command()(diff)
app.command()(validate)
app.command()(publish)
app.command()(withdraw)
app.command()(export)
app.command("import")(import_)
app.command()(header)
app.command()(reproduce)

__all__ = ["app", "gate"]
