import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from parkf.simulation.groups import LayerSearch

_positions = st.floats(-3000, 3000).map(lambda value: round(value, 3))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nearest_agrees_with_looking_at_every_hit(data):
    size = data.draw(st.integers(0, 30))
    group = data.draw(arrays(np.int64, size, elements=st.integers(0, 3)))
    x = data.draw(arrays(np.float64, size, elements=_positions))
    asked = data.draw(arrays(np.float64, 5, elements=_positions))
    of = np.array([0, 1, 2, 3, 4])
    hit, distance = LayerSearch(group, x).nearest(of, asked)
    for i in range(5):
        every = np.abs(x[group == of[i]] - asked[i])
        if len(every) == 0:
            assert np.isinf(distance[i])
        else:
            assert abs(abs(distance[i]) - every.min()) < 1e-6
            assert group[hit[i]] == of[i]
            assert abs(x[hit[i]] - asked[i] - distance[i]) < 1e-6


def test_around_gives_both_sides():
    hit, distance = LayerSearch(np.zeros(5, int), np.array([5.0, 1.0, 2.0, 3.0, 4.0])).around(
        np.array([0]), np.array([2.9]), 4
    )
    assert sorted(hit[0].tolist()) == [1, 2, 3, 4]
    assert np.allclose(np.sort(distance[0]), [-1.9, -0.9, 0.1, 1.1])
