"""The registry of published sets. Not part of a run: ask for it with `make publish`."""


rule publish:
    """Publish the run's set under the next free name, if it meets its gates."""
    localrule: True
    input:
        f"{RESULTS}/validation.json",
        f"{RESULTS}/accuracy.json",
        LHCB_FIGURES,
        parameters=rules.assemble.output,
        gates=GATES,
    output:
        f"{RESULTS}/published.json",
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/publish.log",
    shell:
        "parkf params publish $(dirname {input.parameters[0]:q}) --gates {input.gates:q} --json > {output:q} 2> {log} || (cat {log} >&2; exit 1)"
