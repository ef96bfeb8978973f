"""A family of runs in one DAG: each member is a whole run, and links to products of other members.

    snakemake --snakefile workflow/family.smk --configfile workflow/config/families/alignments.yaml …
"""

import os
from pathlib import Path

from parkf.workflow.family import sources
from parkf.proof.calibration import FILES as CALIBRATION_FILES
from parkf.workflow.running.rules import complete, gates, read_runs, settle

if not config:

    configfile: "workflow/config/families/alignments.yaml"


settle(workflow)

PROJECT = Path(workflow.current_basedir).parent
FAMILY = read_runs(workflow, config)
NEEDS_GPU = any(member.config["fits"]["backend"] == "gpu" for member in FAMILY.members)
SHARED = sources(FAMILY.members, Path.cwd())
OVERVIEW = f"results/{FAMILY.name}"
REPORTS = [f"results/{member.config['run']}/report/index.html" for member in FAMILY.reported]
CALIBRATED = [
    f"results/{member.config['run']}/calibration/{name}"
    for member in FAMILY.members
    if "calibration" in member.config
    for name in CALIBRATION_FILES
]
RUNS = {member.name: f"results/{member.config['run']}" for member in FAMILY.members}
GRAPHS = {run: f"{name}_" for name, run in RUNS.items()}


include: "rules/start.smk"


rule overview:
    """Report on all members, on one page."""
    input:
        # The report is the last product of a member.
        REPORTS,
    output: index=f"{OVERVIEW}/index.html"
    params:
        runs=list(RUNS.values()),
        **gates(),
    log: f"{OVERVIEW}/logs/overview.log"
    shell: "parkf family report --job {log}.json 2> {log}"


for member in FAMILY.members:
    name, prefix = member.name, f"{member.name}_"

    module:
        name: name
        snakefile: str(PROJECT / "Snakefile")
        config: member.config

    use rule * from name as prefix*

    for product, (maker, files) in SHARED[name].items():
        if maker != name:
            link = f"{prefix}link_{product.replace(' ', '_')}"

            rule:
                name: link
                localrule: True
                input: f"{RUNS[maker]}/{files}"
                output: f"{RUNS[name]}/{files}"
                wildcard_constraints: file=".+"
                params: there=lambda w, input, output: os.path.relpath(input[0], os.path.dirname(output[0]))
                shell: "ln -sf {params.there} {output}"

            # The member's own rule could make the file, too.
            for other in [other.name for other in workflow.rules if other.name.startswith(prefix)]:
                if other != link:
                    workflow.ruleorder(link, other)


# This rule must follow the rules of the members, each of which has a rule of this name.
rule all:
    default_target: True
    input: CALIBRATED, f"{OVERVIEW}/index.html" if len(REPORTS) == len(RUNS) else REPORTS


complete(workflow.rules, environment=str(PROJECT / "workflow/envs/parkf.yaml"))
