"""``parkf params``: published parameter sets, their exchange with others, and their training once more.

Exit codes: 0 for yes or done; 1 for no: sets differ, a set is not valid, a publication is refused; 2 where
there is no answer: wrong usage, or files that cannot be read.
"""

import typer

from parkf.cli.commands.params.best_set import for_, validity
from parkf.cli.commands.params.difference import diff, reproduce
from parkf.cli.commands.params.exchange import export, header, import_
from parkf.cli.commands.params.listing import list_, show
from parkf.cli.commands.params.publication import publish, validate, withdraw

app = typer.Typer(help="Published parameter sets, and their exchange with others.", no_args_is_help=True)
app.command("list")(list_)
app.command()(show)
app.command("for")(for_)
app.command()(validity)
app.command()(diff)
app.command()(reproduce)
app.command()(validate)
app.command()(publish)
app.command()(withdraw)
app.command()(export)
app.command("import")(import_)
app.command()(header)
