"""An independent fit: float64, dense matrices, textbook updates, Jacobians by finite differences.

One state of 9 components holds the current state and the state at the first hit; q/p is a component like the
others. The fit starts from a wide prior instead of the closed form from two hits. Only the formulas of the
steps are the kernel's, through their NumPy functions.
"""

import numpy as np

from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, numpy_step
from parkf.model.steps import FORMS

STEPS_SIZE = np.array([1e-3, 1e-3, 1e-7, 1e-7, 0.0])
# Elements of the Jacobians between planes that the kernel uses for gains and covariances.
LEVERS_AND_BEND = np.zeros((5, 5), dtype=bool)
LEVERS_AND_BEND[[0, 0, 2, 2, 1], [2, 4, 2, 4, 3]] = True
COMPONENTS = ("xx", "xtx", "txtx", "yy", "yty", "tyty")


def landing(state, z, plane, lean):
    """Return z where the straight line from z meets the plane z = plane + lean·y."""
    return z + (plane + lean * state[:, 1] - z) / (1 - lean * state[:, 3])


class Model:
    """The step functions for states (n, 5), with the numbers of a parameter set."""

    def __init__(self, parameters):
        self.forms = FORMS[parameters.manifest.forms]
        self.constant = parameters.constant.astype(float)
        self.table = parameters.table.astype(float)
        self.header = self.block("UTT_META")[0]
        self.z_in, self.z_out = self.header[:2]
        # Coefficients of f and f², without u, for x, tx, y and ty.
        n_x, n_y, before_y = (
            int(self.header[16]),
            int(self.header[18]),
            2 * int(self.header[16]) + 4 * int(self.header[15]),
        )
        self.leading = [at + power for at in (0, n_x, before_y, before_y + n_y) for power in (0, 1)]

    def block(self, name):
        return self.constant[self.forms.layout.block_slice(name)].reshape(self.forms.layout.block(name).shape)

    def functions(self, name):
        return numpy_step(self.forms.steps[name])

    def gap_row(self, gap, y):
        """Row of a SciFi gap's parameters: one row for each gap, or one for each gap and sign of y."""
        joined = self.forms.steps["T"].joined
        return (2 * gap + (y < 0)) // joined

    def _by_row(self, function, name, row, state, polarity, z0, z1, before=None):
        # The state before the hop through the magnet; other steps do not use it.
        begins = (state if before is None else before)[:, :4].T
        columns = (*state.T, polarity, z0, z1, *begins)
        keys = ("x0", "y0", "tx0", "ty0", "qop", "polarity", "z0", "z1", *BEFORE_COLUMNS)
        results = None
        row = np.broadcast_to(row, len(state))
        for r in np.unique(row):
            chosen = row == r
            rows = {key: np.broadcast_to(c, len(state))[chosen] for key, c in zip(keys, columns, strict=True)}
            values = function(self.block(name)[r], rows)
            values = values if isinstance(values, dict) else dict(enumerate(values))
            if results is None:
                results = {key: np.empty(len(state)) for key in values}
            for key, value in values.items():
                results[key][chosen] = value
        return results

    def predict(self, name, row, state, polarity, z0, z1):
        values = self._by_row(self.functions(name).predict, name, row, state, polarity, z0, z1)
        return np.column_stack([*values.values(), state[:, 4]])

    def noise(self, name, row, state, polarity, z0, z1, before=None):
        return self._by_row(self.functions(name).noise, name, row, state, polarity, z0, z1, before)

    def noise_matrix(self, name, row, state, polarity, z0, z1, before=None):
        s = self.noise(name, row, state, polarity, z0, z1, before)
        q = np.zeros((len(state), 5, 5))
        for a, c in enumerate("xy"):
            q[:, a, a], q[:, a + 2, a + 2] = s[c] ** 2, s["t" + c] ** 2
            q[:, a, a + 2] = q[:, a + 2, a] = s["rho_" + c] * s[c] * s["t" + c]
        return q

    def interpolated(self, state):
        """Return the coefficients (n, 80) at states by the six-point formula of Abramowitz & Stegun."""
        depth = self.z_in + {"production": 0.0, "improved": 0.3}[self.forms.name] * (self.z_out - self.z_in)
        x, y = (state[:, i] + (depth - self.z_in) * state[:, i + 2] for i in (0, 1))

        def axis(place, bins):
            at = (place + 1) * bins / 2
            nearest = np.clip(np.floor(at), 1, bins - 2)
            offset = np.clip(at - nearest - 0.5, -1.5, 1.5)
            return nearest.astype(int), np.where(offset < 0, -1, 1), np.abs(offset)

        i, di, p = axis(x / depth / self.header[7], 60)
        j, dj, q = axis(y / depth / self.header[8], 50)
        terms = [
            (0, -1, q * (q - 1) / 2),
            (-1, 0, p * (p - 1) / 2),
            (0, 0, 1 + p * q - p**2 - q**2),
            (1, 0, p * (p - 2 * q + 1) / 2),
            (0, 1, q * (q - 2 * p + 1) / 2),
            (1, 1, p * q),
        ]
        return sum(w[:, None] * self.table[i + a * di, j + b * dj] for a, b, w in terms)

    def magnet(self, state, k, polarity, coefficients=None, *, roughly=False):
        """Carry states from z_in to z_out with the bend of q/p = k.

        `coefficients` may be those of another place. With `roughly`, nothing bends y and the table's result
        is not corrected.
        """
        x, y, tx, ty, own = state.T
        c = self.interpolated(state) if coefficients is None else coefficients
        z_in, z_out, p_min, bx, bx2, by2, bxy = self.header[:7]
        h = polarity * self.functions("UTTF").local_qop(self.block("UTTF")[0], k)
        u_x = (tx - x / z_in - (bx + bx2 * (x / z_in) ** 2 + by2 * (y / z_in) ** 2) * h) / self.header[10]
        u_y = (ty - y / z_in - bxy * x * y / z_in**2 * h) / self.header[10]
        f = h * p_min

        def series(start, count):
            # Beyond |f| = 1.05 the polynomial continues as its tangent.
            near, powers = np.clip(f, -1.05, 1.05), np.arange(1, count + 1)
            part = c[:, start : start + count]
            tangent = np.sum(part * powers * near[:, None] ** (powers - 1), axis=1)
            return np.sum(part * near[:, None] ** powers, axis=1) + tangent * (f - near)

        def sums(centre, by_x, by_y, plane):
            return series(centre, n[plane]) + u_x * series(by_x, m[plane]) + u_y * series(by_y, m[plane])

        # Order: centres of x and tx, then terms with u_x and u_y of x, then those of tx; the same for y.
        n = {"x": int(self.header[16]), "y": int(self.header[18])}
        m = {"x": int(self.header[15]), "y": int(self.header[17])}
        moved = {}
        begin = 0
        for plane in "xy":
            by, end = begin + 2 * n[plane], begin + 2 * n[plane] + 4 * m[plane]
            moved[plane] = sums(begin, by, by + m[plane], plane)
            moved["t" + plane] = sums(begin + n[plane], by + 2 * m[plane], by + 3 * m[plane], plane)
            begin = end
        if roughly:
            moved["y"] = moved["ty"] = 0.0
        sx, sy = tx, ty
        if self.forms.name == "improved":
            sx, sy = (t / np.sqrt(1 + tx**2 + ty**2) for t in (tx, ty))
        sx, sy = sx + moved["tx"], sy + moved["ty"]
        if self.forms.name == "improved":
            sx, sy = (s / np.sqrt(np.maximum(1 - sx**2 - sy**2, 0.05)) for s in (sx, sy))
        dz = z_out - z_in
        there = np.column_stack([x + tx * dz + moved["x"], y + ty * dz + moved["y"], sx, sy, k])
        if not roughly:
            there = self.predict("UTTF", 0, there, polarity, z_out, z_out)
        there[:, 4] = own
        return there


