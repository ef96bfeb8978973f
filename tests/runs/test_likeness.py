"""Another simulation is compared if a configuration names it and its files exist."""

from .conftest import jobs


def test_the_page_is_made_where_the_hits_are(project):
    config = project.folder / "workflow/config/smoke.yaml"
    config.write_text(
        config.read_text()
        + "likeness: {hits: other/hits.parquet, tracks: other/tracks.parquet, polarity: down}\n"
    )
    skipped = project.plan()
    assert "report/likeness.html is left out" in skipped
    assert "likeness" not in jobs(skipped)

    (project.folder / "other").mkdir()
    for name in ("hits", "tracks"):
        (project.folder / f"other/{name}.parquet").touch()
    planned = project.would_run()
    assert (planned["likeness"], planned["characterise"], planned["import_hits"]) == (1, 2, 1)
    # Candidates by truth, and their parameterised fits.
    assert planned["candidates_matched"] == 2
    assert planned["measure"] >= 2
