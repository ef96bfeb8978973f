"""One file of a sample that was made in chunks, where a stage or a user reads the whole of it."""


rule gather:
    input:
        chunks=lambda w: [f"{RESULTS}/{w.product}/{chunk}.parquet" for chunk in RUN.chunks(w.sample)],
    output:
        f"{RESULTS}/{{product}}/{{sample}}.parquet",
    wildcard_constraints:
        product="particles|fates|hits|candidates|fitted/[a-z0-9_]+",
        sample=RUN.split_samples("validation", "misaligned", "jpsi", "d0"),
    params:
        chunks=lambda w: len(RUN.chunks(w.sample)),
        code=code("parkf/io/join.py"),
    resources:
        **needs(COSTS, "gather", lambda w: RUN.size(w.sample)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/gather-{{product}}-{{sample}}.log",
    shell:
        f"{SHARED}gather $(dirname {{input.chunks[0]:q}}) {{output:q}} --chunks {{params.chunks}} 2> {{log}}"
