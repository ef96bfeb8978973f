"""Constants that the trigger has in its code, as a C++ header with the trigger's names.

They are the scattering between VELO hits and from the first hit to the beam, and the extrapolations to the
planes of the RICH detectors.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from parkf.io.planes import RICH_PLANES

HEADER_FILE = "constants.hpp"
# Sets of the block BEAM, and its numbers, by the trigger's names.
_SCATTERING = ("VPHit2VPHit", "VPHit2ClosestToBeam")
_NUMBERS = ("cms", "etaxx", "etaxtx", "Eloss")
# Entry and exit of both detectors: block, row.
_PLANES = {"RICH1_F": ("RICH1", 0), "RICH1_B": ("RICH1", 1), "RICH2_F": ("RICH2", 0), "RICH2_B": ("RICH2", 1)}


def header_text(blocks: Mapping[str, NDArray[np.float32]]) -> str:
    """Write the header.

    Parameters
    ----------
    blocks : mapping of str to float32 arrays
        BEAM (2, 4), and RICH1 (2, 15) and RICH2 (2, 12) with the trigger's signs, or neither.
    """
    lines = [
        "#pragma once",
        "// Constants of a parkf parameter set that the trigger has in its code; mm and MeV.",
        "// scatterSensorParameter: scattering in the VELO. RICH: entry (F) and exit (B) of a detector.",
        "",
        "namespace ParKalmanFilter {",
    ]
    for way, numbers in zip(_SCATTERING, blocks["BEAM"], strict=True):
        for name, value in zip(_NUMBERS, numbers, strict=True):
            lines.append(f"constexpr float scatterSensorParameter_{way}_{name} = {_literal(value)};")
    if "RICH1" in blocks:
        for (name, (block, row)), z in zip(_PLANES.items(), RICH_PLANES, strict=True):
            values = blocks[block][row]
            numbers = ", ".join(map(_literal, values))
            lines.append(f"constexpr float {name}_zTo = {z}.f;")
            lines.append(f"constexpr float PAR_{name}[{len(values)}] = {{{numbers}}};")
    return "\n".join([*lines, "}  // namespace ParKalmanFilter", ""])


def _literal(value: np.float32) -> str:
    """Return the shortest C++ literal of a float."""
    text = str(value)
    return text + ("f" if "." in text or "e" in text else ".f")
