"""The ghost score of a set, trained on fits with the set without a score."""

if SCORE and not TRAINS_SCORE:

    rule take_score:
        """The ghost score of a run whose alignment is a little different."""
        input: f"{NEIGHBOUR}/score.json"
        output: SCORE
        params: code=code_of("take_score")
        priority: FIRST
        localrule: True
        conda: ENVIRONMENT
        log: logged("score.log")
        shell: stage("take_score", " --theirs {input:q} --output {output:q}")

elif SCORE:
    DRAFTED = {name: file for name, file in PARTS_OF_SET.items() if name not in ("closed_accuracy", "closed_summary")}

    rule score:
        """The ghost score, on candidates of the first crossings of the training sample."""
        input:
            **DRAFTED,
            particles=[f"{RESULTS}/particles/{chunk}.parquet" for chunk in SCORED],
            candidates=[f"{RESULTS}/candidates/{chunk}.parquet" for chunk in SCORED],
        output: SCORE
        params: code=code_of("score"), means=MEANS, seed=RUN["seed"], configuration=text_of(NOISE)
        priority: FIRST
        resources: **needs(COSTS, "score", sum(map(RUN.scored, SCORED)))
        conda: ENVIRONMENT
        log: logged("score.log")
        shell:
            stage(
                "score",
                passed(DRAFTED),
                passed(("particles", "candidates")),
                " --output {output:q} --seed {params.seed} --configuration {params.configuration:q}",
            )
