"""Pages a physicist opens, and what each stage cost."""

from parkf.report.captions import Captions


rule stages:
    input:
        f"{RESULTS}/validation.json",
        f"{RESULTS}/accuracy.json",
    output:
        f"{RESULTS}/stages.json",
    params:
        logs=f"{RESULTS}/logs",
        code=code("parkf/report/stages.py", "parkf/io/usage.py"),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/stages.log",
    shell:
        "parkf stages {params.logs} {output:q} 2> {log}"


rule report:
    input:
        LHCB_FIGURES,
        rules.assemble.output,
        # Needed to measure the newest published set on the run's own tracks.
        [f"{RESULTS}/{kind}/{s}.parquet" for kind in ("candidates", "particles") for s in RUN.samples("validation")],
        validation=f"{RESULTS}/validation.json",
        accuracy=f"{RESULTS}/accuracy.json",
        stages=f"{RESULTS}/stages.json",
        throughput=f"{RESULTS}/throughput.json",
        detector=DETECTOR,
        fits=[f"{RESULTS}/fits/{step}.json" for step in STEPS],
        closure=CLOSED["closure.json"] if CLOSURE else [],
    output:
        index=f"{RESULTS}/report/index.html",
        pages=[
            f"{RESULTS}/report/{page}.html"
            for page in (
                *("compare", "event", *STEPS, "detector", "slices", "directions", "timing", "parameters"),
                *(["closure"] if CLOSURE else []),
            )
        ],
        # `snakemake --report` shows them in sections, one for each page.
        figures=report(
            directory(f"{RESULTS}/report/figures"),
            patterns=["{page,[^-]+}-{figure}.svg"],
            caption="../report/figure.rst",
            category="{page}",
            labels={"figure": "{figure}"},
        ),
        told=[f"{RESULTS}/{name}.json" for name in ("run", "beside")],
        inputs=[f"{RESULTS}/inputs/{name}.yaml" for name in ("geometry", "alignment")],
    params:
        formulas=[STEPS[step].formula_hash() for step in STEPS],
        # The content of the file decides, not its place, since a project may be moved: hence a checksum and
        # no input.
        gates=sha256(Path(GATES)),
        code=code("parkf/report", "parkf/proof/gates", "parkf/proof/comparing"),
        # For the captions.
        words=lambda w, output: Captions(Path(output.figures)),
    threads: LAST_THREADS
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/report.log",
    shell:
        f"parkf report $(dirname {{input.validation:q}}) {{output.index:q}} --gates {quote(GATES)}"
        " --geometry {input.detector[0]:q} --alignment {input.detector[1]:q} --threads {threads} 2> {log}"
