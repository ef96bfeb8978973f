"""LHCb's own simulation beside the embedded one, if a configuration names it and its files exist.

Candidates by truth are `matched-<sample>`: what each particle left behind, without a search. Those of segments
found from hits alone are `found-<sample>`, those of segments of particles `truth-<sample>`, whatever the run has.
"""

import sys

LIKENESS = RUN.likeness(Path.cwd())
if LIKENESS is None and "likeness" in RUN:
    print(f"{RUN['likeness']['hits']} or tracks: no such file; report/likeness.html is left out", file=sys.stderr)
LIKE = {"embedded": f"validation_{LIKENESS}", "lhcb": f"lhcb_{LIKENESS}"}
# If a run has figures of LHCb's own hits, the gates apply to them, too.
LHCB_FIGURES = [f"{RESULTS}/lhcb.json"] if LIKENESS else []
SEARCHES = ["found", "truth"] if "parkf" in RUN["fits"]["of"] else []
LIKENESS_FITS = [name for name in ("parkf", "parkf_robust", "full") if name in RUN["fits"]["of"]]


rule import_hits:
    """Hits and particles of another simulation."""
    input: source=lambda w: given(RUN["likeness"]["hits"]), tracks=lambda w: given(RUN["likeness"]["tracks"])
    output:
        hits=f"{RESULTS}/hits/lhcb_{{polarity}}.parquet",
        particles=f"{RESULTS}/particles/lhcb_{{polarity}}.parquet",
    params: code=code_of("import_hits")
    conda: ENVIRONMENT
    log: logged("import-lhcb_{polarity}.log")
    shell:
        stage(
            "import_hits",
            passed(("source", "tracks")),
            " --hits {output.hits:q} --particles {output.particles:q}",
        )


rule candidates_matched:
    """Candidates by truth."""
    input: **PASSAGE, hits=f"{RESULTS}/hits/{{like}}.parquet"
    output: f"{RESULTS}/candidates/matched-{{like}}.parquet"
    params: code=code_of("candidates"), means=MEANS, polarity=lambda w: RUN.polarity(w.like)
    conda: ENVIRONMENT
    log: logged("candidates-matched-{like}.log")
    shell:
        stage(
            "candidates",
            PASSED,
            " --hits {input.hits:q} --output {output:q} --polarity {params.polarity} --matched",
        )


rule candidates_of_segments:
    """Candidates of segments that are found, or of true ones."""
    input: **PASSAGE, hits=f"{RESULTS}/hits/{{like}}.parquet"
    output: f"{RESULTS}/candidates/{{segments}}-{{like}}.parquet"
    params: code=code_of("candidates"), means=MEANS, polarity=lambda w: RUN.polarity(w.like)
    conda: ENVIRONMENT
    log: logged("candidates-{segments}-{like}.log")
    shell:
        stage(
            "candidates",
            PASSED,
            " --hits {input.hits:q} --output {output:q} --polarity {params.polarity}",
            " --segments {wildcards.segments}",
        )


rule characterise_search:
    """Figures of a search for candidates."""
    input:
        particles=f"{RESULTS}/particles/{{like}}.parquet",
        matched=f"{RESULTS}/candidates/matched-{{like}}.parquet",
        matched_fitted=f"{RESULTS}/fitted/parkf/matched-{{like}}.parquet",
        candidates=f"{RESULTS}/candidates/{{segments}}-{{like}}.parquet",
        fitted=f"{RESULTS}/fitted/parkf/{{segments}}-{{like}}.parquet",
    output: f"{RESULTS}/likeness/{{segments}}-{{like}}.json"
    params: code=code_of("characterise_search")
    conda: ENVIRONMENT
    log: logged("characterise-{segments}-{like}.log")
    shell:
        stage(
            "characterise_search",
            passed(("particles", "matched", "matched_fitted", "candidates", "fitted")),
            " --output {output:q}",
        )


rule characterise:
    """Figures of a sample."""
    input:
        hits=f"{RESULTS}/hits/{{like}}.parquet",
        particles=f"{RESULTS}/particles/{{like}}.parquet",
        matched=f"{RESULTS}/candidates/matched-{{like}}.parquet",
        found=f"{RESULTS}/candidates/{{like}}.parquet",
    output: f"{RESULTS}/likeness/{{like}}.json"
    params: code=code_of("characterise")
    conda: ENVIRONMENT
    log: logged("characterise-{like}.log")
    shell:
        stage(
            "characterise", passed(("hits", "particles", "matched", "found")), " --output {output:q}"
        )


rule measure:
    """Resolution, pulls and χ² of the candidates by truth."""
    input:
        particles=f"{RESULTS}/particles/{{like}}.parquet",
        field=FIELD,
        candidates=f"{RESULTS}/candidates/matched-{{like}}.parquet",
        fitted=f"{RESULTS}/fitted/{{fit}}/matched-{{like}}.parquet",
    output: f"{RESULTS}/likeness/{{fit}}-{{like}}.json"
    wildcard_constraints: fit="parkf|parkf_robust|full"
    params: code=code_of("measure")
    conda: ENVIRONMENT
    log: logged("measure-{fit}-{like}.log")
    shell: stage("measure", passed(("particles", "candidates", "fitted", "field")), " --output {output:q}")


rule likeness:
    """The page that compares both simulations, and the figures of LHCb's for the gates."""
    input:
        embedded=f"{RESULTS}/likeness/{LIKE['embedded']}.json",
        other=f"{RESULTS}/likeness/{LIKE['lhcb']}.json",
        measured=[f"{RESULTS}/likeness/{fit}-{sample}.json" for fit in LIKENESS_FITS for sample in LIKE.values()],
        searches=[f"{RESULTS}/likeness/{kind}-{sample}.json" for kind in SEARCHES for sample in LIKE.values()],
    output: output=f"{RESULTS}/report/likeness.html", figures=f"{RESULTS}/lhcb.json"
    params: code=code_of("likeness"), fits=LIKENESS_FITS, kinds=SEARCHES
    conda: ENVIRONMENT
    log: logged("likeness.log")
    shell:
        stage(
            "likeness",
            passed(("embedded", "other", "measured", "searches")),
            " --fits {params.fits} --kinds {params.kinds} --output {output.output:q}",
            " --figures {output.figures:q}",
        )
