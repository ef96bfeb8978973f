"""Field, collisions, particles through the detector, hits and candidates."""

# With a neighbour, its score is taken, and none is trained.
TRAINS_SCORE = RUN.neighbour is None
# Crowded hits and the search for segments cost several times as much.
CROWDED = "simulate_crowded" if RUN["pattern"]["crowded"] else None
SEARCHED = "candidates_found" if RUN["pattern"]["segments"] == "found" else "candidates"


rule field:
    input:
        RUN.field_files,
    output:
        f"{RESULTS}/field.npz",
    params:
        command=(
            f"import field {RUN.import_field}"
            if RUN.import_field
            else f"field {quote(RUN['field']['source'])} --spacing {RUN['field']['spacing']}"
        ),
        told=f"> {RESULTS}/logs/import-field.txt" if RUN.import_field else "",
        outside=RUN["field"]["outside"],
        interpolation=RUN["field"]["interpolation"],
        code=code(
            "parkf/detector/field.py",
            "kernel/transport/field.hpp",
            *(["parkf/imports/field", "parkf/imports/field/physics.py"] if RUN.import_field else []),
        ),
    priority: FIRST
    resources:
        **needs(COSTS, "field", 1),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/field.log",
    shell:
        # An import is not shared, because what it prints would be lost.
        ("parkf " if RUN.import_field else SHARED)
        + "{params.command} {output:q} --outside {params.outside} --interpolation {params.interpolation}"
        " {params.told} 2> {log}"


rule generate:
    """All polarities of a chunk in one job: Pythia begins once."""
    input:
        GEOMETRY,
    output:
        particles=[f"{RESULTS}/particles/{{purpose}}_{polarity}{{part}}.parquet" for polarity in RUN["polarities"]],
    wildcard_constraints:
        purpose="training|validation",
        part="|".join(map(part_of, [*RUN.samples("training"), *RUN.samples("validation")])),
    params:
        events=lambda w: len(RUN.chunk(first_of(w))),
        first=lambda w: RUN.chunk(first_of(w)).start,
        seeds=lambda w: [RUN.seed(sample) for sample in RUN.samples(w.purpose)],
        pile_up=RUN["events"]["pile_up"],
        code=code(
            "parkf/simulation/generate/collisions.py",
            "parkf/simulation/generate/pythia.py",
            "parkf/simulation/generate/interactions.py",
            "parkf/simulation/response/in_flight.py",
            "parkf/simulation/generate/secondaries.py",
            "parkf/simulation/random_numbers.py",
        ),
        # Not the code that writes tables: files of another making hold the same particles.
        table=PARTICLES.content,
    priority: lambda w: FIRST if w.purpose == "training" else 0
    threads: TWO_THREADS
    resources:
        **needs(COSTS, "generate", lambda w: len(RUN["polarities"]) * RUN.size(first_of(w))),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/generate-{{purpose}}{{part}}.log",
    shell:
        f"{SHARED}generate {{output.particles[0]:q}} --geometry {{input:q}} --events {{params.events}} --first {{params.first}}"
        " --seed {params.seeds[0]} --pile-up {params.pile_up} --threads {threads}"
        + (" --beside {output.particles[1]:q} {params.seeds[1]}" if len(RUN["polarities"]) > 1 else "")
        + " 2> {log}"


rule generate_signal:
    """Tracks of a mass peak."""
    input:
        GEOMETRY,
    output:
        f"{RESULTS}/particles/{{chunk}}.parquet",
    wildcard_constraints:
        chunk=RUN.pattern("jpsi", "d0"),
    params:
        signal=lambda w: RUN.purpose(w.chunk),
        collisions=lambda w: len(RUN.chunk(w.chunk)),
        first=lambda w: RUN.chunk(w.chunk).start,
        seed=lambda w: RUN.seed(w.chunk),
        code=code(
            "parkf/simulation/generate/decays.py",
            "parkf/simulation/generate/signal.py",
            "parkf/simulation/generate/collisions.py",
            "parkf/simulation/generate/pythia.py",
            "parkf/simulation/generate/interactions.py",
            "parkf/simulation/random_numbers.py",
        ),
        # Not the code that writes tables: files of another making hold the same particles.
        table=PARTICLES.content,
    resources:
        **needs(COSTS, "generate_signal", lambda w: len(RUN.chunk(w.chunk))),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/generate-{{chunk}}.log",
    shell:
        f"{SHARED}generate-signal {{output:q}} --signal {{params.signal}} --geometry {{input:q}}"
        " --collisions {params.collisions} --first {params.first} --seed {params.seed} 2> {log}"


