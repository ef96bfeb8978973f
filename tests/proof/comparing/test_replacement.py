"""Whether to replace the published set: ten changes of a detector, on tracks whose errors are known."""

import re
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from parkf.fit.sample import Sample
from parkf.params.manifest import Gate
from parkf.proof.comparing.replacement import judge_replacement
from parkf.proof.validation.pairing import compare_fits

SEED = 73


class Toys:
    """Candidates of `crossings`, which sets fit with the same scatterings and hits.

    Half of δp/p is from scattering and the same at all momenta; the other half grows with momentum. With
    `material` and `hits`, the detector has more of either than the published set assumes.
    """

    def __init__(self, crossings=500, *, material=1.0, hits=1.0, seed=SEED):
        print(f"seed {seed}")
        self.rng = rng = np.random.default_rng(seed)
        tracks, ghosts = 40 * crossings, 8 * crossings
        n = tracks + ghosts
        charge, polarity = rng.choice([-1, 1], (2, n))
        p = 1000 * np.exp(rng.uniform(np.log(2), np.log(100), n))
        self.truth = {
            "file": np.zeros(n, np.int16),
            "event": rng.integers(0, crossings, n),
            "purity": np.where(np.arange(n) < tracks, 1.0, 0.5),
            "p_true": p,
            "pdg_id": 211 * charge,
            "z_end": np.full(n, np.inf),
            "true_tx": rng.normal(0, 0.1, n),
            "true_qop": charge / p,
            "polarity": polarity,
        }
        self.truth |= {f"ndof_{name}": np.full(n, 9) for name in ("velo", "ut", "scifi")}
        # States, whose errors are one and the same for all sets.
        other = np.random.default_rng(seed + 1)
        self.truth |= dict.fromkeys(("true_x", "true_y", "true_ty"), np.zeros(n))
        states = ("x", "y", "tx", "ty")
        self.states = {name: self.truth[f"true_{name}"] + other.normal(size=n) for name in states}
        self.states |= {2 * name: np.ones(n) for name in states}
        self.sigma = 0.003, 1e-7 * p
        self.error = material * self.sigma[0] * rng.normal(size=n), hits * self.sigma[1] * rng.normal(size=n)
        self.chi2 = rng.chisquare(9, (3, n)) * np.where(self.truth["purity"] < 0.7, rng.uniform(1, 5, n), 1)

    def fit(self, *, noise=0.02, material=1.0, hits=1.0, scale=1.0, shift=0.0, half=False):
        """Fit with a set; `scale` and `shift` (1/MeV) change q/p, and `noise` is its own, over the error."""
        n, sigma = len(self.sigma[1]), np.hypot(material * self.sigma[0], hits * self.sigma[1])
        true, polarity = self.truth["true_qop"], self.truth["polarity"]
        error = sum(self.error) + noise * sigma * self.rng.normal(size=n)
        side = self.truth["true_tx"] > 0 if half else 1
        chi2 = self.chi2 * (1 + 0.1 * noise * self.rng.normal(size=(3, n)))
        fitted = {f"chi2_{name}": one for name, one in zip(("velo", "ut", "scifi"), chi2, strict=True)}
        fitted |= {"qop": scale * true / (1 + error) + shift * polarity * side, "qopqop": (sigma * true) ** 2}
        return Sample(pd.DataFrame({**self.truth, **self.states, **fitted, "status": 0}))


def told(own, published, **gates):
    return judge_replacement(compare_fits(own, published), "r016", **gates)


