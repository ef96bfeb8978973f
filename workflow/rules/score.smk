"""The ghost score of a set: trained with the set as it is without one."""

if SCORE and not TRAINS_SCORE:

    rule take_score:
        """The ghost score of a run whose alignment is a little different."""
        input:
            f"{RUN.neighbour}/score.json",
        output:
            SCORE[0],
        priority: FIRST
        localrule: True
        shell:
            "cp {input:q} {output:q}"

elif SCORE:
    SCORED = [chunk for sample in RUN.samples("training") for chunk in RUN.chunks(sample) if RUN.scored(chunk)]

    use rule assemble as draft with:
        # The set without a score, with which the candidates that train the score are fitted.
        input:
            detector=DETECTOR,
            source=RUN.field_files,
            field=f"{RESULTS}/field.npz",
            table=TABLE,
            fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
            closed=list(CLOSED.values()) if CLOSURE else [],
            score=[],
        output:
            constant=f"{RESULTS}/draft/constant.f32",
            table=f"{RESULTS}/draft/global.f32",
            manifest=f"{RESULTS}/draft/manifest.json",
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/draft.log",

    rule train_score:
        """The ghost score, on candidates of the first crossings of the training sample."""
        input:
            parameters=rules.draft.output,
            particles=[f"{RESULTS}/particles/{chunk}.parquet" for chunk in SCORED],
            candidates=[f"{RESULTS}/candidates/{chunk}.parquet" for chunk in SCORED],
        output:
            SCORE[0],
        params:
            seed=RUN["seed"],
            code=code("parkf/training/ghost_score", "parkf/fit", "parkf/params/ghost_score.py", "kernel"),
        priority: FIRST
        resources:
            **needs(COSTS, "train_score", sum(map(RUN.scored, SCORED))),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/train-score.log",
        shell:
            f"{SHARED}train-score $(dirname {{input.parameters[0]:q}}) {{output:q}} --particles '{{input.particles}}'"
            " --candidates '{input.candidates}' --seed {params.seed} 2> {log}"
