"""Geometry and alignment: files of this project, or made of LHCb's own."""

PLACES = RUN.detector(Path.cwd())
GEOMETRY = PLACES.geometry
DETECTOR = [PLACES.geometry, PLACES.alignment]


if PLACES.dumps:

    rule import_geometry:
        """Allen's dumps."""
        input:
            dumps=PLACES.dumps,
            base=RUN["detector"]["base"],
        output:
            geometry=f"{RESULTS}/detector/geometry.yaml",
            alignment=f"{RESULTS}/detector/alignment_of_dumps.yaml",
            told=f"{RESULTS}/detector/import_geometry.txt",
        params:
            code=code("parkf/imports/geometry", "parkf/detector"),
        resources:
            **needs(COSTS, "field", 1),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/import-geometry.log",
        shell:
            "parkf import geometry {input.dumps:q} --geometry {output.geometry:q} --alignment {output.alignment:q}"
            " --base {input.base:q} > {output.told:q} 2> {log}"


if PLACES.conditions is not None:

    rule import_alignment:
        """LHCb's conditions."""
        input:
            conditions=PLACES.conditions,
            geometry=GEOMETRY,
        output:
            alignment=f"{RESULTS}/detector/alignment_of_conditions.yaml",
            told=f"{RESULTS}/detector/import_alignment.txt",
        params:
            code=code("parkf/imports/geometry", "parkf/detector"),
        resources:
            **needs(COSTS, "field", 1),
        conda:
            ENVIRONMENT
        log:
            f"{RESULTS}/logs/import-alignment.log",
        shell:
            "parkf import alignment {input.conditions:q} {output.alignment:q} --geometry {input.geometry:q}"
            " > {output.told:q} 2> {log}"
