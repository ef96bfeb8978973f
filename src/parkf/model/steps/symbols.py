"""The symbols that the formulas of the steps are written in.

State (x, y, tx, ty) in mm and rad at z0; k = q/p at production in 1/MeV; h = pol·k, the q/p that a track in
MagUp with the same trajectory would have; z0 and z1 the z of origin and target in mm. The hop through the
magnet corrects the state at its end; (x_in, y_in, tx_in, ty_in) is the state where it began.
"""

import sympy as sp

x, y, tx, ty, k, h, pol = sp.symbols("x y tx ty k h pol", real=True)
z0, z1 = sp.symbols("z0 z1", real=True)
# Parts in the kernel: dz is z1 - z0; for a target that leans, per_slant is 1/(1 - lean·ty).
dz, per_slant = sp.symbols("dz per_slant", real=True)
STATE = (x, y, tx, ty)
BEFORE = sp.symbols("x_in y_in tx_in ty_in", real=True)
COMPONENTS = ("x", "y", "tx", "ty")


def ten(power: int) -> sp.Rational:
    """Return 10^power exactly; the powers of ten in a form keep its parameters of order one."""
    return sp.Integer(10) ** power


class Side(sp.Function):
    """Sign of its argument, +1 at zero; constant for derivatives, since no track is fitted across y = 0."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative: zero on either side."""
        return sp.Integer(0)

    def _latex(self, printer: object) -> str:
        return rf"\operatorname{{sgn}}({sp.latex(self.args[0])})"


class Local(sp.Function):
    """Its argument, which is constant in derivatives with respect to the state.

    An example is the bend over a short gap: within a track's uncertainty it changes by far less than the
    scattering. Derivatives with respect to parameters are not affected.
    """

    nargs = 1

    @classmethod
    def eval(cls, argument: sp.Expr) -> sp.Expr | None:
        """Return a number as it is."""
        return argument if argument.is_Number else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative with respect to the argument: one."""
        return sp.Integer(1)

    def _latex(self, printer: object) -> str:
        return rf"\left({sp.latex(self.args[0])}\right)"


def without_local(expression: sp.Expr) -> sp.Expr:
    """Replace every Local by its argument."""
    return expression.replace(Local, lambda argument: argument)


def state_derivative(expression: sp.Expr, variable: sp.Symbol) -> sp.Expr:
    """Differentiate with respect to a state variable; for k, the derivative includes that of h = pol·k."""
    held = {part: sp.Dummy(real=True) for part in expression.atoms(Local)}
    rest = expression.xreplace(held)
    derivative = sp.diff(rest, variable)
    if variable == k:
        derivative += pol * sp.diff(rest, h)
    return without_local(derivative.xreplace({dummy: part for part, dummy in held.items()}))
