"""Field, collisions, transport through the detector, hits and candidates; one file of a sample's chunks."""

FIELD_SETTINGS = {name: RUN["field"][name] for name in ("spacing", "outside", "interpolation")}


rule field:
    """The field on a grid, from an analytic dipole or a grid of this project."""
    input: FIELD_SOURCE
    output: FIELD
    params: code=code_of("field"), means=SOURCE_MEANS, **FIELD_SETTINGS
    priority: FIRST
    conda: ENVIRONMENT
    log: logged("field.log")
    shell:
        stage(
            "field",
            " --source {input:q} --output {output:q} --spacing {params.spacing}",
            " --outside {params.outside} --interpolation {params.interpolation}",
        )


rule generate:
    """Collisions of a chunk for all polarities in one job, because the start of Pythia takes seconds."""
    input: geometry=GEOMETRY
    output: [f"{RESULTS}/particles/{{purpose}}_{polarity}{{part}}.parquet" for polarity in RUN["polarities"]]
    params:
        code=code_of("generate"),
        means=GEOMETRY_MEANS,
        events=lambda w: len(RUN.chunk(f"{RUN.samples(w.purpose)[0]}{w.part}")),
        first=lambda w: RUN.chunk(f"{RUN.samples(w.purpose)[0]}{w.part}").start,
        seeds=lambda w: list(map(RUN.seed, RUN.samples(w.purpose))),
        pile_up=RUN["events"]["pile_up"],
    priority: lambda w: FIRST if w.purpose == "training" else 0
    threads: TWO_THREADS
    conda: ENVIRONMENT
    log: logged("generate-{purpose}{part}.log")
    shell:
        stage(
            "generate",
            " --geometry {input.geometry:q} --outputs {output:q} --seeds {params.seeds}",
            " --events {params.events} --first {params.first} --pile-up {params.pile_up} --threads {threads}",
        )


rule generate_signal:
    """Collisions with a decay of J/psi or D0, or a photon that converts, for a mass peak."""
    input: geometry=GEOMETRY
    output: f"{RESULTS}/particles/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("jpsi", "d0", *ELECTRONS)
    params:
        code=code_of("generate_signal"),
        means=GEOMETRY_MEANS,
        signal=lambda w: RUN.purpose(w.chunk),
        collisions=lambda w: len(RUN.chunk(w.chunk)),
        first=lambda w: RUN.chunk(w.chunk).start,
        seed=lambda w: RUN.seed(w.chunk),
    conda: ENVIRONMENT
    log: logged("generate-{chunk}.log")
    shell:
        stage(
            "generate_signal",
            " --geometry {input.geometry:q} --output {output:q} --signal {params.signal}",
            " --collisions {params.collisions} --first {params.first} --seed {params.seed}",
        )


# The words with which samples are carried through the detector.
TRANSPORTED = (
    f"{PASSED} --particles {{input.particles:q}} --polarities {{params.polarities}} --seeds {{params.seeds}}"
    " --threads {threads}"
)
CROWDED_WORD = " --crowded" if RUN["pattern"]["crowded"] else ""
SEARCH_WORDS = f" --segments {RUN['pattern']['segments']}"


rule simulate_training:
    """Transport of particles through the detector: true states train the steps, candidates the ghost score."""
    input: **PASSAGE, particles=chunks("particles", "training")
    output:
        states=chunks("states", "training"),
        draws=[f"{RESULTS}/rows/draws/{sample}{{part}}.npz" for sample in RUN.samples("training")],
        **({"candidates": chunks("candidates", "training")} if TRAINS_SCORE else {}),
    params:
        code=code_of("simulate"),
        means=MEANS,
        polarities=list(map(RUN.polarity, RUN.samples("training"))),
        seeds=list(map(RUN.seed, RUN.samples("training"))),
        max_rows=RUN["training"]["max_rows"],
        pattern=RUN["pattern"] if TRAINS_SCORE else None,
    priority: FIRST
    threads: TWO_THREADS
    conda: ENVIRONMENT
    log: logged("simulate-training{part}.log")
    shell:
        stage(
            "simulate",
            TRANSPORTED,
            " --states {output.states:q} --draws {output.draws:q} --max-rows {params.max_rows}",
            *(
                (f" --candidates {{output.candidates:q}} --hits-before {CROSSINGS}",
                 CROWDED_WORD,
                 SEARCH_WORDS)
                if TRAINS_SCORE else ()
            ),
        )


