"""Decays whose mass peaks are measured, and the trigger's cuts on their tracks."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Decay:
    """A decay to two charged particles."""

    title: str  # in pages
    mother: int  # PDG id of the peak; a photon converts in the material
    mass: float  # MeV, where the peak is
    settings: tuple[str, ...]  # of Pythia
    from_mother: int = 0  # PDG id of its required ancestor; 0 where the settings ensure it
    # MeV; requirements of the decay's trigger line on each track, and on the pair.
    p_min: float = 0.0
    pt_min: float = 0.0
    pair_pt_min: float = 0.0
    z_max: float = math.inf  # mm; vertices behind it are left out, because nothing is measured on them
    share: float = 1.0  # of the collisions that a run asks for, where a part is enough for the figures


_JPSI = (
    "HardQCD:hardbbbar = on",
    # This triples the number of B_s, whose momenta are like those of other B mesons.
    "StringFlav:probStoUD = 1.",
    "531:onMode = off",
    "531:addChannel = 1 1. 0 443 333",
    "443:onMode = off",
)

# The first two lines are Hlt1DiMuonHighMass and Hlt1D2KPi, with the thresholds that Allen has by default.
DECAYS: dict[str, Decay] = {
    "jpsi": Decay(
        title="J/ψ → μμ",
        mother=443,
        mass=3096.9,
        settings=(*_JPSI, "443:onIfMatch = 13 -13"),
        p_min=6000.0,
        pt_min=300.0,
    ),
    "d0": Decay(
        title="D⁰ → Kπ",
        mother=421,
        from_mother=413,
        mass=1864.84,
        settings=(
            "HardQCD:hardccbar = on",
            "413:onMode = off",
            "413:onIfMatch = 421 211",
            "421:onMode = off",
            "421:onIfMatch = 321 211",
        ),
        pt_min=800.0,
        pair_pt_min=2000.0,
    ),
    # Electrons have muons' thresholds, so that their peak is compared with the same decay without radiation.
    "jpsi-ee": Decay(
        title="J/ψ → ee",
        mother=443,
        mass=3096.9,
        settings=(*_JPSI, "443:onIfMatch = 11 -11"),
        p_min=6000.0,
        pt_min=300.0,
        share=0.2,
    ),
    "gamma-ee": Decay(
        title="γ → ee",
        mother=22,
        mass=0.0,
        settings=("HardQCD:all = on",),
        p_min=2000.0,
        # Behind this place, electrons cross too few modules of the VELO for a long track.
        z_max=550.0,
        share=0.05,
    ),
}

ELECTRONS = tuple(name for name in DECAYS if name.endswith("-ee"))
"""Decays to electrons, which the fit takes for pions unless it is told."""
