import numpy as np

from .gun import shoot


def test_more_events_leave_the_first_ones_alone():
    few, many = shoot(events=3, per_event=4, seed=9), shoot(events=6, per_event=4, seed=9)
    assert all(np.array_equal(few[name], many[name][:12]) for name in few)


def test_momenta_and_slopes_fill_their_ranges():
    particles = shoot(events=50, per_event=40, seed=2, p_range=(2e3, 8e3), slope_max=(0.1, 0.2))
    p = np.sqrt(sum(particles[name] ** 2 for name in ("px", "py", "pz")))
    assert 2e3 <= p.min() < 2.1e3
    assert 7.8e3 < p.max() <= 8e3
    assert abs(np.log(p).mean() - np.log(4e3)) < 0.03
    assert 0.095 < np.abs(particles["px"] / particles["pz"]).max() <= 0.1
    assert 0.19 < np.abs(particles["py"] / particles["pz"]).max() <= 0.2
    assert set(np.unique(particles["charge"])) == {-1, 1}
