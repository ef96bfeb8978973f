"""Another simulation is compared if a configuration names it and its files exist."""


def test_the_page_is_made_where_the_hits_are(project):
    config = project.folder / "workflow/config/smoke.yaml"
    config.write_text(
        config.read_text()
        + "likeness: {hits: other/hits.parquet, tracks: other/tracks.parquet, polarity: down}\n"
    )
    skipped = project.snakemake("--cores", "1", "--dry-run")
    assert skipped.returncode == 0, skipped.stderr
    assert "report/likeness.html is left out" in skipped.stdout + skipped.stderr
    assert "likeness" not in project.would_run()

    (project.folder / "other").mkdir()
    for name in ("hits", "tracks"):
        (project.folder / f"other/{name}.parquet").touch()
    jobs = project.would_run()
    assert (jobs["likeness"], jobs["characterise"], jobs["import_hits"]) == (1, 2, 1)
    # Candidates by truth, and their parameterised fits.
    assert jobs["matched_candidates"] == 2
    assert jobs["measure"] >= 2
