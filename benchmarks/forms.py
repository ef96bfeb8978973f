"""The cost of each form: its parameters, and its operations for one step of one track.

Run: python benchmarks/forms.py
The operations are counted in the generated C++: additions, multiplications and comparisons, + divisions and
roots. The baseline is production's forms.
"""

import re

from parkf.model.codegen.cpp_steps import step_functions
from parkf.model.steps import FORMS, Step


def body(step: Step, function: str) -> str:
    """Text of a generated function."""
    found = re.search(rf" {function}\(.*?^}}", "\n".join(step_functions(step)), re.DOTALL | re.MULTILINE)
    return found[0] if found else ""


def operations(text: str) -> tuple[int, int]:
    """Count cheap operations, and divisions and roots."""
    lines = [line.split("= ", 1)[1] for line in text.splitlines() if "= " in line]
    code = re.sub(r"S\(-?[\d.e-]+\)|\w+\(\d+, \d+\)", "c", " ".join(lines))
    dear = len(re.findall(r" / |/|root\(", code))
    cheap = len(re.findall(r" [+-] |\*|magnitude\(|side\(|smaller\(|(?<=[ (])-(?=\w)", code))
    return cheap, dear


def main() -> None:
    """Print a table."""
    line = "{:5s} {:11s} {:>9s} {:>20s} {:>10s} {:>11s}"
    print(line.format("step", "forms", "numbers", "state and Jacobian", "noise", "covariance"))
    for name in FORMS["production"].steps:
        for label, forms in FORMS.items():
            step = forms.steps[name]
            texts = [body(step, f"step_{name}"), body(step, f"noise_{name}"), body(step, "transport")]
            costs = ["{} + {}".format(*operations(text)) for text in texts]
            print(line.format(name, label, f"{len(step.sets)}×{len(step.parameters)}", *costs))
    for label, forms in FORMS.items():
        print(f"constant blob, {label}: {forms.layout.constant_count} numbers")


if __name__ == "__main__":
    main()
