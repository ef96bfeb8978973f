"""parkf: from a geometry, an alignment and a field to a proven parameter set.

    snakemake --workflow-profile workflow/profiles/local --cores 2 --configfile workflow/config/default.yaml
"""

import json
import re
import sys
from os.path import dirname, relpath
from pathlib import Path
from shlex import quote

from parkf.workflow.cluster import COSTS_FILE, load_costs, name_endings
from parkf.workflow.cluster import needs
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.workflow.config_files import extended
from parkf.io.project import found, source
from parkf.io.provenance import code_hash
from parkf.report.job_graph import write_graph
from parkf.workflow.running.progress import tell
from parkf.workflow.running.shared import STORE, tidy
from parkf.training.ghost_score import CROSSINGS
from parkf.model.steps import FORMS
from parkf.io.tables import CLOSURE_TRACKS, PARTICLES, STEP_DATA
from parkf.training.rows import MOST_ROWS
from parkf.io.usage import VARIABLE
from parkf.workflow.run import SCHEMES, Run, field_fingerprint, load_config

if not config:

    configfile: "workflow/config/default.yaml"


# Jobs run the `parkf` that was installed with this Snakemake, whatever else is on the PATH. Every log ends
# with the time and memory that its job took, for stages.json.
shell.prefix(f"set -euo pipefail; export PATH={quote(str(Path(sys.executable).parent))}:$PATH {VARIABLE}=1; ")


# Number of chunks of each sample, each of which is a separate job. `set-scatter` in a profile or on the
# command line changes it. Only the names of files depend on it.
scattergather:
    training=1,
    validation=1,
    signals=1,


# Copies of the jobs' inputs lie below this prefix (SCRATCH), and their names are passed through a shell.
if not re.fullmatch(r"[\w./+-]+", str(workflow.storage_settings.local_storage_prefix)):
    raise ParkfError(
        f"local-storage-prefix (SCRATCH): got {str(workflow.storage_settings.local_storage_prefix)!r}, expected a path"
        " of letters, digits and . / + - _ alone"
    )

PROJECT = Path(workflow.current_basedir)
IN_FAMILY = workflow.main_snakefile == str(PROJECT / "workflow/family.smk")
WHOLE_CONFIG, LAYERS = extended(config, [Path(relpath(file)) for file in workflow.configfiles])
RUN = Run(
    load_config(
        WHOLE_CONFIG,
        PROJECT / "workflow/schemas/config.schema.json",
        Path(),
        LAYERS,
        # Inputs are checked once, and not again in every job; a family has checked them for its members.
        look_into_inputs=workflow.is_main_process and not IN_FAMILY,
    ),
    {
        name: len(getattr(gather, name)("{scatteritem}"))
        for name in ("training", "validation", "signals")
    },
)
RESULTS = f"results/{RUN.name}"
# Folders of runs in this workflow, and what the names of their rules begin with.
GRAPHS = {RESULTS: ""}
STEPS = FORMS[RUN["forms"]].steps
# The working folder may have its own thresholds.
GATES = str(found("workflow/config/gates.yaml").absolute())
NEEDS_GPU = RUN["fits"]["backend"] == "gpu"
# What the compiled transport is made of.
TRANSPORT_KERNEL = ["kernel/numbers", "kernel/transport"]
COSTS = load_costs(PROJECT / COSTS_FILE)
# What the rules run in where Snakemake makes environments: --software-deployment-method conda.
ENVIRONMENT = str(PROJECT / "workflow/envs/parkf.yaml")
# Jobs that the parameter set waits for have priority. Those that only validate it fill the cores that the
# last stages of the training leave idle.
FIRST = 2
# Threads of the longest jobs. On two cores, one thread is enough: the other core does other jobs meanwhile,
# at no loss.
TWO_THREADS = 1 if workflow.resource_settings.cores == 2 else 2
# Threads of the last jobs of a run, which has nothing else to do then; other members of a family have.
LAST_THREADS = 1 if IN_FAMILY else 2
# The scheduler's reason for ending a job is reported, and decides whether the job is repeated.
name_endings()


# Samples that are always one chunk: hits of another simulation, and candidates by truth.
OTHERS = ("lhcb", *(f"{kind}-{of}" for kind in ("matched", "found", "truth") for of in ("lhcb", "validation")))


wildcard_constraints:
    sample=r"((matched|found|truth)-)?(training|validation|misaligned|jpsi|d0|lhcb)_(up|down)",
    # A sample, or one chunk of it.
    chunk=RUN.pattern("training", "validation", "misaligned", "jpsi", "d0", *OTHERS),
    step="|".join(STEPS),
    fit="|".join(SCHEMES),


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
include: "workflow/rules/gather.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/closure.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/validate.smk"
include: "workflow/rules/likeness.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/publish.smk"
