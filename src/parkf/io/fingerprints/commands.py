"""The commands of a program that uses Typer, found in its modules without importing them."""

import ast
from collections.abc import Collection, Iterator

from parkf.io.fingerprints.syntax import Module, Statement, Target, is_command, last_name, root


def commands_of(modules: Collection[Module]) -> Iterator[tuple[str, Module, str]]:
    """Iterate over the commands that modules add: name of the command, the module, name of the function."""
    groups = {application: name for module in modules for application, name in _groups_in(module)}
    for module in modules:
        for application, name, function in _added_by(module):
            # Modules may add commands to applications of others.
            of = module.imports.get(application, [Target(module.name, application)])[0]
            yield f"{groups.get(of, '')} {name}".strip(), module, function


def _groups_in(module: Module) -> Iterator[tuple[Target, str]]:
    """Iterate over the applications that a module adds as groups to another, and names of the groups."""
    for one in module.every:
        for call in ast.walk(one.tree) if isinstance(one.tree, ast.Expr) else ():
            if isinstance(call, ast.Call) and last_name(call.func) == "add_typer":
                of = module.imports[root(call.args[0])][0]
                for keyword in call.keywords:
                    if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                        target = Target(f"{of.module}.{of.name}", last_name(call.args[0]))
                        yield target, str(keyword.value.value)


def _added_by(module: Module) -> Iterator[tuple[str, str, str]]:
    """Iterate over the commands that a module adds: names of application, command and function."""
    for tree in (one.tree for one in module.every):
        added: list[tuple[ast.expr, str]] = []
        if isinstance(tree, ast.FunctionDef):
            added = [(decorator, tree.name) for decorator in tree.decorator_list]
        elif isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Call) and tree.value.args:
            added = [(tree.value.func, last_name(tree.value.args[0]))]
        for call, function in added:
            if is_command(call, "command"):
                first = call.args[0] if call.args else None
                given = first.value if isinstance(first, ast.Constant) else function.replace("_", "-")
                yield root(call), str(given), function


def start_of(module: Module) -> Iterator[Statement]:
    """Iterate over the statements that a program runs before a command: those of ``main``, and callbacks."""
    applications = {
        name
        for name, bound in module.bound.items()
        if any({("typer", "Typer"), ("Typer", None)} & one.form.uses for one in bound)
    }
    for one in module.every:
        if isinstance(one.tree, ast.FunctionDef):
            if any(is_command(decorator, "callback") for decorator in one.tree.decorator_list):
                yield one
            if one.tree.name == "main":
                inner = list(ast.walk(one.tree))
                called = [tree for tree in inner if isinstance(tree, ast.Name) and tree.id in applications]
                first = min(tree.lineno for tree in called)
                for tree in inner:
                    if isinstance(tree, ast.stmt) and (tree.end_lineno or tree.lineno) < first:
                        yield Statement(tree, module.package)
