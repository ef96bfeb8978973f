"""Pythia gives the same events with cross sections from a file as with those that it calculates."""

import re

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.simulation.generate import pythia


@pytest.fixture(scope="module")
def calculated(tmp_path_factory):
    """A Pythia that has calculated its cross sections, and the file of these."""
    # A checkout's path may contain a blank and a letter that is not ASCII.
    path = tmp_path_factory.mktemp("with a blank é") / "cross sections.dat"
    made, initialised = [], pythia._initialised
    with pytest.MonkeyPatch.context() as patch:
        # The calculation takes seconds.
        patch.setattr(pythia, "_initialised", lambda *of: made.append(initialised(*of)))
        pythia.write_cross_sections(path, pythia.SOFT_COLLISIONS)
    return made[0], path


def _numbers(path):
    return np.array([float(number) for number in re.findall(r"-?\d[\d.e+-]*", path.read_text())])


def test_the_file_in_the_package_is_what_this_pythia_calculates(calculated):
    """Other versions or settings of Pythia expect a file with another name; this test compares contents."""
    kept = pythia.cross_sections(pythia.SOFT_COLLISIONS)
    assert kept.exists(), "written by `python -m parkf.simulation.generate.pythia`"
    np.testing.assert_allclose(_numbers(kept), _numbers(calculated[1]), rtol=2e-4, atol=1e-4)


def test_looking_for_the_file_says_nothing(capfd):
    pythia.cross_sections(pythia.SOFT_COLLISIONS)
    assert capfd.readouterr() == ("", "")


def test_collisions_with_cross_sections_from_the_file_are_those_calculated(calculated):
    """The same seed gives the same particles; the file's six digits change their energies by 1e-5."""

    def made(generator):
        events = []
        for seed in range(1, 21):
            # Set the seed for each event: after one different random choice all later ones differ.
            generator.rndm.init(seed)
            generator.next()
            events.append([(one.id(), one.e()) for one in generator.event])
        return events

    calculated = made(calculated[0])
    loaded = made(pythia.initialised(pythia.SOFT_COLLISIONS))
    same = [[i for i, _ in a] == [i for i, _ in b] for a, b in zip(calculated, loaded, strict=True)]
    assert sum(same) >= 15
    for a, b in zip(calculated, loaded, strict=True):
        if [i for i, _ in a] == [i for i, _ in b]:
            np.testing.assert_allclose([e for _, e in a], [e for _, e in b], rtol=1e-2, atol=1e-3)


def test_a_setting_that_pythia_does_not_know_is_named(capfd):
    with pytest.raises(ParkfError, match="refuses the setting 'No:such = 1'"):
        pythia.initialised(("No:such = 1",))


def test_other_settings_have_no_file_and_are_calculated():
    settings = ("HardQCD:hardccbar = on", "PartonLevel:MPI = off", "PhaseSpace:pTHatMin = 2.")
    assert not pythia.cross_sections(settings).exists()
    assert pythia.initialised(settings).next()
