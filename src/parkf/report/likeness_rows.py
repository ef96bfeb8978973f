"""What the likeness page compares, and what makes each figure what it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Row:
    """A figure on the page: name in the measurement, label, decimals, unit, and reason, the last in HTML."""

    name: str
    label: str
    decimals: int
    reason: str
    unit: str = ""

    @property
    def factor(self) -> float:
        """Factor from the unit of the measurement to the unit of this row."""
        return 100.0 if self.unit == " %" else 1.0


def _text(lines: str) -> str:
    return " ".join(dedent(lines).split())


_SECONDARIES = _text("""
    The embedded simulation makes these secondaries: products of interactions and conversions before the
    magnet, above 300 MeV, and particles from the beam pipe and the SciFi. δ-rays, loopers and showers give
    hits without a particle, at LHCb's density, where hits are <code>crowded</code>. A third of LHCb's VELO
    hits are of particles that fly backwards, which are left out.""")
_NOISE = _text("""
    In LHCb's sample these are noise and hits whose particle was not kept; in the VELO the sample has no such
    hits. In the embedded simulation they also stand for soft particles, which LHCb's simulation keeps.""")
_SEVERAL = _text("""
    Overlapping sensors and split clusters are not simulated, and hits of δ-rays belong to no particle. A
    candidate takes one hit of a layer.""")
_EFFICIENCY = _text("""
    The embedded layers have the efficiency of a larger sample of LHCb's tracks, 96.6 %: 66, 26 and 6 %
    with 12, 11 and 10 layers. In these ten events it is 95.1 ± 0.3 %; a tenth of the SciFi hits have
    no particle, some of them perhaps because the link to it was lost.""")
_SAME = "As above."

# GeV; quantiles of momentum of LHCb's long tracks above 2 GeV, electrons and all η with them.
LARGER_SAMPLE_P = (2.4, 4.1, 7.4, 14.3, 39.0)

SECTIONS: Mapping[str, tuple[Row, ...]] = {
    "Events": (
        Row(
            "long_tracks",
            "long tracks a crossing",
            1,
            _text("""
                The embedded simulation has 5.5 collisions a crossing, chosen for this number. LHCb's has 7.6,
                with fewer tracks each."""),
        ),
        Row("velo_hits", "VELO hits a long track", 1, _SECONDARIES),
        Row("ut_hits", "UT hits a long track", 1, _SAME),
        Row("scifi_hits", "SciFi hits a long track", 1, _SAME),
        Row("velo_noise", "VELO hits without particle", 1, _NOISE, " %"),
        Row("ut_noise", "UT hits without particle", 1, _SAME, " %"),
        Row("scifi_noise", "SciFi hits without particle", 1, _SAME, " %"),
        Row(
            "velo_only",
            "particles with VELO hits alone, forward, a long track",
            2,
            "As above; LHCb's are softer still, half of them below 1.4 GeV.",
        ),
        Row(
            "scifi_only",
            "particles with SciFi hits alone, a long track",
            2,
            "Half of LHCb's come from behind z = 4 m, most of them from the pipe; so do embedded ones.",
        ),
        Row("candidates", "candidates a crossing", 1, "Long tracks and ghosts."),
        Row(
            "ghosts",
            "ghosts among them",
            1,
            _text("""
                Pairs of segments of two particles, by the search that the run is configured with; both
                searches are below."""),
            " %",
        ),
    ),
    "Particles and tracks above 2 GeV, 2 < η < 5, no electrons": (
        Row(
            "reconstructible",
            "prompt particles with enough hits",
            1,
            "Acceptance, efficiencies, decays and interactions on the way.",
            " %",
        ),
        Row(
            "vertex_spread",
            "spread of vertices along the beam",
            1,
            "The luminous region: 45 mm in <code>run3.yaml</code>; LHCb's list of vertices says 62 ± 5 mm.",
            " mm",
        ),
        Row(
            "displaced",
            "tracks that are not prompt",
            1,
            _text("""
                Too many in the embedded simulation: products of pions' interactions are 4.6 % of its
                tracks and 1.5 ± 0.5 % of LHCb's. The model makes too many that are stiff and forward."""),
            " %",
        ),
        Row(
            "velo_modules",
            "VELO modules, mean",
            2,
            _text("""
                The positions of the vertices, and η. Ten events have 76 vertices, which their tracks share;
                embedded tracks that are weighted to these vertices have LHCb's distribution: 12, 13, 14
                modules for 6.8, 5.0, 3.7 % of them, and for 6.7, 5.3, 3.2 % of LHCb's."""),
        ),
        Row("velo_several", "VELO modules with several hits", 2, _SEVERAL, " %"),
        Row(
            "ut_all", "tracks with all four UT layers", 1, "The hole for the beam pipe, and efficiency.", " %"
        ),
        Row(
            "ut_none",
            "tracks without UT hits",
            2,
            "The hole for the beam pipe: in the embedded simulation a square, in LHCb round, and as large.",
            " %",
        ),
        Row("ut_several", "UT layers with several hits", 2, _SEVERAL, " %"),
        Row("scifi_12", "tracks with 12 SciFi layers", 1, _EFFICIENCY, " %"),
        Row("scifi_11", "tracks with 11", 1, _SAME, " %"),
        Row("scifi_10", "tracks with 10", 1, _SAME, " %"),
        Row("scifi_several", "SciFi layers with several hits", 2, _SEVERAL, " %"),
    ),
    "Scattering between VELO and UT, of tracks below 10 GeV": (
        Row(
            "ut_offset",
            "UT hits off the VELO's line, over the way, times p",
            2,
            _text("""
                LHCb's particles scatter nearer to the VELO than in <code>run3.yaml</code>: UT hits lie
                further off for the same change of slope. <code>run3_fullsim.yaml</code> has its material
                there."""),
            " MeV",
        ),
        Row("ut_turn", "change of slope, times p", 2, "Both have the same amount of material.", " MeV"),
    ),
    "Hits of tracks above 10 GeV": (
        Row(
            "velo_width",
            "VELO residual",
            2,
            "Resolution, and a little scattering. LHCb's clusters lie on half pixels.",
            " µm",
        ),
        Row("velo_pull", "over its error", 3, _SAME),
        Row(
            "ut_width",
            "UT residual",
            1,
            "Pitch/√12 in both.",
            " µm",
        ),
        Row("ut_pull", "over its error", 3, _SAME),
        Row(
            "scifi_width",
            "SciFi residual",
            1,
            _text("""
                LHCb's clusters have a measured error of 85 µm, large ones of 150 to 600 µm, and so have the
                embedded ones; from their size the trigger would assume 50 to 380 µm."""),
            " µm",
        ),
        Row(
            "scifi_pull",
            "over its error",
            3,
            "Where hits are <code>crowded</code>, both have tails.",
        ),
        Row(
            "scifi_large",
            "SciFi hits off by over 0.5 mm",
            2,
            "Those tails, and hits of other particles.",
            " %",
        ),
        Row("kick", "kick, to the SciFi's middle", 4, "The field: known to 3e-4 in bending power.", " GeV"),
        Row(
            "bending",
            "change of slope over the field map's",
            4,
            "The field, too; energy loss lifts the ratio above one.",
        ),
    ),
}

