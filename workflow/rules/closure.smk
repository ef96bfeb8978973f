"""The closed magnet table: its bend is corrected with fits of tracks."""

BEFORE_CLOSURE = {**PASSAGE, "table": TABLE, "fits": FITS}

if NEIGHBOUR:
    THEIRS = {
        "theirs": f"{NEIGHBOUR}/closure/table.npz",
        "their_accuracy": f"{NEIGHBOUR}/closure/accuracy.json",
    }

    rule take_closure:
        """The closed table of a run whose alignment is a little different."""
        input: **BEFORE_CLOSURE, **THEIRS
        output: **CLOSED
        params: code=code_of("take_closure"), means=MEANS, seed=RUN["seed"], configuration=text_of(NOISE)
        priority: FIRST
        conda: ENVIRONMENT
        log: logged("close.log")
        shell:
            stage(
                "take_closure",
                passed(BEFORE_CLOSURE),
                passed(THEIRS),
                " --output {output.output:q} --accuracy {output.accuracy:q} --summary {output.summary:q}",
                " --seed {params.seed} --configuration {params.configuration:q}",
            )

elif CLOSURE:

    rule closure_tracks:
        """Tracks in all parts of the magnet table with their full fits; they are used only for the closure."""
        input: **PASSAGE
        output: products("closure-tracks", *RUN.samples("closure"))
        params:
            code=code_of("closure_tracks"),
            means=MEANS,
            tracks=CLOSURE["tracks"],
            seeds=list(map(RUN.seed, RUN.samples("closure"))),
            polarities=list(map(RUN.polarity, RUN.samples("closure"))),
        priority: FIRST
        threads: TWO_THREADS
        conda: ENVIRONMENT
        log: logged("closure-tracks.log")
        shell:
            stage(
                "closure_tracks",
                PASSED,
                " --outputs {output:q} --tracks {params.tracks} --seeds {params.seeds}",
                " --polarities {params.polarities} --threads {threads}",
            )

    rule close:
        """The table with a corrected bend: fits of tracks have no bias in any direction."""
        input:
            **BEFORE_CLOSURE,
            table_accuracy=TABLE_ACCURACY,
            samples=products("closure-tracks", *RUN.samples("closure")),
        output: **CLOSED
        params:
            code=code_of("close"),
            means=MEANS,
            rays=CLOSURE["rays"],
            passes=CLOSURE["passes"],
            scheme=SCHEMES[RUN["training"]["client"]],
            seed=RUN["seed"],
            configuration=text_of(NOISE),
        priority: FIRST
        threads: TWO_THREADS
        conda: ENVIRONMENT
        log: logged("close.log")
        shell:
            stage(
                "close",
                passed(BEFORE_CLOSURE),
                passed(("table_accuracy", "samples")),
                " --output {output.output:q} --accuracy {output.accuracy:q} --summary {output.summary:q}",
                " --rays {params.rays} --passes {params.passes} --scheme {params.scheme} --seed {params.seed}",
                " --configuration {params.configuration:q} --threads {threads}",
            )
