"""Response of the fitted q/p to the hits behind the magnet, measured on the fit itself."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parkf.fit import fit
from parkf.fit.candidates import Candidates
from parkf.io.option_types import Scheme
from parkf.model.layout import HEADER
from parkf.params.parameter_set import ParameterSet
from parkf.training.closure.sample import Tracks

F64 = NDArray[np.float64]
# Shift of the hits, mm: far below the error of a hit, far above rounding in float64.
SHIFT = 1e-3
# The response is assumed constant within a bin of p. These are the edges of the bins, in MeV, and the number
# of tracks that a bin needs.
EDGES = np.geomspace(1400.0, 120e3, 13)
FEWEST = 50


@dataclass(frozen=True)
class Response:
    """Derivatives of the fitted q/p by the SciFi's layers, by momentum.

    `share` is the increase of the table's tx at z_out, rad/mm, that keeps q/p when the hit in a layer is
    farther out than the forms predict. `gain` is the relative decrease of q/p over the relative increase of
    the table's bend of tx: near one where the fit measures the bend by the slope behind it alone.
    """

    p: F64  # middles of the momentum bins, (bins,), MeV
    share: F64  # (bins, 12)
    gain: F64  # (bins,)

    def shares_at(self, p: F64) -> F64:
        """Share of each layer (n, 12) at momenta (n,) in MeV."""
        return np.stack([np.interp(np.log(p), np.log(self.p), column) for column in self.share.T], axis=1)

    def gain_at(self, p: F64) -> F64:
        """Gain (n,) at momenta (n,) in MeV."""
        return np.asarray(np.interp(np.log(p), np.log(self.p), self.gain))


def measure_response(
    parameters: ParameterSet, tracks: Tracks, bend: F64, *, scheme: Scheme = "smoother", threads: int
) -> Response:
    """Fit tracks once more with each SciFi layer moved.

    Only tracks with a hit in every layer are used; some thousands are enough. `bend` (n,) is what the
    table adds to their tx, over q/p at production, in MeV. The result does not depend on `threads`.
    """
    candidates = tracks.candidates

    def moved(layer: int) -> Candidates:
        x = candidates.scifi[0].copy()
        x[:, layer] += SHIFT
        return replace(candidates, scifi=(x, *candidates.scifi[1:]))

    def fitted(some: Candidates) -> F64:
        return fit(parameters, some, scheme=scheme, precision="float64", threads=threads).qop

    before, layers = fitted(candidates), range(candidates.scifi[0].shape[1])
    moves = np.stack([(fitted(moved(layer)) - before) / SHIFT for layer in layers], axis=1)
    z_out = float(parameters.block("UTT_META")[0, HEADER.index("z_out")])
    way = parameters.block("TLayer")[0].astype(np.float64) - z_out
    # Derivative of q/p by a slope behind the magnet, which moves the hits of all layers together.
    together = moves @ way
    whole = np.isfinite(candidates.scifi[0]).all(axis=1) & np.isfinite(moves).all(axis=1)
    p = 1 / np.abs(tracks.true_qop)
    bins = np.searchsorted(EDGES, p) - 1
    middles, shares, gains = [], [], []
    for number in range(len(EDGES) - 1):
        chosen = whole & (bins == number)
        if chosen.sum() >= FEWEST:
            middles.append(np.sqrt(EDGES[number] * EDGES[number + 1]))
            share = np.median(moves[chosen] / together[chosen, None], axis=0)
            # Medians of the layers' shares do not add up to one exactly, so they are normalised.
            shares.append(share / (share @ way))
            gains.append(float(np.median(together[chosen] * bend[chosen])))
    return Response(np.array(middles), np.array(shares), np.array(gains))
