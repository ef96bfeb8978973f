"""A global fit of a track in plain NumPy: the linear system that the kernel solves, with dense matrices.

The reference filter goes along the track once and keeps what each step does to the state: s → F·s + b, with
noise Q. From these come, for all hits together, V of the residuals, and the design matrix D of the state at
the first hit and q/p; V⁻¹r is then least squares. Elements of F that the kernel leaves out are left out here,
too, and the track starts from its first two hits in closed form, as the kernel's does.
"""

import dataclasses
from functools import cache

import numpy as np
from kalman_reference import Joint, ReferenceFit
from kalman_toy import generate

from parkf.fit.residuals import COORDINATES
from parkf.io.tables import VELO_SLOTS
from parkf.model.codegen.cpp_transport import levers_and_bend
from parkf.model.codegen.numpy_step import numpy_function
from parkf.model.steps import FORMS
from parkf.model.steps.symbols import STATE, h, k, pol

SEED_WIDTH = 0.3


@cache
def kernel_jacobian(forms, name):
    """Names of the planes, and a function of parameters, state, polarity and planes: rows of the Jacobian."""
    step = FORMS[forms].steps[name]
    inputs = step.kernel_inputs
    matrix = levers_and_bend(step.kernel_jacobian)
    for part in reversed(step.kernel_parts):
        matrix = matrix.subs(part, step.kernel_parts[part])
    function = numpy_function((list(step.symbols), *STATE, k, pol, *inputs), matrix.subs(h, pol * k).tolist())
    return [str(symbol) for symbol in inputs], function


