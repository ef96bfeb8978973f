"""Samples whose resolution and pulls are known by construction."""

import numpy as np
import pandas as pd

from parkf.fit.sample import Sample

SEED = 31
STATE = ("x", "y", "tx", "ty", "qop")
VARIANCES = ("xx", "yy", "txtx", "tyty", "qopqop")
SIGMA = (0.02, 0.02, 3e-4, 3e-4)


def make_sample(n=20_000, ghosts=4_000, resolution=0.005, bias=0.001, scale=1.0):
    """Genuine tracks with resolution and bias in p, pulls of width `scale`; ghosts with tenfold χ²."""
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED)
    total = n + ghosts
    rows = pd.DataFrame({"p_true": 1000 * rng.uniform(2, 100, total)})
    charge = rng.choice([-1, 1], total)
    rows["purity"] = np.where(np.arange(total) < n, 1.0, 0.5)
    rows["pdg_id"] = 211 * charge
    rows["status"] = 0
    rows["true_qop"] = charge / rows.p_true
    rows["qop"] = charge / (rows.p_true * (1 + rng.normal(bias, resolution, total)))
    rows["qopqop"] = (resolution * rows.true_qop) ** 2
    rows["file"], rows["event"] = 0, np.arange(total) // 7
    rows["polarity"] = rng.choice([-1, 1], total)
    rows["velo_n"], rows["ut_n"], rows["scifi_n"] = 10, rng.choice([3, 4], total), 12
    rows["scifi_x"] = rng.uniform(-3000, 3000, total)
    rows["z"] = rows["true_z"] = 0.0
    rows["z_end"] = np.where((np.arange(total) >= n) & (np.arange(total) % 4 == 1), 1000.0, np.inf)
    rows["hardest"] = 1.0 + rng.exponential(2.0, total)
    for name in ("x", "y"):
        rows[f"{name}t{name}"] = 0.0
    for name, variance, sigma in zip(STATE[:4], VARIANCES[:4], SIGMA, strict=True):
        rows[f"true_{name}"] = rng.normal(0, 0.1, total)
        rows[name] = rows[f"true_{name}"] + rng.normal(0, scale * sigma, total)
        rows[variance] = sigma**2
    rows["born"] = np.hypot(rows.true_x, rows.true_y)
    for name, ndof in (("velo", 16), ("ut", 3), ("scifi", 11)):
        rows[f"ndof_{name}"] = ndof
        rows[f"chi2_{name}"] = rng.chisquare(ndof, total) * np.where(rows.purity < 0.7, 10, 1)
    return Sample(rows)


def with_momenta(sample, *momenta):
    """The sample with these true momenta (MeV) in turn; the relative errors stay as they are."""
    rows = sample.rows
    p = np.resize(np.array(momenta), len(rows))
    for name in ("qop", "true_qop"):
        rows[name] *= rows.p_true / p
    rows["p_true"] = p
    return sample