rule simulate_training:
    """Particles through the detector: true states train the steps, hits the ghost score."""
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        particles=f"{RESULTS}/particles/{{chunk}}.parquet",
    output:
        states=f"{RESULTS}/states/{{chunk}}.parquet",
        **({"hits": temp(f"{RESULTS}/hits/{{chunk}}.parquet")} if TRAINS_SCORE else {}),
    wildcard_constraints:
        chunk=RUN.pattern("training"),
    params:
        products=lambda w, output: " ".join(f"--{name} {path}" for name, path in output.items()),
        # Where no hits are wanted, particles that leave no state to train on need not be carried.
        some=lambda w, output: f"--hits-before {CROSSINGS}" if {"states", "hits"} <= {*output.keys()} else "",
        seed=lambda w: RUN.seed(w.chunk),
        polarity=lambda w: RUN.polarity(w.chunk),
        # States do not depend on it.
        crowded=lambda w, output: "--crowded" if RUN["pattern"]["crowded"] and "hits" in output.keys() else "",
        crowd=lambda w, output: code("parkf/simulation/response/crowd.py") if "hits" in output.keys() else "",
        code=code(
            "parkf/detector",
            "parkf/detector/transport",
            "parkf/simulation/response/simulate.py",
            "parkf/simulation/response/in_flight.py",
            "parkf/simulation/long_tracks.py",
            "parkf/simulation/response/hits.py",
            *TRANSPORT_KERNEL,
        ),
    priority: FIRST
    resources:
        **needs(COSTS, CROWDED or "simulate_training", lambda w: RUN.size(w.chunk)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/simulate-{{chunk}}.log",
    shell:
        f"{SHARED}simulate {{input.particles:q}} {{params.products}} {{params.some}} --geometry {{input.detector[0]:q}}"
        " --alignment {input.detector[1]:q} --field {input.field:q} --polarity {params.polarity}"
        " --seed {params.seed} {params.crowded} 2> {log}"


use rule simulate_training as simulate_validation with:
    # Hits are needed for the candidates of the validation, and fates for how hard each track scattered.
    output:
        hits=f"{RESULTS}/hits/{{chunk}}.parquet",
        fates=f"{RESULTS}/fates/{{chunk}}.parquet",
    wildcard_constraints:
        chunk=RUN.pattern("validation"),
    priority: 0
    resources:
        **needs(COSTS, CROWDED or "simulate_validation", lambda w: RUN.size(w.chunk)),


use rule simulate_training as simulate_signal with:
    output:
        hits=f"{RESULTS}/hits/{{chunk}}.parquet",
    wildcard_constraints:
        chunk=RUN.pattern("jpsi", "d0"),
    priority: 0
    resources:
        **needs(COSTS, "simulate_signal", lambda w: RUN.size(w.chunk)),


rule misalign:
    """The same hits from a SciFi whose mats are not where the reconstruction believes them to be."""
    input:
        lambda w: f"{RESULTS}/hits/{w.chunk.replace('misaligned', 'validation')}.parquet",
    output:
        f"{RESULTS}/hits/{{chunk}}.parquet",
    wildcard_constraints:
        chunk=RUN.pattern("misaligned"),
    params:
        module=RUN["misalignment"]["scifi_module"],
        mat=RUN["misalignment"]["scifi_mat"],
        seed=RUN["seed"],
        code=code("parkf/simulation/response/misalignment.py", "parkf/simulation/random_numbers.py"),
    resources:
        **needs(COSTS, "misalign", lambda w: RUN.size(w.chunk)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/misalign-{{chunk}}.log",
    shell:
        f"{SHARED}misalign {{input:q}} {{output:q}} --scifi-module {{params.module}} --scifi-mat {{params.mat}}"
        " --seed {params.seed} 2> {log}"


rule candidates:
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        hits=f"{RESULTS}/hits/{{chunk}}.parquet",
    output:
        f"{RESULTS}/candidates/{{chunk}}.parquet",
    wildcard_constraints:
        chunk=RUN.pattern("training", "validation", "misaligned", "jpsi", "d0", "lhcb"),
    params:
        polarity=lambda w: RUN.polarity(w.chunk),
        segments=RUN["pattern"]["segments"],
        code=code("parkf/detector", "parkf/detector/transport", "parkf/simulation", "kernel/pattern", *TRANSPORT_KERNEL),
    priority: lambda w: training_first(w) / 2
    resources:
        **needs(COSTS, SEARCHED, lambda w: (RUN.scored if training_first(w) else RUN.size)(w.chunk)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/candidates-{{chunk}}.log",
    shell:
        f"{SHARED}candidates {{input.hits:q}} {{output:q}} --geometry {{input.detector[0]:q}} --alignment {{input.detector[1]:q}}"
        " --field {input.field:q} --polarity {params.polarity} --segments {params.segments} 2> {log}"
