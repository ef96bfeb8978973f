"""The magnet table's bend closed on fits of tracks."""


if RUN.neighbour:

    rule take_closure:
        """The closed table of a run whose alignment is a little different."""
        input:
            detector=DETECTOR,
            field=f"{RESULTS}/field.npz",
            table=TABLE,
            fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
            theirs=[f"{RUN.neighbour}/closure/{name}" for name in CLOSED],
        output:
            list(CLOSED.values()),
        params:
            seed=RUN["seed"],
            configuration=json.dumps({"training": {"noise_scale": RUN["training"]["noise_scale"]}}),
            code=code("parkf/training/closure/neighbour.py", "parkf/params"),
        priority: FIRST
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/close.log",
        shell:
            "parkf take-closure {output:q} --neighbour $(dirname {input.theirs[0]:q}) --fits $(dirname {input.fits[0]:q})"
            " --table {input.table:q} --geometry {input.detector[0]:q} --alignment {input.detector[1]:q}"
            " --field {input.field:q} --seed {params.seed} --configuration {params.configuration:q} 2> {log}"

else:

    rule closure_tracks:
        """Tracks spread over the magnet table, beside their full fits: none of the training's or validation's."""
        input:
            detector=DETECTOR,
            field=f"{RESULTS}/field.npz",
        output:
            f"{RESULTS}/closure-tracks/{{sample}}.parquet",
        wildcard_constraints:
            sample="closure_(up|down)",
        params:
            tracks=lambda w: CLOSURE["tracks"],
            seed=lambda w: RUN.seed(w.sample),
            polarity=lambda w: RUN.polarity(w.sample),
            code=code(
                "parkf/training/closure/sample.py",
                "parkf/detector",
                "parkf/detector/transport",
                "parkf/simulation",
                "parkf/fit/reference",
                "kernel/full_fit",
                *TRANSPORT_KERNEL,
            ),
            table=CLOSURE_TRACKS.content,
        priority: FIRST
        resources:
            **needs(COSTS, "closure_tracks", CLOSURE["tracks"] if CLOSURE else 0),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/closure-tracks-{{sample}}.log",
        shell:
            f"{SHARED}closure-tracks {{output:q}} --geometry {{input.detector[0]:q}} --alignment {{input.detector[1]:q}}"
            " --field {input.field:q} --polarity {params.polarity} --tracks {params.tracks} --seed {params.seed} 2> {log}"

    rule close:
        """The table's bend changed so that fits of tracks have no bias in any direction."""
        input:
            detector=DETECTOR,
            field=f"{RESULTS}/field.npz",
            table=TABLE,
            accuracy=f"{RESULTS}/table/accuracy.json",
            fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
            tracks=[f"{RESULTS}/closure-tracks/{sample}.parquet" for sample in RUN.samples("closure")],
        output:
            list(CLOSED.values()),
        params:
            rays=CLOSURE["rays"] if CLOSURE else 0,
            passes=CLOSURE["passes"] if CLOSURE else 0,
            seed=RUN["seed"],
            configuration=json.dumps({"training": {"noise_scale": RUN["training"]["noise_scale"]}}),
            code=code("parkf/training/closure", "parkf/training", "parkf/params", "parkf/fit", "parkf/detector/transport", "kernel"),
        priority: FIRST
        threads: TWO_THREADS
        resources:
            **needs(COSTS, "close", CLOSURE["rays"] if CLOSURE else 0),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/close.log",
        shell:
            f"{SHARED}close {{output:q}} {{input.tracks:q}} --fits $(dirname {{input.fits[0]:q}}) --table {{input.table:q}}"
            " --table-accuracy {input.accuracy:q} --geometry {input.detector[0]:q} --alignment {input.detector[1]:q}"
            " --field {input.field:q} --rays {params.rays} --passes {params.passes} --seed {params.seed}"
            " --configuration {params.configuration:q} --threads {threads} 2> {log}"
