"""LHCb's own simulation beside the embedded one, if a configuration names it and its files exist.

Candidates by truth are `matched-<sample>`: what each particle left behind, without a search. Those of segments
found from hits alone are `found-<sample>`, those of segments of particles `truth-<sample>`, whatever the run has.
"""

LIKENESS = RUN.likeness(Path.cwd())
if LIKENESS is None and "likeness" in RUN:
    logger.warning(f"{RUN['likeness']['hits']} or tracks: no such file; report/likeness.html is left out")
LIKE = {"embedded": f"validation_{LIKENESS}", "lhcb": f"lhcb_{LIKENESS}"}
# If a run has figures of LHCb's own hits, the gates apply to them, too.
LHCB_FIGURES = [f"{RESULTS}/lhcb.json"] if LIKENESS else []
SEARCHES = ["found", "truth"] if "parkf" in RUN["fits"]["of"] else []
LIKENESS_FITS = [name for name in ("parkf", "parkf_robust", "full") if name in RUN["fits"]["of"]]
# Files of figures of both simulations, by kind.
FIGURES = {
    kind: [f"{RESULTS}/likeness/{kind}-{sample}.json" for sample in LIKE.values()]
    for kind in (*LIKENESS_FITS, *SEARCHES)
}


rule import_hits:
    input: source=lambda w: RUN["likeness"]["hits"], tracks=lambda w: RUN["likeness"]["tracks"]
    output:
        hits=f"{RESULTS}/hits/lhcb_{{polarity}}.parquet",
        particles=f"{RESULTS}/particles/lhcb_{{polarity}}.parquet",
    log: f"{RESULTS}/logs/import-lhcb_{{polarity}}.log"
    shell: "parkf import hits --job {log}.json 2> {log}"


rule matched_candidates:
    input:
        **PASSAGE,
        hits=f"{RESULTS}/hits/{{like}}.parquet",
    output: f"{RESULTS}/candidates/matched-{{like}}.parquet"
    params:
        matched=True,
        polarity=lambda w: RUN.polarity(w.like),
    resources: **needs(COSTS, "candidates", lambda w: RUN.size(w.like))
    log: f"{RESULTS}/logs/candidates-matched-{{like}}.log"
    shell: "parkf candidates --job {log}.json 2> {log}"


use rule matched_candidates as candidates_of_segments with:
    output: f"{RESULTS}/candidates/{{segments}}-{{like}}.parquet"
    params:
        matched=False,
        segments="{segments}",
    resources: **needs(COSTS, "candidates_found", lambda w: RUN.size(w.like))
    log: f"{RESULTS}/logs/candidates-{{segments}}-{{like}}.log"


rule characterise_search:
    input:
        hits=f"{RESULTS}/hits/{{like}}.parquet",
        particles=f"{RESULTS}/particles/{{like}}.parquet",
        matched=f"{RESULTS}/candidates/matched-{{like}}.parquet",
        candidates=f"{RESULTS}/candidates/{{segments}}-{{like}}.parquet",
        fitted=f"{RESULTS}/fitted/parkf/{{segments}}-{{like}}.parquet",
    output: f"{RESULTS}/likeness/{{segments}}-{{like}}.json"
    log: f"{RESULTS}/logs/characterise-{{segments}}-{{like}}.log"
    shell: "parkf characterise-search --job {log}.json 2> {log}"


rule characterise:
    input:
        **PASSAGE,
        hits=f"{RESULTS}/hits/{{like}}.parquet",
        particles=f"{RESULTS}/particles/{{like}}.parquet",
        matched=f"{RESULTS}/candidates/matched-{{like}}.parquet",
        found=f"{RESULTS}/candidates/{{like}}.parquet",
    output: f"{RESULTS}/likeness/{{like}}.json"
    params: polarity=lambda w: RUN.polarity(w.like)
    log: f"{RESULTS}/logs/characterise-{{like}}.log"
    shell: "parkf characterise --job {log}.json 2> {log}"


rule measure:
    input:
        particles=f"{RESULTS}/particles/{{like}}.parquet",
        field=FIELD,
        candidates=f"{RESULTS}/candidates/matched-{{like}}.parquet",
        fitted=f"{RESULTS}/fitted/{{fit}}/matched-{{like}}.parquet",
    output: f"{RESULTS}/likeness/{{fit}}-{{like}}.json"
    wildcard_constraints: fit="parkf|parkf_robust|full"
    log: f"{RESULTS}/logs/measure-{{fit}}-{{like}}.log"
    shell: "parkf measure --job {log}.json 2> {log}"


rule likeness:
    input:
        [file for files in FIGURES.values() for file in files],
        embedded=f"{RESULTS}/likeness/{LIKE['embedded']}.json",
        other=f"{RESULTS}/likeness/{LIKE['lhcb']}.json",
    output: output=f"{RESULTS}/report/likeness.html", figures=f"{RESULTS}/lhcb.json"
    params:
        measured=[f"{fit}={','.join(FIGURES[fit])}" for fit in LIKENESS_FITS],
        searches=[f"{kind}={','.join(FIGURES[kind])}" for kind in SEARCHES],
    log: f"{RESULTS}/logs/likeness.log"
    shell: "parkf likeness --job {log}.json 2> {log}"
