"""The ghost score of a set, trained on fits with the set without a score."""

if SCORE and not TRAINS_SCORE:

    rule take_score:
        """The ghost score of a run whose alignment is a little different."""
        input: f"{NEIGHBOUR}/score.json"
        output: SCORE
        priority: FIRST
        localrule: True
        shell: "cp {input:q} {output:q}"

elif SCORE:
    SCORED = [chunk for chunk in RUN.training_chunks if RUN.scored(chunk)]
    DRAFT = [f"{RESULTS}/draft/{file}" for file in BLOBS]

    use rule assemble as draft with:
        # The set without a score, with which the candidates that train the score are fitted.
        input:
            PARTS_OF_SET,
            **PASSAGE,
            table=TABLE,
            rich=RICH,
        output: DRAFT
        params: folder=fixed(f"{RESULTS}/draft")
        log: f"{RESULTS}/logs/draft.log"

    rule train_score:
        """The ghost score, on candidates of the first crossings of the training sample."""
        input:
            DRAFT,
            particles=[f"{RESULTS}/particles/{chunk}.parquet" for chunk in SCORED],
            candidates=[f"{RESULTS}/candidates/{chunk}.parquet" for chunk in SCORED],
        output: SCORE
        params:
            parameters=fixed(f"{RESULTS}/draft"),
            seed=RUN["seed"],
        priority: FIRST
        resources: **needs(COSTS, "train_score", sum(map(RUN.scored, SCORED)))
        log: f"{RESULTS}/logs/train-score.log"
        shell: "parkf train-score --job {log}.json 2> {log}"
