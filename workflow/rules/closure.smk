"""The closed magnet table: its bend is corrected with fits of tracks."""

if NEIGHBOUR:

    rule take_closure:
        """The closed table of a run whose alignment is a little different."""
        input:
            FITS,
            [f"{NEIGHBOUR}/closure/{file}" for file in CLOSED_FILES.values()],
            **PASSAGE,
            table=TABLE,
        output: **CLOSED
        params:
            neighbour=f"{NEIGHBOUR}/closure",
            fits=fixed(f"{RESULTS}/fits"),
            seed=RUN["seed"],
            configuration=NOISE,
        priority: FIRST
        log: f"{RESULTS}/logs/close.log"
        shell: "parkf take-closure --job {log}.json 2> {log}"

elif CLOSURE:

    rule closure_tracks:
        """Tracks in all parts of the magnet table with their full fits; they are used only for the closure."""
        input:
            **PASSAGE,
        output: f"{RESULTS}/closure-tracks/{{sample}}.parquet"
        wildcard_constraints: sample="closure_(up|down)"
        params:
            tracks=CLOSURE["tracks"],
            seed=lambda w: RUN.seed(w.sample),
            polarity=lambda w: RUN.polarity(w.sample),
        priority: FIRST
        resources: **needs(COSTS, "closure_tracks", CLOSURE["tracks"])
        log: f"{RESULTS}/logs/closure-tracks-{{sample}}.log"
        shell: "parkf closure-tracks --job {log}.json 2> {log}"

    rule close:
        """The table with a corrected bend: fits of tracks have no bias in any direction."""
        input:
            FITS,
            **PASSAGE,
            table=TABLE,
            table_accuracy=TABLE_ACCURACY,
            samples=[f"{RESULTS}/closure-tracks/{sample}.parquet" for sample in RUN.samples("closure")],
        output: **CLOSED
        params:
            fits=fixed(f"{RESULTS}/fits"),
            rays=CLOSURE["rays"],
            passes=CLOSURE["passes"],
            scheme=SCHEMES[RUN["training"]["client"]],
            seed=RUN["seed"],
            configuration=NOISE,
        priority: FIRST
        threads: TWO_THREADS
        resources: **needs(COSTS, "close", CLOSURE["rays"])
        log: f"{RESULTS}/logs/close.log"
        shell: "parkf close --job {log}.json --threads {threads} 2> {log}"