rule simulate_validation:
    """The same of the validation: hits, fates for the hardest scattering of each track, truth, and candidates.

    Candidates are also searched for in a SciFi whose mats are displaced from where the search assumes them.
    """
    input: **PASSAGE, particles=chunks("particles", "validation")
    output:
        **{name: chunks(name, "validation") for name in ("hits", "fates", "crossings", "candidates")},
        **({"misaligned": chunks("candidates", "misaligned")} if RUN.samples("misaligned") else {}),
    params:
        code=code_of("simulate"),
        means=MEANS,
        polarities=list(map(RUN.polarity, RUN.samples("validation"))),
        seeds=list(map(RUN.seed, RUN.samples("validation"))),
        pattern=RUN["pattern"],
        **RUN["misalignment"],
        misalignment_seed=RUN["seed"],
    threads: TWO_THREADS
    conda: ENVIRONMENT
    log: logged("simulate-validation{part}.log")
    shell:
        stage(
            "simulate",
            TRANSPORTED,
            " --hits {output.hits:q} --fates {output.fates:q} --crossings {output.crossings:q}",
            " --candidates {output.candidates:q}",
            CROWDED_WORD,
            SEARCH_WORDS,
            *(
                (" --misaligned {output.misaligned:q} --scifi-module {params.scifi_module}",
                 " --scifi-mat {params.scifi_mat} --misalignment-seed {params.misalignment_seed}")
                if RUN.samples("misaligned") else ()
            ),
        )


rule simulate_signal:
    """Candidates of mass peaks."""
    input: **PASSAGE, particles=f"{RESULTS}/particles/{{chunk}}.parquet"
    output: f"{RESULTS}/candidates/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("jpsi", "d0")
    params:
        code=code_of("simulate"),
        means=MEANS,
        polarities=lambda w: RUN.polarity(w.chunk),
        seeds=lambda w: RUN.seed(w.chunk),
        pattern=RUN["pattern"],
    conda: ENVIRONMENT
    log: logged("simulate-{chunk}.log")
    shell: stage("simulate", TRANSPORTED, " --candidates {output:q}", CROWDED_WORD, SEARCH_WORDS)


rule simulate_decays:
    """Hits of electrons."""
    input: **PASSAGE, particles=f"{RESULTS}/particles/{{chunk}}.parquet"
    output: f"{RESULTS}/hits/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern(*ELECTRONS)
    params:
        code=code_of("simulate"),
        means=MEANS,
        polarities=lambda w: RUN.polarity(w.chunk),
        seeds=lambda w: RUN.seed(w.chunk),
        crowded=RUN["pattern"]["crowded"],
    conda: ENVIRONMENT
    log: logged("simulate-{chunk}.log")
    shell: stage("simulate", TRANSPORTED, " --hits {output:q}", CROWDED_WORD)


rule candidates:
    """Candidates of hits of another simulation."""
    input:
        **PASSAGE,
        hits=f"{RESULTS}/hits/{{chunk}}.parquet",
    output: f"{RESULTS}/candidates/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("lhcb")
    params:
        code=code_of("candidates"),
        means=MEANS,
        polarity=lambda w: RUN.polarity(w.chunk),
        segments=RUN["pattern"]["segments"],
    conda: ENVIRONMENT
    log: logged("candidates-{chunk}.log")
    shell:
        stage(
            "candidates",
            PASSED,
            " --hits {input.hits:q} --output {output:q} --polarity {params.polarity}",
            " --segments {params.segments}",
        )


rule gather:
    """One file of all chunks of a sample, for stages and users that read the whole sample."""
    input: lambda w: [f"{RESULTS}/{w.product}/{chunk}.parquet" for chunk in RUN.chunks(w.sample)]
    output: f"{RESULTS}/{{product}}/{{sample}}.parquet"
    wildcard_constraints:
        product="particles|fates|crossings|hits|candidates|fitted/[a-z0-9_]+",
        sample=RUN.split_samples("validation", "misaligned", "jpsi", "d0", *ELECTRONS),
    params:
        code=code_of("gather"),
        chunks=lambda w, input: collapsed(input),
    conda: ENVIRONMENT
    log: logged("gather-{product}-{sample}.log")
    shell: stage("gather", " --chunks {params.chunks:q} --output {output:q}")
