"""What rules have in common."""


def code(*parts):
    """Fingerprint of the sources that jobs run, since Snakemake does not see changes inside a package."""
    return code_hash([source(part) for part in parts])


# Prefix of a command of `parkf` whose products may be taken by all runs in results/ that would make the same
# ones. The rule's inputs and parameters and the text of the rules decide that. Nothing is shared where jobs
# copy their files to separate folders.
RULES = code_hash([PROJECT / "Snakefile", *sorted((PROJECT / "workflow/rules").glob("*.smk"))])
SHARED = (
    f"parkf share -- {STORE} {RESULTS} {RULES}"
    " -- {wildcards:q} -- {params:q} -- {input:q} -- {output:q} -- "
    if workflow.storage_settings.default_storage_provider is None
    else "parkf "
)


def training_first(wildcards):
    """Priority of a stage that training and validation both go through."""
    return FIRST if RUN.purpose(wildcards.chunk) == "training" else 0


def folder(path, file):
    """Shell text for a folder of the run, from a file in it: jobs that copy their files have folders of their own."""
    return f"$(file={file}; echo ${{{{file%%{path}/*}}}}{path})"


def part_of(sample):
    """Regular expression for what follows a sample in the names of its chunks: nothing, if there is one."""
    count = len(RUN.ranges(sample))
    return rf"(?<={sample})" if count == 1 else rf"(?<={sample})/\d+-of-{count}"


def first_of(wildcards):
    """Chunk of the first of the polarities that are generated together."""
    return f"{RUN.samples(wildcards.purpose)[0]}{wildcards.part}"


def fit_parts(step):
    """Jobs of a step's training: no more than it has sets."""
    asked = len(gather.sets("{scatteritem}"))
    count = min(asked, len(STEPS[step].sets))
    return [f"{number}-of-{count}" for number in range(1, count + 1)]


def part_rows(wildcards):
    """Rows of one part of a step's sets, if all sets have as many."""
    return RUN.rows(wildcards.step) / int(wildcards.part.split("-")[-1])


def cores_for(rows):
    """How many a training of so many rows is worth: fewer rows are passed over before processes have begun."""
    return min(8, max(1, round(rows / 1e7)))


def jobs_of(steps):
    """Steps by job: those with few rows together, since a job of its own takes half a second to start."""
    few = [step for step in steps if RUN.rows(step) <= 1e6]
    return [*([few] if few else []), *([step] for step in steps if step not in few)]


def size_times(count):
    """Size of a chunk, for jobs that do as many things with it."""
    return lambda wildcards: count * RUN.size(wildcards.chunk)


# Shell texts of loops over rules are made when a job runs, after the loop; what differs belongs in parameters.
def gather_commands(steps):
    """Arguments of `parkf together`: one command for each step's dataset."""
    told = f"--samples {quote(' '.join(TRAINING))} --chunks {CHUNKS_OF_ONE}"
    rows = f"{RESULTS}/rows"
    return lambda wildcards, input, output: " ".join(
        f"-- gather-dataset {step} {quote(input[0].rpartition(rows)[0] + rows)} {quote(file)} {told}"
        for step, file in zip(steps, output, strict=True)
    )


def fit_commands(fits):
    """Arguments of `parkf together`: one command for each of these fits."""
    return lambda wildcards, input, output: " ".join(
        f"-- fit {quote(dirname(input.parameters[0]))} {quote(input.candidates)} {quote(file)} {fit_options(fit)}"
        for fit, file in zip(fits, output, strict=True)
    )


def fit_options(fit):
    """Options of `parkf fit` for one of the fits that are measured."""
    options = ["--scheme", SCHEMES[fit], "--precision", RUN.precision(fit), "--backend", RUN["fits"]["backend"]]
    if fit == "parkf_robust":
        options.append("--robust")
    if SCORE and fit.startswith("parkf"):
        options.append("--score")
    return " ".join(options)