# What the world is, what the published set gets wrong in it, and what the answer says.
CHANGES = {
    "field +0.2 %": ({}, {"scale": 1.002}, "Replace r016: its momenta at .* low, "),
    "field −0.05 %": ({}, {"scale": 0.9995}, "Replace r016: its momenta at .* high, "),
    "layer +100 µm": ({}, {"shift": 5e-8}, "Replace r016: its momenta at .* GeV, tx . 0, bent to"),
    "half +50 µm": ({}, {"shift": 2.5e-8, "half": True}, "Replace r016: its momenta at .*, tx > 0, bent to"),
    "material ×1.1": ({"material": 1.1}, {}, r"Replace r016: its width of the q/p pull at .* is 1\."),
    "hit errors ×1.1": ({"hits": 1.1}, {}, r"Replace r016: its width of the q/p pull at .* is 1\."),
    "polarity": ({}, {"scale": -1.0}, "Replace r016: its width of the q/p pull at"),
    "nothing": ({}, {"noise": 0.0}, "Keep r016: both sets fit all tracks alike."),
    "other seed": ({}, {"noise": 0.005}, "Keep r016: no difference that matters is seen; the largest: "),
    "older forms": ({}, {"noise": 0.3}, "Replace r016: its core of δp/p at"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_ten_changes_of_a_detector_have_their_answers(change):
    """With the sets exchanged, the answer is the opposite, since it is then the run's that is wrong."""
    world, wrong, sentence = CHANGES[change]
    toys = Toys(**world)
    own = toys.fit(**world, noise=min(0.02, wrong.get("noise", 0.02)))
    published = toys.fit(**wrong)
    said = told(own, published)
    assert re.match(sentence, said.sentence), said.sentence
    assert said.verdict == said.sentence.partition(" ")[0].lower()
    swapped = told(published, own)
    assert swapped.verdict == "keep", swapped.sentence
    assert said.verdict == "keep" or "; this set is worse by " in swapped.sentence


def test_gates_and_statistics_come_before_a_replacement():
    toys = Toys(100)
    good, old = toys.fit(), toys.fit(scale=1.002)
    assert told(good, old).verdict == "replace"
    bad = Gate(what="ghosts", measured="31 %", bar="≤ 30 %", met=False, value=0.31, at_most=0.3)
    missed = told(good, old, gates=[bad, bad.model_copy(update={"what": "pull"})])
    assert missed.verdict == "keep"
    reason, _, but = missed.sentence.partition("; but ")
    assert reason == "Keep r016: this set misses a gate, ghosts: 31 % (bar ≤ 30 %), and 1 more"
    assert re.match("the published set's momenta .* low, this set's .*; it is worse by", but)
    blind = Gate(what="mass of D0", measured="not measured", bar="≤ 1", met=False)
    unmeasured = told(good, old, gates=[blind])
    assert unmeasured.verdict == "cannot tell"
    assert unmeasured.sentence.endswith("are not measured (1, first mass of D0): run with more events.")
    uncertain = told(toys.fit(noise=0.5), toys.fit(noise=0.5))
    assert uncertain.verdict == "cannot tell"
    assert re.search(r"; about [\d,]+ more crossings would tell\.$", uncertain.sentence)
    few = Toys(8)
    assert "fewer than 50 tracks" in told(few.fit(), few.fit()).sentence


def test_sets_that_are_each_worse_somewhere_cannot_be_told_apart():
    toys = Toys(200)
    said = told(toys.fit(scale=1.002), toys.fit(noise=0.5))
    assert said.verdict == "cannot tell"
    assert re.search(
        "its core .*; it is worse by .*; but its momenta .*; this set is worse by", said.sentence
    )


def test_errors_of_pairs_cover_the_truth():
    """Differences are of twins with the same scatterings, in twelve toys; benchmarks/coverage.py has more.

    360 biases make the coverage known to 3 %, 72 cores and pulls to 5 %, and 12 ghosts to 14 %.
    """
    off = defaultdict(list)
    for seed in range(12):
        toys = Toys(60, seed=seed)
        for one in compare_fits(toys.fit(noise=0.1), toys.fit(noise=0.1, scale=1 / 1.001))["figures"]:
            expected = {"bias": 0.001, "core": 0.001 * one["own"]}.get(one["figure"], 0.0)
            # The states of twins are the same.
            if one["n"] > 100 and "component" not in one:
                off[one["figure"]].append(abs(one["published"] - one["own"] - expected) / one["error"])
    limits = {"bias": (0.6, 0.76, 0.92, 0.98), "core": (0.53, 0.83, 0.88, 1), "pull": (0.53, 0.83, 0.88, 1)}
    for figure, (least, most, least_of_two, most_of_two) in (limits | {"ghosts": (0.3, 1, 0.75, 1)}).items():
        inside = [np.mean(np.less(off[figure], limit)) for limit in (1, 2)]
        assert least < inside[0] <= most, figure
        assert least_of_two < inside[1] <= most_of_two, figure
