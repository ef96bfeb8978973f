"""The report, and the publication of the set."""

GATES = given(gates_file())


rule report:
    """The pages of the run, and run.json and copies of its inputs beside its figures."""
    input:
        LHCB_FIGURES,
        **DETECTOR,
        gates=GATES,
        field=FIELD,
        set=SET,
        fits=FITS,
        figures=[f"{RESULTS}/{name}.json" for name in ("validation", "accuracy")],
        # On the run's own tracks the newest published set is measured.
        tracks=[
            file
            for kind in ("candidates", "particles")
            for file in products(kind, *RUN.samples("validation"))
        ],
    output:
        directory(f"{RESULTS}/report/figures"),
        [f"{RESULTS}/{file}" for file in RUN.report_files],
        index=f"{RESULTS}/report/index.html",
    params:
        code=code_of("report"),
        means={**MEANS, **meanings(gates_file())},
    threads: LAST_THREADS
    conda: ENVIRONMENT
    log: logged("report.log")
    shell:
        stage(
            "report",
            passed(("geometry", "alignment", "gates")),
            " --reads {input:q} --index {output.index:q} --outputs {output:q} --threads {threads}",
        )


rule publish:
    """Publish the run's set under the next free name, if it meets its gates: `parkf run <name> publish`."""
    localrule: True
    input:
        gates=GATES,
        set=SET,
        figures=[f"{RESULTS}/validation.json", f"{RESULTS}/accuracy.json", *LHCB_FIGURES],
    output: f"{RESULTS}/published.json"
    params: code=code_of("publish"), means=meanings(gates_file())
    conda: ENVIRONMENT
    log: logged("publish.log")
    shell:
        stage(
            "publish",
            passed(("set", "figures", "gates")),
            " --output {output:q}",
            log=" 2> {log} || (cat {log} >&2; exit 1)",
        )
