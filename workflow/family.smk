"""A family of runs in one DAG: each member is a whole run. What two members make alike, one copies from the other.

    snakemake --snakefile workflow/family.smk --configfile workflow/config/families/alignments.yaml …
"""

import sys
from pathlib import Path

# Snakemake looks for modules in this folder first, where a user's `random.py` is not that of Python.
sys.path[:] = [place for place in sys.path if not Path(place, "family.smk").exists()]

from parkf.io.project import PROJECT
from parkf.data import CALIBRATION_FILES
from parkf.stages.call import code_of
from parkf.workflow.family import load_family
from parkf.workflow.rules import begin, gates_file, meanings, stage_words

if not config:

    configfile: "workflow/config/families/alignments.yaml"


FAMILY = load_family(config, Path())
OVERVIEW = f"results/{FAMILY.name}"
RUNS = {member.name: f"results/{member.config['run']}" for member in FAMILY.members}
REPORTS = [f"results/{member.config['run']}/report/index.html" for member in FAMILY.reported]
CALIBRATED = [
    f"results/{member.config['run']}/calibration/{name}"
    for member in FAMILY.members
    if "calibration" in member.config
    for name in CALIBRATION_FILES
]


onstart:
    for folder in (OVERVIEW, *RUNS.values()):
        begin(folder, needs_gpu=any(member.config["fits"]["backend"] == "gpu" for member in FAMILY.members))


rule overview:
    """Report on all members, on one page."""
    input:
        # The report is the last product of a member.
        reports=REPORTS,
        gates=ancient(gates_file()),
    output: f"{OVERVIEW}/index.html"
    params:
        code=code_of("family_report"),
        means=meanings(gates_file()),
        runs=list(RUNS.values()),
    log: f"{OVERVIEW}/logs/overview.log"
    shell:
        stage_words() + " family_report --reads {input.reports:q} --gates {input.gates:q} --runs {params.runs:q}"
        " --output {output:q} --code {params.code} 2> {log}"


for member in FAMILY.members:
    name, prefix = member.name, f"{member.name}_"

    module:
        name: name
        snakefile: str(PROJECT / "Snakefile")
        config: member.config

    use rule * from name as prefix*


# This rule must follow the rules of the members, each of which has a rule of this name.
rule all:
    default_target: True
    input: CALIBRATED, f"{OVERVIEW}/index.html" if len(REPORTS) == len(RUNS) else REPORTS
