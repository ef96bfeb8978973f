"""LHCb's own simulation beside the embedded one, where a configuration names it and its files are there.

Candidates by truth are `matched-<sample>`: what each particle left behind, without a search. Those of segments
found from hits alone are `found-<sample>`, those of segments of particles `truth-<sample>`, whatever the run has.
"""

LIKENESS = RUN.likeness(Path.cwd())
if "likeness" in WHOLE_CONFIG and LIKENESS is None:
    logger.warning(f"{RUN['likeness']['hits']} or tracks: no such file; report/likeness.html is left out")
LIKE = {"embedded": f"validation_{LIKENESS}", "lhcb": f"lhcb_{LIKENESS}"}
# Where a run has figures of LHCb's own hits, the gates apply to them, too.
LHCB_FIGURES = [f"{RESULTS}/lhcb.json"] if LIKENESS else []
SEARCHES = ["found", "truth"] if "parkf" in RUN["fits"]["of"] else []
LIKENESS_FITS = [name for name in ("parkf", "parkf_robust", "full") if name in RUN["fits"]["of"]]


rule import_hits:
    input:
        hits=lambda w: RUN["likeness"]["hits"],
        tracks=lambda w: RUN["likeness"]["tracks"],
    output:
        hits=f"{RESULTS}/hits/lhcb_{{polarity}}.parquet",
        particles=f"{RESULTS}/particles/lhcb_{{polarity}}.parquet",
    params:
        code=code(*(f"parkf/{name}.py" for name in ("imports/hits/full_simulation", "simulation/response/in_flight", "simulation/generate/interactions"))),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/import-lhcb_{{polarity}}.log",
    shell:
        "parkf import hits {input.hits:q} {input.tracks:q} --hits {output.hits:q} --particles {output.particles:q} 2> {log}"


rule matched_candidates:
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        hits=f"{RESULTS}/hits/{{sample}}.parquet",
    output:
        f"{RESULTS}/candidates/matched-{{sample}}.parquet",
    wildcard_constraints:
        sample=r"(validation|lhcb)_(up|down)",
    params:
        polarity=lambda w: RUN.polarity(w.sample),
        code=code("parkf/detector", "parkf/detector/transport", "parkf/simulation", *TRANSPORT_KERNEL),
    resources:
        **needs(COSTS, "candidates", lambda w: RUN.size(w.sample)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/candidates-matched-{{sample}}.log",
    shell:
        "parkf candidates {input.hits:q} {output:q} --matched --geometry {input.detector[0]:q}"
        " --alignment {input.detector[1]:q} --field {input.field:q} --polarity {params.polarity} 2> {log}"


rule candidates_of_segments:
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        hits=f"{RESULTS}/hits/{{sample}}.parquet",
    output:
        f"{RESULTS}/candidates/{{segments}}-{{sample}}.parquet",
    wildcard_constraints:
        segments="found|truth",
        sample=r"(validation|lhcb)_(up|down)",
    params:
        polarity=lambda w: RUN.polarity(w.sample),
        code=code("parkf/detector", "parkf/detector/transport", "parkf/simulation", "kernel/pattern", *TRANSPORT_KERNEL),
    resources:
        **needs(COSTS, "candidates_found", lambda w: RUN.size(w.sample)),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/candidates-{{segments}}-{{sample}}.log",
    shell:
        "parkf candidates {input.hits:q} {output:q} --segments {wildcards.segments} --geometry {input.detector[0]:q}"
        " --alignment {input.detector[1]:q} --field {input.field:q} --polarity {params.polarity} 2> {log}"


rule characterise_search:
    input:
        hits=f"{RESULTS}/hits/{{sample}}.parquet",
        particles=f"{RESULTS}/particles/{{sample}}.parquet",
        matched=f"{RESULTS}/candidates/matched-{{sample}}.parquet",
        candidates=f"{RESULTS}/candidates/{{segments}}-{{sample}}.parquet",
        fitted=f"{RESULTS}/fitted/parkf/{{segments}}-{{sample}}.parquet",
    output:
        f"{RESULTS}/likeness/{{segments}}-{{sample}}.json",
    wildcard_constraints:
        segments="found|truth",
        sample=r"(validation|lhcb)_(up|down)",
    params:
        code=code("parkf/proof/validation"),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/characterise-{{segments}}-{{sample}}.log",
    shell:
        "parkf characterise-search {input.hits:q} {input.particles:q} {input.matched:q} {input.candidates:q} {input.fitted:q}"
        " {output:q} 2> {log}"


rule characterise:
    input:
        detector=DETECTOR,
        field=f"{RESULTS}/field.npz",
        hits=f"{RESULTS}/hits/{{sample}}.parquet",
        particles=f"{RESULTS}/particles/{{sample}}.parquet",
        matched=f"{RESULTS}/candidates/matched-{{sample}}.parquet",
        found=f"{RESULTS}/candidates/{{sample}}.parquet",
    output:
        f"{RESULTS}/likeness/{{sample}}.json",
    wildcard_constraints:
        sample=r"(validation|lhcb)_(up|down)",
    params:
        polarity=lambda w: RUN.polarity(w.sample),
        code=code("parkf/proof/validation", "parkf/detector", "parkf/detector/transport", *TRANSPORT_KERNEL),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/characterise-{{sample}}.log",
    shell:
        "parkf characterise {input.hits:q} {input.particles:q} {input.matched:q} {input.found:q} {output:q}"
        " --geometry {input.detector[0]:q} --alignment {input.detector[1]:q} --field {input.field:q}"
        " --polarity {params.polarity} 2> {log}"


rule measure:
    input:
        particles=f"{RESULTS}/particles/{{sample}}.parquet",
        candidates=f"{RESULTS}/candidates/matched-{{sample}}.parquet",
        fitted=f"{RESULTS}/fitted/{{fit}}/matched-{{sample}}.parquet",
    output:
        f"{RESULTS}/likeness/{{fit}}-{{sample}}.json",
    wildcard_constraints:
        sample=r"(validation|lhcb)_(up|down)",
        fit="parkf|parkf_robust|full",
    params:
        code=code("parkf/proof/validation"),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/measure-{{fit}}-{{sample}}.log",
    shell:
        "parkf measure {input.particles:q} {input.candidates:q} {input.fitted:q} {output:q} 2> {log}"


rule likeness:
    input:
        characterised=[f"{RESULTS}/likeness/{sample}.json" for sample in LIKE.values()],
        measured=[f"{RESULTS}/likeness/{fit}-{sample}.json" for fit in LIKENESS_FITS for sample in LIKE.values()],
        searches=[f"{RESULTS}/likeness/{kind}-{sample}.json" for kind in SEARCHES for sample in LIKE.values()],
    output:
        page=f"{RESULTS}/report/likeness.html",
        figures=f"{RESULTS}/lhcb.json",
    params:
        code=code("parkf/report"),
    conda:
        ENVIRONMENT
    log:
        f"{RESULTS}/logs/likeness.log",
    shell:
        "parkf likeness {input.characterised:q} {output.page:q} --figures {output.figures:q} --measured '"
        + " ".join(
            f"{fit}={{input.measured[{2 * number}]}},{{input.measured[{2 * number + 1}]}}"
            for number, fit in enumerate(LIKENESS_FITS)
        )
        + "' --searches '"
        + " ".join(
            f"{kind}={{input.searches[{2 * number}]}},{{input.searches[{2 * number + 1}]}}"
            for number, kind in enumerate(SEARCHES)
        )
        + "' 2> {log}"