def jacobian(function, state):
    """(n, 5, 5) by central differences."""
    result = np.zeros((len(state), 5, 5))
    for j in range(5):
        eps = STEPS_SIZE[j] if j < 4 else 1e-5 * np.abs(state[:, 4])
        up, down = state.copy(), state.copy()
        up[:, j] += eps
        down[:, j] -= eps
        result[:, :, j] = (function(up) - function(down)) / np.broadcast_to(2 * eps, len(state))[:, None]
    return result


class Joint:
    """The current state (5) and the one at the first hit (4), with their joint covariance (9×9)."""

    def __init__(self, x, y, k):
        n = len(x)
        self.state = np.zeros((n, 9))
        self.state[:, 0] = self.state[:, 5] = x
        self.state[:, 1] = self.state[:, 6] = y
        self.state[:, 4] = k
        prior = np.zeros((n, 5, 5))
        # Wide enough to contribute only 1e-5 to the result, narrow enough for float64.
        prior[:, [0, 1], [0, 1]], prior[:, [2, 3], [2, 3]] = 1e2, 10.0
        prior[:, 4, 4] = 0.09 * k**2
        same = np.eye(9, 5)
        same[5:] = np.eye(4, 5)
        self.c = same @ prior @ same.T

    def carry(self, state, f, q):
        self.state[:, :5] = state
        big = np.zeros_like(self.c)
        big[:, :5, :5], big[:, 5:, 5:] = f, np.eye(4)
        self.c = big @ self.c @ big.transpose(0, 2, 1)
        self.c[:, :5, :5] += q

    def at(self, k):
        """Return the states (n, 5) expected if q/p were k, by regression on q/p."""
        per_k = self.c[:, :5, 4] / self.c[:, 4, 4, None]
        return self.state[:, :5] + per_k * (k - self.state[:, 4])[:, None]

    def measure(self, value, row, variance):
        """Update with a measured `value` = row·state, where the value is finite.

        Returns
        -------
        residual : function of k
            Value minus its prediction from all measurements before, if q/p were k (n,).
        variance : (n,) float64
            Variance of the residual; infinite where there is no value.
        """
        has = np.isfinite(value)
        h = np.concatenate([row, np.zeros((len(row), 4))], axis=1)
        r = np.where(has, value - np.sum(h * self.state, axis=1), 0)
        ph = np.einsum("nij,nj->ni", self.c, h)
        s = np.sum(ph * h, axis=1) + variance
        per_k, k = ph[:, 4] / self.c[:, 4, 4], self.state[:, 4].copy()
        left = np.where(has, s - ph[:, 4] * per_k, np.inf)
        gain = ph / s[:, None] * has[:, None]
        self.state += gain * r[:, None]
        joseph = np.eye(9) - gain[:, :, None] * h[:, None, :]
        self.c = joseph @ self.c @ joseph.transpose(0, 2, 1)
        self.c += np.where(has, variance, 0)[:, None, None] * gain[:, :, None] * gain[:, None, :]
        return lambda final: r - per_k * (final - k), left


