"""Field, collisions, transport through the detector, hits and candidates; one file of a sample's chunks."""


rule field:
    """The field on a grid, from an analytic dipole or from a foreign map, which the command describes."""
    input: FIELD_SOURCE
    output: FIELD
    params: **{name: fixed(value) for name, value in RUN.field_arguments.items()}
    priority: FIRST
    resources: **needs(COSTS, "field", 1)
    log:
        f"{RESULTS}/logs/field.log",
        *([f"{RESULTS}/logs/import-field.txt"] if RUN.imports_field else []),
    shell:
        "parkf import field --job {log[0]}.json > {log[1]} 2> {log[0]}"
        if RUN.imports_field
        else "parkf field --job {log}.json 2> {log}"


rule generate:
    """Collisions of a chunk for all polarities in one job, because the start of Pythia takes seconds."""
    input: geometry=GEOMETRY
    output: [f"{RESULTS}/particles/{{purpose}}_{polarity}{{part}}.parquet" for polarity in RUN["polarities"]]
    params:
        output=lambda w, output: output[0],
        events=lambda w: len(RUN.chunk(RUN.generated(**w)[0])),
        first=lambda w: RUN.chunk(RUN.generated(**w)[0]).start,
        seed=lambda w: RUN.seed(RUN.generated(**w)[0]),
        # The second polarity.
        beside=lambda w, output: [*output[1:], *map(RUN.seed, RUN.generated(**w)[1:])],
        pile_up=RUN["events"]["pile_up"],
    priority: lambda w: FIRST if w.purpose == "training" else 0
    threads: TWO_THREADS
    resources: **needs(COSTS, "generate", lambda w: sum(map(RUN.size, RUN.generated(**w))))
    log: f"{RESULTS}/logs/generate-{{purpose}}{{part}}.log"
    shell: "parkf generate --job {log}.json --threads {threads} 2> {log}"


rule generate_signal:
    """Collisions with a decay of J/psi, D0, K0s or Lambda, or a photon that converts, for a mass peak."""
    input: geometry=GEOMETRY
    output: f"{RESULTS}/particles/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("jpsi", "d0", *ELECTRONS, *STRANGE)
    params:
        signal=lambda w: RUN.purpose(w.chunk),
        collisions=lambda w: len(RUN.chunk(w.chunk)),
        first=lambda w: RUN.chunk(w.chunk).start,
        seed=lambda w: RUN.seed(w.chunk),
    # The measurement of other kinds of tracks, which is long, waits for the late decays.
    priority: lambda w: FIRST / 4 if RUN.purpose(w.chunk) in STRANGE else 0
    resources: **needs(COSTS, "generate_signal", lambda w: len(RUN.chunk(w.chunk)))
    log: f"{RESULTS}/logs/generate-{{chunk}}.log"
    shell: "parkf generate-signal --job {log}.json 2> {log}"


rule simulate_training:
    """Transport of particles through the detector: true states train the steps, hits the ghost score."""
    input:
        **PASSAGE,
        particles=f"{RESULTS}/particles/{{chunk}}.parquet",
    output:
        states=f"{RESULTS}/states/{{chunk}}.parquet",
        **({"hits": used_once(f"{RESULTS}/hits/{{chunk}}.parquet")} if TRAINS_SCORE else {}),
    wildcard_constraints: chunk=RUN.pattern("training")
    params:
        # Without hits, particles that yield no state for the training need no transport.
        hits_before=CROSSINGS if TRAINS_SCORE else None,
        seed=lambda w: RUN.seed(w.chunk),
        polarity=lambda w: RUN.polarity(w.chunk),
        # States do not depend on how crowded the hits are.
        crowded=TRAINS_SCORE and RUN["pattern"]["crowded"],
    priority: FIRST
    resources: **needs(COSTS, CROWDED or "simulate_training", lambda w: RUN.size(w.chunk))
    log: f"{RESULTS}/logs/simulate-{{chunk}}.log"
    shell: "parkf simulate --job {log}.json 2> {log}"


use rule simulate_training as simulate_validation with:
    # The validation needs hits for its candidates, fates for the hardest scattering of each track, and the truth of
    # tracks without VELO hits.
    output: **{name: f"{RESULTS}/{name}/{{chunk}}.parquet" for name in ("hits", "fates", "crossings")}
    wildcard_constraints: chunk=RUN.pattern("validation")
    params:
        hits_before=None,
        crowded=RUN["pattern"]["crowded"],
    priority: 0
    resources: **needs(COSTS, CROWDED or "simulate_validation", lambda w: RUN.size(w.chunk))


use rule simulate_validation as simulate_signal with:
    output: hits=f"{RESULTS}/hits/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("jpsi", "d0", *ELECTRONS)
    resources: **needs(COSTS, "simulate_signal", lambda w: RUN.size(w.chunk))


use rule simulate_signal as simulate_strange with:
    # Decays behind the VELO, of which the truth in first layers is wanted, too.
    output: **{name: f"{RESULTS}/{name}/{{chunk}}.parquet" for name in ("hits", "crossings")}
    wildcard_constraints: chunk=RUN.pattern(*STRANGE)
    priority: FIRST / 4


rule misalign:
    """The same hits in a SciFi whose mats are displaced from the positions that the reconstruction assumes."""
    input: hits=lambda w: f"{RESULTS}/hits/{w.chunk.replace('misaligned', 'validation')}.parquet"
    output: f"{RESULTS}/hits/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("misaligned")
    params:
        **RUN["misalignment"],
        seed=RUN["seed"],
    resources: **needs(COSTS, "misalign", lambda w: RUN.size(w.chunk))
    log: f"{RESULTS}/logs/misalign-{{chunk}}.log"
    shell: "parkf misalign --job {log}.json 2> {log}"


rule candidates:
    input:
        **PASSAGE,
        hits=f"{RESULTS}/hits/{{chunk}}.parquet",
    output: f"{RESULTS}/candidates/{{chunk}}.parquet"
    wildcard_constraints: chunk=RUN.pattern("training", "validation", "misaligned", "jpsi", "d0", "lhcb")
    params:
        polarity=lambda w: RUN.polarity(w.chunk),
        segments=RUN["pattern"]["segments"],
    priority: lambda w: FIRST / 2 if RUN.purpose(w.chunk) == "training" else 0
    resources: **needs(COSTS, SEARCHED, lambda w: RUN.searched(w.chunk))
    log: f"{RESULTS}/logs/candidates-{{chunk}}.log"
    shell: "parkf candidates --job {log}.json 2> {log}"


rule gather:
    """One file of all chunks of a sample, for stages and users that read the whole sample."""
    input: lambda w: [f"{RESULTS}/{w.product}/{chunk}.parquet" for chunk in RUN.chunks(w.sample)]
    output: f"{RESULTS}/{{product}}/{{sample}}.parquet"
    wildcard_constraints:
        product="particles|fates|crossings|hits|candidates|fitted/[a-z0-9_]+",
        sample=RUN.split_samples("validation", "misaligned", "jpsi", "d0", *ELECTRONS, *STRANGE),
    params:
        sample=f"{RESULTS}/{{product}}/{{sample}}",
        chunks=lambda w: len(RUN.chunks(w.sample)),
    resources: **needs(COSTS, "gather", lambda w: RUN.size(w.sample))
    log: f"{RESULTS}/logs/gather-{{product}}-{{sample}}.log"
    shell: "parkf gather --job {log}.json 2> {log}"
