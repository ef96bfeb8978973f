"""parkf: from a geometry, an alignment and a field to a proven parameter set.

    snakemake --workflow-profile workflow/profiles/local --cores 2 --configfile workflow/config/default.yaml

`parkf run` does the same, and removes what a killed run left behind. Each rule calls one command of parkf:
inputs, outputs and parameters have the names of the command's arguments and options, and a job's file, beside
its log, has their values (parkf.workflow.running.rules). Files without a name are read or made, but no argument.
"""

from pathlib import Path

from parkf.workflow.cluster import COSTS_FILE, load_costs, needs
from parkf.io.fingerprints.code import code_of
from parkf.workflow.running.rules import complete, fixed, gates, read_run, settle
from parkf.workflow.run import OTHERS, SCHEMES, cores_for
from parkf.workflow.sources import Detector, field_fingerprint, named_files
from parkf.training.ghost_score import CROSSINGS
from parkf.training.rows import MOST_ROWS

if not config:

    configfile: "workflow/config/default.yaml"

settle(workflow)

# Number of chunks of each sample, each of which is a separate job, and of jobs among which the parameter sets
# of a step are divided. `set-scatter` in a profile or on the command line changes it. One job is the cheapest
# where few cores are idle, since every job takes half a second to start.
scattergather: training=1, validation=1, signals=1, sets=1


PROJECT = Path(workflow.current_basedir)
IN_FAMILY = workflow.main_snakefile == str(PROJECT / "workflow/family.smk")
RUN = read_run(workflow, config, gather, in_family=IN_FAMILY)
RESULTS = f"results/{RUN['run']}"
# Folders of the runs in this workflow, each with the prefix of the names of its rules.
GRAPHS = {RESULTS: ""}
STEPS = RUN.steps
NEEDS_GPU = RUN["fits"]["backend"] == "gpu"
COSTS = load_costs(PROJECT / COSTS_FILE)
# Priority of jobs that the parameter set waits for. Those that only validate it fill the cores that the last
# stages of the training leave idle.
FIRST = 2
# Threads of the longest jobs. On two cores one is enough, since the other core does other jobs meanwhile.
TWO_THREADS = 1 if workflow.resource_settings.cores == 2 else 2
# Threads of the last jobs of a run. Then no other job of the run waits; in a family, those of other members do.
LAST_THREADS = 1 if IN_FAMILY else 2


wildcard_constraints: **RUN.wildcards


include: "workflow/rules/common.smk"


rule all:
    default_target: True
    input:
        f"{RESULTS}/report/index.html",
        f"{RESULTS}/stages.json",
        lambda w: f"{RESULTS}/report/likeness.html" if LIKENESS else [],


include: "workflow/rules/start.smk"
include: "workflow/rules/detector.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/closure.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/validate.smk"
include: "workflow/rules/likeness.smk"
include: "workflow/rules/report.smk"

# Whether a job runs again also depends on the code of its command.
complete(workflow.rules, environment=str(PROJECT / "workflow/envs/parkf.yaml"))