SEARCHES: Mapping[str, str] = {
    "found": "Pattern recognition, segments found from hits alone",
    "truth": "Pattern recognition, segments of particles, by truth",
}

_LOST = _text("""
    LHCb's particles also scatter off nuclei on the way, and the search does not join the segments before
    and behind such a point. This is a likely cause, whose size was not measured. Decays are in both.""")

SEARCH: tuple[Row, ...] = (
    Row("ghosts", "ghosts among candidates", 1, "Pairs of segments of two particles.", " %"),
    Row("clones", "candidates of a particle that has another", 2, "Segments that share few hits.", " %"),
    *(
        Row(f"efficiency_p_{low}_{high}", f"efficiency, {low}–{high} GeV", 1, _LOST, " %")
        for low, high in ((2, 3), (3, 5), (5, 10), (10, 20), (20, 100))
    ),
    *(
        Row(f"efficiency_eta_{low}_{high}", f"efficiency, η {low}–{high}", 1, _SAME, " %")
        for low, high in ((2, 3), (3, 4), (4, 5))
    ),
    Row("hits_velo", "VELO hits a track", 2, "The positions of the vertices, and η."),
    Row("hits_ut", "UT hits a track", 2, "Efficiency and beam pipe hole; their shares were not measured."),
    Row("hits_scifi", "SciFi hits a track", 2, "Efficiency; in LHCb's ten events some links may be lost."),
    Row(
        "wrong_velo",
        "VELO hits of another",
        2,
        _text("""
            Density of hits, and clusters of two particles, for which LHCb's simulation names one. The shares
            of both were not measured."""),
        " %",
    ),
    Row("wrong_ut", "UT hits of another", 2, _SAME, " %"),
    Row("wrong_scifi", "SciFi hits of another", 2, _SAME, " %"),
    Row(
        "cut",
        "χ²/ndof that 91 % of genuine tracks stay below",
        2,
        _text("""
            Tails: clusters whose error is larger than assumed, hits of other particles, hard scattering.
            Their shares were not measured on LHCb's hits."""),
    ),
    Row(
        "kept",
        "ghosts that stay below it, too",
        1,
        "Pairs that fit nearly as well as tracks do; a looser cut keeps more of them.",
        " %",
    ),
)
