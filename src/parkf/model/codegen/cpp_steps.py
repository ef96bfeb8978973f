"""C++ functions of a step: the state with its Jacobian, and the process noise."""

import sympy as sp

from parkf.model.codegen.cpp_expressions import assignments, function
from parkf.model.codegen.cpp_transport import SparseJacobian, levers_and_bend
from parkf.model.steps import Step
from parkf.model.steps.symbols import BEFORE, COMPONENTS, STATE, h, k, pol


def step_functions(step: Step) -> list[str]:
    """All C++ of one step."""
    jacobian = SparseJacobian(step.name, levers_and_bend(step.kernel_jacobian))
    lines = [f"// {step.name}: {step.text}.", *jacobian.functions(), *_state_function(step, jacobian)]
    return lines + (_noise_function(step) if step.noise else [])


def _inputs(step: Step) -> str:
    return "".join(f", const T& {symbol}" for symbol in step.kernel_inputs)


def _parts(step: Step, used: set[sp.Symbol]) -> dict[sp.Symbol, sp.Expr]:
    return {name: form for name, form in step.kernel_parts.items() if name in used}


def _state_function(step: Step, jacobian: SparseJacobian) -> list[str]:
    targets: dict[str, sp.Expr] = {f"s.{n}": e for n, e in zip(COMPONENTS, step.kernel_outputs, strict=True)}
    targets = {target: form for target, form in targets.items() if form != sp.Symbol(target[2:], real=True)}
    targets |= {f"f.{name}": form for name, form in jacobian.fields.items()}
    used = step.kernel_symbols(targets.values())
    body = [f"const T {v} = s.{v};" for v in (*STATE, k) if v in used or (v == k and h in used)]
    body += ["const T h = pol * k;"] if h in used else []
    # Some steps do not read the polarity, or one of their planes.
    silent = [str(v) for v in (pol, *step.kernel_inputs) if v not in used and not (v == pol and h in used)]
    body += [f"(void){name};" for name in [*silent, *([] if used & set(step.symbols) else ["p"])]]
    return function(
        f"void step_{step.name}(const P& p, const T& pol{_inputs(step)}, State<T>& s,"
        f" Jacobian{step.name}<T>& f)",
        body + assignments(targets, _parts(step, used)),
        template="class T, class P",
    )


def _noise_function(step: Step) -> list[str]:
    targets = {f"q.{name}": form for name, form in step.kernel_noise.items()}
    used = step.kernel_symbols(targets.values())
    body = [f"const T {v} = s.{v};" for v in STATE if v in used]
    body += ["(void)s;"] if not body else []
    begins = [f"const T {v} = before.{s};" for v, s in zip(BEFORE, STATE, strict=True) if v in used]
    body += begins if begins or not step.through_magnet else ["(void)before;"]
    body += [f"(void){v};" for v in step.kernel_inputs if v not in used]
    return function(
        f"Noise<T> noise_{step.name}(const P& p, const T& k{_inputs(step)},"
        f"{' const State<T>& before,' if step.through_magnet else ''} const State<T>& s)",
        ["Noise<T> q;", *body, *assignments(targets, _parts(step, used)), "return q;"],
        template="class T, class P",
    )


def by_name(steps: list[Step]) -> list[str]:
    """C++ function that runs a step by its name, for checks from Python."""
    lines = [
        "/// Run one step: `s` and `c` are carried on; `jacobian` is (5, 4), by columns for x, y, tx, ty, k;",
        "/// `q` is its noise.",
        "template <class T>",
        "bool run_step(const std::string& name, const T* p, T pol, const T* planes, State<T>& s,",
        "              Covariance<T>& c, T* jacobian, Noise<T>& q) {",
        "  for (int i = 0; i < 20; ++i) jacobian[i] = T(i < 16 && i % 5 == 0);",
        "  q = {};",
    ]
    for step in steps:
        planes = "".join(f", planes[{i}]" for i in range(len(step.kernel_inputs)))
        begin = ", s" if step.through_magnet else ""
        noise = f"q = noise_{step.name}<T>(p, s.k{planes}{begin}, s);" if step.noise else ""
        lines += [
            f'  if (name == "{step.name}") {{',
            *([f"    {noise}"] if noise else []),
            f"    Jacobian{step.name}<T> f;",
            f"    step_{step.name}<T>(p, pol{planes}, s, f);",
            "    transport(f, c);",
            "    for (int column = 0; column < 4; ++column) apply(f, jacobian + 4 * column);",
            "    total_derivative(f, jacobian + 16);",
            "    return true;",
            "  }",
        ]
    return [*lines, "  return false;", "}", ""]