def rows(n, *values):
    return np.column_stack([np.broadcast_to(v, n) for v in values])


class ReferenceFit:
    """The smoother for toys whose hits are all present or NaN; every attribute is a result (n,).

    With `complete` the whole Jacobian is used, as a fit should do. Otherwise only the elements are used that
    the kernel keeps.
    """

    def __init__(self, toy, *, complete=False):
        self.kept = np.ones((5, 5), dtype=bool) if complete else LEVERS_AND_BEND
        self.toy, self.a, self.model = toy, toy.arrays, Model(toy.parameters)
        self.n, self.pol = len(self.a["qop"]), self.a["polarity"]
        self.reference = self.a["qop"].copy()
        self.variance = toy.parameters.manifest.constants.velo_sigma**2
        self.residuals = {"velo": [], "ut": [], "scifi": []}
        self._forward_velo()
        self._ut()
        self._magnet()
        self._scifi()
        for piece, hits in self.residuals.items():
            setattr(
                self, f"chi2_{piece}", sum(residual(self.qop) ** 2 / variance for residual, variance in hits)
            )
        self._publish(self.joint.state[:, 5:], self.joint.c[:, 5:, 5:], self.a["velo_z"][:, 0])

    def at_reference(self):
        return self.joint.at(self.reference)

    def _carry(self, function, q, f=None):
        """Carry the state by `function`, linearised with the Jacobian `f` at the reference's q/p."""
        start = self.at_reference()
        if f is None:
            f = np.where(self.kept, jacobian(function, start), np.eye(5))
        off = np.einsum("nij,nj->ni", f, self.joint.state[:, :5] - start)
        self.joint.carry(function(start) + off, f, q)

    def _step(self, name, row, z1, noise=True):
        """Go one step, to fixed z."""
        state = self.at_reference()
        q = 0.0
        if noise:
            q = self.model.noise_matrix(name, row, state, self.pol, self.z, z1)

        def carry(s):
            return self.model.predict(name, row, s, self.pol, self.z, z1)

        self._carry(carry, q)
        self.z = np.broadcast_to(z1, self.n).astype(float)

    def _velo_hit(self, slot):
        one = rows(self.n, 1, 0, 0, 0, 0)
        return [
            self.joint.measure(self.a["velo_x"][:, slot], one, self.variance),
            self.joint.measure(self.a["velo_y"][:, slot], one[:, [1, 0, 2, 3, 4]], self.variance),
        ]

    def _forward_velo(self):
        self.joint = Joint(self.a["velo_x"][:, 0], self.a["velo_y"][:, 0], self.a["qop"])
        self.z = self.a["velo_z"][:, 0].copy()
        self._velo_hit(0)
        for slot in range(1, 15):
            has = slot < self.a["velo_n"]
            kept = self.joint.state.copy(), self.joint.c.copy(), self.z.copy()
            self._step("V", 0, np.where(has, self.a["velo_z"][:, slot], self.z + 1))
            self.residuals["velo"] += self._velo_hit(slot)
            for new, old in zip((self.joint.state, self.joint.c, self.z), kept, strict=True):
                new[~has] = old[~has]

    def _strip(self, kind, layer, nominal):
        x, z, dxdy, sigma = (self.a[f"{kind}_{q}"][:, layer] for q in ("x", "z", "dxdy", "sigma"))
        has = np.isfinite(x)
        return x, np.where(has, z, nominal), np.where(has, dxdy, 0), np.where(has, sigma, 1) ** 2

    def _ut(self):
        for layer in range(4):
            x, z, dxdy, variance = self._strip("ut", layer, self.model.block("UTLayer")[0, layer])
            self._step(*(("VUT", 0) if layer == 0 else ("UT", layer - 1)), z)
            self.residuals["ut"] += [self.joint.measure(x, rows(self.n, 1, -dxdy, 0, 0, 0), variance)]
        self._step("UT", 2, np.full(self.n, self.model.z_in), noise=False)

    def _magnet(self):
        # The bins are those of the position at the seed's q/p.
        coefficients = self.model.interpolated(self.at_reference())

        def bent(s):
            moved, leading = coefficients.copy(), self.model.leading
            moved[:, leading] = self.model.interpolated(s)[:, leading]
            return self.model.magnet(s, s[:, 4], self.pol, moved)

        def bent_in_bins(s):
            return self.model.magnet(s, s[:, 4], self.pol, coefficients)

        self.reference = self._newton(coefficients)
        state = self.at_reference()
        there, f = bent_in_bins(state), jacobian(bent, state)
        # The kernel's convention: at fixed slope, a shift before the magnet is the same shift behind it.
        f[:, :, :2] = np.eye(5, 2)
        q = self.model.noise_matrix("UTTF", 0, there, self.pol, self.z, self.z, before=state)
        self._carry(bent_in_bins, q, f)
        self.z = np.full(self.n, self.model.z_out)

    def _newton(self, coefficients):
        """Return q/p from all earlier measurements and the first SciFi hit.

        Of the earlier uncertainties at fixed q/p, only the slope's enters the residual's variance.
        """

        def bent(s):
            return self.model.magnet(s, s[:, 4], self.pol, coefficients, roughly=True)

        first = np.argmax(np.isfinite(self.a["scifi_x"]), axis=1)
        x, plane, t, sigma = (
            np.take_along_axis(self.a[f"scifi_{q}"], first[:, None], 1)[:, 0]
            for q in ("x", "z", "dxdy", "sigma")
        )
        state, z_out = self.at_reference(), self.model.z_out
        there, f = bent(state), jacobian(bent, state)
        dz = landing(there, z_out, plane, 0.0036) - z_out
        lever = z_out + dz - self.model.z_in
        residual = x - (there[:, 0] + dz * there[:, 2]) + t * (there[:, 1] + dz * there[:, 3])
        c = self.joint.c
        per_k = c[:, :4, 4] / c[:, 4, 4, None]
        by_k = f[:, 0, 4] + dz * f[:, 2, 4] + per_k[:, 0] + lever * per_k[:, 2]
        variance = sigma**2 + lever**2 * (c[:, 2, 2] - c[:, 2, 4] * per_k[:, 2])
        k = self.joint.state[:, 4]
        self.variance_of_reference = 1 / (1 / c[:, 4, 4] + by_k**2 / variance)
        gain = c[:, 4, 4] * by_k / (by_k**2 * c[:, 4, 4] + variance)
        return k + gain * (residual - by_k * (k - self.reference))

    def _scifi(self):
        lean = 1 / self.model.block("TLayer")[1]
        before = None
        for layer in range(12):
            x, plane, dxdy, variance = self._strip("scifi", layer, self.model.block("TLayer")[0, layer])
            state = self.at_reference()
            row = self.model.gap_row(layer - 1, state[:, 1]) if layer else 0
            name = "T" if layer else "TFT"

            def places(s, layer=layer, before=before, plane=plane):
                z0 = before + lean[layer - 1] * s[:, 1] if layer else np.full(self.n, self.model.z_out)
                return z0, landing(s, z0, plane, lean[layer])

            def carry(s, name=name, row=row, places=places):
                return self.model.predict(name, row, s, self.pol, *places(s))

            q = 0.0
            if layer:
                q = self.model.noise_matrix(name, row, state, self.pol, *places(state))
            self._carry(carry, q)
            self.residuals["scifi"] += [self.joint.measure(x, rows(self.n, 1, -dxdy, 0, 0, 0), variance)]
            before = plane
        self.qop, self.qopqop = self.joint.state[:, 4].copy(), self.joint.c[:, 4, 4].copy()

    def _publish(self, state, c, z):
        constants = self.toy.parameters.manifest.constants
        offset = np.array([constants.beam_x, constants.beam_y]) - state[:, :2]
        dz = np.sum(offset * state[:, 2:4], axis=1) / np.sum(state[:, 2:4] ** 2, axis=1)
        five = np.column_stack([state, self.qop])
        f = np.broadcast_to(np.eye(4), (self.n, 4, 4)).copy()
        f[:, 0, 2] = f[:, 1, 3] = dz
        q = self.model.noise_matrix("BEAM", 1, five, self.pol, z, z + dz)[:, :4, :4]
        c = f @ c @ f.transpose(0, 2, 1) + q
        self.z = z + dz
        half = np.abs(dz) / 2
        there = self.model.predict("V", 1, five, self.pol, z + half, self.z + half)
        self.x, self.y, self.tx, self.ty = there[:, :4].T
        for name, (i, j) in zip(COMPONENTS, [(0, 0), (0, 2), (2, 2), (1, 1), (1, 3), (3, 3)], strict=True):
            setattr(self, name, c[:, i, j])
