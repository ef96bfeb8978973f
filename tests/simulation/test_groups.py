import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import cKDTree

from parkf.simulation.groups import best_of_each, ragged
from parkf.simulation.pattern.matching import first_come
from parkf.simulation.pattern.velo import _nearest_of_module


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=60))
def test_pairs_are_chosen_as_one_after_the_other(pairs):
    taken_i, taken_j, expected = set(), set(), []
    for number, (i, j) in enumerate(pairs):
        if i not in taken_i and j not in taken_j:
            taken_i.add(i)
            taken_j.add(j)
            expected.append(number)
    i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
    assert first_come(i, j).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4)), max_size=20))
def test_ranges_are_spread_out(ranges):
    first, count = np.array(ranges, dtype=int).reshape(-1, 2).T
    group, place = ragged(first, first + count)
    expected = [(g, f + k) for g, (f, n) in enumerate(ranges) for k in range(n)]
    assert list(zip(group.tolist(), place.tolist(), strict=True)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30))
def test_the_first_of_the_best_counts(entries):
    entries.sort(key=lambda entry: entry[0])
    group, score = np.array(entries, dtype=int).reshape(-1, 2).T
    expected = [-1] * 6
    for g in range(6):
        own = [(s, n) for n, (h, s) in enumerate(entries) if h == g]
        expected[g] = min(own)[1] if own else -1
    best = best_of_each(np.full(6, -1), group, np.arange(len(group)), score.astype(float))
    assert best.tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_nearest_hit_of_a_module_is_found(data):
    size = data.draw(st.integers(1, 40))
    points = data.draw(arrays(np.float64, (size, 2), elements=st.floats(-40, 40)))
    module = data.draw(arrays(np.int64, size, elements=st.integers(0, 3)))
    own = data.draw(arrays(np.int64, 10, elements=st.integers(0, size - 1)))
    expected = points[own] + data.draw(arrays(np.float64, (10, 2), elements=st.floats(-30, 30)))
    found = _nearest_of_module(points, module, expected, own)
    assert (module[found] == module[own]).all()
    distance = np.hypot(*(points[found] - expected).T)
    for k in range(10):
        nearest, _ = cKDTree(points[module == module[own[k]]]).query(expected[k])
        assert abs(distance[k] - nearest) < 1e-9
