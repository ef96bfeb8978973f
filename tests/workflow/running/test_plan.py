"""Options of a profile are those that Snakemake's command line would read from it."""

import pytest
from parkf.workflow.running.plan import options

from parkf.io.errors import ParkfError


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a profile with this text."""

    def read(text):
        (tmp_path / "profile.yaml").write_text(text)
        return options(tmp_path)

    return read


@pytest.mark.parametrize("chunks", ["[training=2, signals=3]", "{training: 2, signals: 3}"])
def test_chunks_may_be_a_list_or_a_mapping(read, chunks):
    asked = read(f"set-scatter: {chunks}\nrerun-triggers: [mtime, params]\n")
    assert asked.set_scatter == {"training": 2, "signals": 3}
    assert {str(trigger) for trigger in asked.rerun_triggers} == {"mtime", "params"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("set-scatter: [training]\n", "have to be defined as NAME=SCATTERITEMS"),
        ("set-scater: [training=2]\n", "unrecognized arguments: .*set-scater"),
        ("- a\n", "doesn't appear to contain 'key: value' pairs"),
    ],
)
def test_a_profile_that_snakemake_cannot_read_is_refused(read, text, reason, tmp_path):
    with pytest.raises(ParkfError, match=f"^{tmp_path}: Snakemake cannot read this profile: .*{reason}"):
        read(text)
