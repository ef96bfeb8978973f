"""Field, collisions, particles through the detector, hits and candidates."""

DETECTOR = [RUN["detector"]["geometry"], RUN["detector"]["alignment"]]


rule field:
    input:
        RUN["field"]["source"],
    output:
        f"{RESULTS}/field.npz",
    params:
        spacing=RUN["field"]["spacing"],
        outside=RUN["field"]["outside"],
        interpolation=RUN["field"]["interpolation"],
        code=code("parkf/detector/field.py", "kernel/transport/field.hpp"),
    log:
        f"{RESULTS}/logs/field.log",
    benchmark:
        f"{RESULTS}/benchmarks/field.tsv"
    shell:
        "parkf field {input} {output} --spacing {params.spacing} --outside {params.outside}"
        " --interpolation {params.interpolation} 2> {log}"


rule generate:
    input:
        RUN["detector"]["geometry"],
    output:
        f"{RESULTS}/particles/{{sample}}.parquet",
    wildcard_constraints:
        sample=r"(training|validation)_(up|down)",
    params:
        events=lambda w: RUN.events(w.sample),
        seed=lambda w: RUN.seed(w.sample),
        pile_up=RUN["events"]["pile_up"],
        code=code(
            "parkf/simulation/generator.py",
            "parkf/simulation/interactions.py",
            "parkf/simulation/randomness.py",
        ),
        # Not the code that writes tables: files of another making hold the same particles.
        table=PARTICLES.content,
    threads: 2
    log:
        f"{RESULTS}/logs/generate-{{sample}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/generate-{{sample}}.tsv"
    shell:
        "parkf generate {output} --geometry {input} --events {params.events} --seed {params.seed}"
        " --pile-up {params.pile_up} --threads {threads} 2> {log}"


rule generate_signal:
    """Tracks of a mass peak."""
    input:
        RUN["detector"]["geometry"],
    output:
        f"{RESULTS}/particles/{{signal}}_{{polarity}}.parquet",
    wildcard_constraints:
        signal="jpsi|d0",
    params:
        collisions=RUN["signals"]["collisions"],
        seed=lambda w: RUN.seed(f"{w.signal}_{w.polarity}"),
        code=code(
            "parkf/simulation/signal.py",
            "parkf/simulation/generator.py",
            "parkf/simulation/interactions.py",
            "parkf/simulation/randomness.py",
        ),
        # Not the code that writes tables: files of another making hold the same particles.
        table=PARTICLES.content,
    threads: 2
    log:
        f"{RESULTS}/logs/generate-{{signal}}_{{polarity}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/generate-{{signal}}_{{polarity}}.tsv"
    shell:
        "parkf generate-signal {output} --signal {wildcards.signal} --geometry {input}"
        " --collisions {params.collisions} --seed {params.seed} --threads {threads} 2> {log}"


rule simulate:
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        particles=f"{RESULTS}/particles/{{sample}}.parquet",
    output:
        f"{RESULTS}/{{product}}/{{sample}}.parquet",
    wildcard_constraints:
        # True states train the steps; hits make the candidates that prove them.
        # Fates tell validation how hard a track scattered.
        product="states|hits|fates",
        sample=r"(training|validation|jpsi|d0)_(up|down)",
    params:
        seed=lambda w: RUN.seed(w.sample),
        polarity=lambda w: RUN.polarity(w.sample),
        code=code(
            "parkf/detector",
            "parkf/transport",
            "parkf/simulation/simulate.py",
            "parkf/simulation/detector_response.py",
            *TRANSPORT_KERNEL,
        ),
    threads: 2
    log:
        f"{RESULTS}/logs/{{product}}-{{sample}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{product}}-{{sample}}.tsv"
    shell:
        "parkf simulate {input.particles} --{wildcards.product} {output} --geometry {input.detector[0]}"
        " --alignment {input.detector[1]} --field {input.field} --polarity {params.polarity}"
        " --seed {params.seed} --threads {threads} 2> {log}"


rule misalign:
    """The same hits from a SciFi whose mats are not where the reconstruction believes them to be."""
    input:
        f"{RESULTS}/hits/validation_{{polarity}}.parquet",
    output:
        f"{RESULTS}/hits/misaligned_{{polarity}}.parquet",
    params:
        module=RUN["misalignment"]["scifi_module"],
        mat=RUN["misalignment"]["scifi_mat"],
        seed=RUN["seed"],
        code=code("parkf/simulation/misalignment.py", "parkf/simulation/randomness.py"),
    log:
        f"{RESULTS}/logs/misalign-{{polarity}}.log",
    shell:
        "parkf misalign {input} {output} --scifi-module {params.module} --scifi-mat {params.mat}"
        " --seed {params.seed} 2> {log}"


rule candidates:
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        hits=f"{RESULTS}/hits/{{sample}}.parquet",
    output:
        f"{RESULTS}/candidates/{{sample}}.parquet",
    params:
        polarity=lambda w: RUN.polarity(w.sample),
        code=code("parkf/detector", "parkf/transport", "parkf/simulation", *TRANSPORT_KERNEL),
    threads: 2
    log:
        f"{RESULTS}/logs/candidates-{{sample}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/candidates-{{sample}}.tsv"
    shell:
        "parkf candidates {input.hits} {output} --geometry {input.detector[0]} --alignment {input.detector[1]}"
        " --field {input.field} --polarity {params.polarity} --threads {threads} 2> {log}"
