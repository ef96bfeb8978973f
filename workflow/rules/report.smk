"""The report, the costs of each stage, and the publication of the set."""

from parkf.report.picture import Captions


rule stages:
    input: f"{RESULTS}/throughput.json", f"{RESULTS}/accuracy.json"
    output: f"{RESULTS}/stages.json"
    params: logs=f"{RESULTS}/logs"
    log: f"{RESULTS}/logs/stages.log"
    shell: "parkf stages --job {log}.json 2> {log}"


rule report:
    input:
        LHCB_FIGURES,
        SET,
        FITS,
        [f"{RESULTS}/{name}.json" for name in ("validation", "accuracy", "stages", "throughput")],
        # On the run's own tracks the newest published set is measured, and events are drawn.
        [
            f"{RESULTS}/{kind}/{s}.parquet"
            for kind in ("candidates", "particles", "hits", "fitted/parkf")
            for s in RUN.samples("validation")
        ],
        FIELD,
        CLOSED["summary"] if CLOSURE else [],
        **DETECTOR,
    output:
        # `snakemake --report` shows them in sections, one for each page.
        report(
            directory(f"{RESULTS}/report/figures"),
            patterns=["{page,[^-]+}-{figure}.svg"],
            caption="../report/figure.rst",
            category="{page}",
            labels={"figure": "{figure}"},
        ),
        [f"{RESULTS}/{file}" for file in RUN.report_files],
        output=f"{RESULTS}/report/index.html",
    params:
        results=fixed(RESULTS),
        # This file stays in the folder, also if the products are elsewhere.
        graph=fixed(f"{RESULTS}/graph.json"),
        **gates(),
        captions=lambda w, output: Captions(Path(output[0])),
    threads: LAST_THREADS
    resources: **needs(COSTS, "report", 1)
    log: f"{RESULTS}/logs/report.log"
    shell: "parkf report --job {log}.json --threads {threads} 2> {log}"


rule publish:
    """Publish the run's set under the next free name, if it meets its gates: `parkf run <name> publish`."""
    localrule: True
    input:
        f"{RESULTS}/validation.json",
        f"{RESULTS}/accuracy.json",
        LHCB_FIGURES,
        SET,
    output: f"{RESULTS}/published.json"
    params:
        parameters=fixed(f"{RESULTS}/set"),
        **gates(),
        json=True,
    log: f"{RESULTS}/logs/publish.log"
    shell: "parkf params publish --job {log}.json > {output:q} 2> {log} || (cat {log} >&2; exit 1)"