class GlobalFit(ReferenceFit):
    """Keeps F, b, Q and hits of a track's steps, and makes the joint covariance of all its hits.

    The residuals' covariance is V = R + H·P·Hᵀ, where P is the covariance of the states at all planes from
    scattering alone; start and q/p are free parameters of the fit, with design matrix D. W is then
    V⁻¹ − V⁻¹D(DᵀV⁻¹D + S)⁻¹DᵀV⁻¹, with the seed's weight S on q/p. All tracks must have as many VELO hits, in
    the order of z.
    """

    def __init__(self, toy):
        self.chain, self.rows_of, self.numbers = [], [], []
        super().__init__(toy)

    def _between(self, name, row, carry, state, **planes):
        """The kernel's Jacobian by the formulas from which it is generated."""
        inputs, function = kernel_jacobian(self.model.forms.name, name)
        f = np.tile(np.eye(5), (self.n, 1, 1))
        rows = np.broadcast_to(row, self.n)
        for r in np.unique(rows):
            here = rows == r
            p = self.model.block(name)[r]
            at = [np.broadcast_to(planes[symbol], self.n)[here] for symbol in inputs]
            values = function(p, *state[here].T, self.pol[here], *at)
            for i in range(5):
                for j in range(5):
                    f[here, i, j] = values[i][j]
        return f

    def _carry(self, function, f, q):
        start = self.at_reference()
        b = function(start) - np.einsum("nij,nj->ni", f, start)
        self.chain.append((f, np.broadcast_to(q, (self.n, 5, 5)), b))
        super()._carry(function, f, q)

    def _forward_velo(self):
        a, n, r = self.a, self.n, self.variance
        k = a["qop"]
        assert (a["velo_n"] == a["velo_n"][0]).all()
        x, y, z = (a[f"velo_{axis}"][:, :2].T for axis in "xyz")
        dz = z[1] - z[0]
        slopes = (x[1] - x[0]) / dz, (y[1] - y[0]) / dz
        state = np.column_stack([x[0], y[0], *slopes, k])
        q = self.model.noise_matrix("V", 0, state, self.pol, z[0], z[1])

        kink = self._between("V", 0, None, state, z0=z[0], z1=z[1])[:, 2, 4]
        # x₂ = x₁ + Δ·(tx₁ + ½κk) + noise, tx₂ = tx₁ + κk + noise.
        f = np.tile(np.eye(5), (n, 1, 1))
        f[:, 0, 2] = f[:, 1, 3] = dz
        f[:, 0, 4], f[:, 2, 4] = 0.5 * kink * dz, kink
        self.chain.append((f, q, np.zeros((n, 5))))
        # The joint state from independent numbers: both hits, q/p, and the four numbers of the noise.
        joint = Joint(x[0], y[0], k)
        spread = np.zeros((n, 9, 9))  # columns: x₁, y₁, x₂, y₂, k, noise of x, y, tx, ty
        independent = np.zeros((n, 9, 9))
        independent[:, range(4), range(4)] = r
        independent[:, 4, 4] = (SEED_WIDTH * k) ** 2
        independent[:, 5:, 5:] = q[:, :4, :4]
        for axis in (0, 1):
            bend = kink if axis == 0 else np.zeros(n)
            spread[:, 5 + axis, axis] = spread[:, axis, 2 + axis] = 1
            for row, sign in ((7 + axis, -0.5), (2 + axis, 0.5)):
                spread[:, row, axis], spread[:, row, 2 + axis] = -1 / dz, 1 / dz
                spread[:, row, 5 + axis], spread[:, row, 4] = -1 / dz, sign * bend
            spread[:, 2 + axis, 7 + axis] = 1
        spread[:, 4, 4] = 1
        measured = np.column_stack([x[0], y[0], x[1], y[1], k, np.zeros((n, 4))])
        joint.state = np.einsum("nij,nj->ni", spread, measured)
        joint.c = spread @ independent @ spread.transpose(0, 2, 1)
        self.joint, self.z = joint, z[1].copy()
        one = np.tile([1.0, 0, 0, 0, 0], (n, 1))
        for slot in range(2):
            for axis, at in enumerate((x, y)):
                row = one if axis == 0 else one[:, [1, 0, 2, 3, 4]]
                self.rows_of.append((slot, row, at[slot], np.full(n, r)))
                self.numbers.append(VELO_SLOTS * axis + slot)
        for slot in range(2, a["velo_n"][0]):
            self._step("V", 0, a["velo_z"][:, slot])
            for axis, name in enumerate("xy"):
                row = one if axis == 0 else one[:, [1, 0, 2, 3, 4]]
                self.rows_of.append((slot, row, a[f"velo_{name}"][:, slot], np.full(n, r)))
                self.numbers.append(VELO_SLOTS * axis + slot)
            self.residuals["velo"] += self._velo_hit(slot)

    def _strip(self, kind, layer, nominal):
        x, z, dxdy, variance = super()._strip(kind, layer, nominal)
        # The step to this layer is made next.
        self._pending = 2 * VELO_SLOTS + layer + (4 if kind == "scifi" else 0)
        return x, z, dxdy, variance

    def _ut(self):
        self._measured(super()._ut)

    def _scifi(self):
        self._measured(super()._scifi)

    def _measured(self, run):
        """Keep each strip when the joint state is updated with it."""
        measure = self.joint.measure

        def keep(value, row, variance):
            self.rows_of.append((len(self.chain), row, value, np.broadcast_to(variance, self.n)))
            self.numbers.append(self._pending)
            return measure(value, row, variance)

        self.joint.measure = keep
        run()
        self.joint.measure = measure

    def weights(self):
        """W (n, 68, 68); rows without a hit are 0."""
        w = np.zeros((self.n, COORDINATES, COORDINATES))
        for i in range(self.n):
            v, design, numbers = self.covariance(i)
            w[i][np.ix_(numbers, numbers)] = self.projected(i, v, design)[0]
        return w

    def pulled(self):
        """V⁻¹r at the best start and q/p, (68, n), and this q/p, (n,)."""
        w, k = np.zeros((COORDINATES, self.n)), np.zeros(self.n)
        for i in range(self.n):
            v, design, numbers = self.covariance(i)
            w[numbers, i], k[i] = self.solved(i, v, design, self.residual(i))
        return w, k

    def solved(self, i, v, design, residual):
        """V⁻¹r of track i at the best start and q/p, and this q/p, of residuals of :meth:`residual`."""
        solved, seed = np.linalg.solve(v, design), self.a["qop"][i]
        information, weight = design.T @ solved, 1 / (SEED_WIDTH * seed) ** 2
        information[4, 4] += weight
        known = solved.T @ residual
        known[4] += weight * (seed - self.qop[i])
        change = np.linalg.solve(information, known)
        return np.linalg.solve(v, residual - design @ change), self.qop[i] + change[4]

    def kept_hits(self, i):
        """Numbers in ``rows_of`` of the hits of track i."""
        return [m for m, (_, _, value, _) in enumerate(self.rows_of) if np.isfinite(value[i])]

    def residual(self, i):
        """Hits minus the prediction from the filter's first state and q/p, without scattering."""
        state = np.append(self.joint.state[i, 5:], self.qop[i])
        states = [state]
        for f, _, b in self.chain:
            states.append(f[i] @ states[-1] + b[i])
        kept = [self.rows_of[m] for m in self.kept_hits(i)]
        return np.array([value[i] - row[i] @ states[at] for at, row, value, _ in kept])

    def projected(self, i, v, design):
        """W of track i, and log det V + log det(DᵀV⁻¹D + S)."""
        v_inverse = np.linalg.inv(v)
        solved = v_inverse @ design
        information = design.T @ solved
        information[4, 4] += 1 / (SEED_WIDTH * self.a["qop"][i]) ** 2
        size = np.diag([1, 1, 1, 1, 1e-4])  # for determinants of the size of float64
        logs = np.linalg.slogdet(v)[1] + np.linalg.slogdet(size @ information @ size)[1]
        return v_inverse - solved @ np.linalg.solve(information, solved.T), logs

    def covariance(self, i, step=None, factor=1.0, hit=None):
        """V without start and q/p, the design matrix, and the numbers of the coordinates of track i.

        The noise of one of the steps, or the variance of one coordinate's hit, may be larger by a factor.
        """
        # Transport from the first hit to each plane, and the covariance of the states there.
        to, planes = np.eye(5), [(np.eye(5), np.zeros((5, 5)))]
        cross = [{0: np.zeros((5, 5))}]
        for number, (f, q, _) in enumerate(self.chain):
            to = f[i] @ to
            before = cross[-1]
            here = {m: f[i] @ c for m, c in before.items()}
            larger = factor if number == step else 1.0
            own = f[i] @ before[len(cross) - 1] @ f[i].T + larger * q[i]
            here[len(cross)] = own
            planes.append((to, own))
            cross.append(here)
        kept = self.kept_hits(i)
        h = [self.rows_of[m][1][i] for m in kept]
        at = [self.rows_of[m][0] for m in kept]
        v = np.zeros((len(kept), len(kept)))
        for a in range(len(kept)):
            for b in range(a + 1):
                late, early = (a, b) if at[a] >= at[b] else (b, a)
                c = cross[at[late]][at[early]]
                v[a, b] = v[b, a] = h[late] @ c @ h[early]
            v[a, a] += self.rows_of[kept[a]][3][i] * (factor if self.numbers[kept[a]] == hit else 1.0)
        design = np.array([h[a] @ planes[at[a]][0] for a in range(len(kept))])
        return v, design, [self.numbers[m] for m in kept]


def alike(forms, count=12, *, seed_error=0.0):
    """Some toys with as many VELO hits each."""
    toy = generate(count, 12000.0, seed=4, seed_error=seed_error, efficiency=0.9, forms=forms)
    whole = toy.arrays["velo_n"] == np.bincount(toy.arrays["velo_n"]).argmax()
    return dataclasses.replace(toy, arrays={n: a[whole] for n, a in toy.arrays.items()})
