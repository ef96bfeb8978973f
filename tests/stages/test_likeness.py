"""Figures on hits of another simulation are joined for the gates."""

from tests.stage import stage

from parkf.io.files import read_json, write_json


def test_the_fits_of_one_set_are_joined(tmp_path):
    """The full fit uses no set; the file has the checksums of the set that the other fits used."""
    plain, full, joined = (tmp_path / f"{name}.json" for name in ("plain", "full", "joined"))
    write_json(plain, {"core": 0.5, "set": {"table": "abc"}})
    write_json(full, {"core": 0.4, "set": None})
    stage("likeness", measured=[full, plain], fits=["full", "parkf"], output=joined)
    fits = {"full": {"core": 0.4}, "parkf": {"core": 0.5}}
    assert read_json(joined) == {"set": {"table": "abc"}, "fits": fits}
