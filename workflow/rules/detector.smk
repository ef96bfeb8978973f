"""Geometry and alignment: files of this project, or imported from LHCb's files."""

if DETECTOR_FILES.dumps:

    rule import_geometry:
        """Geometry from Allen's dumps."""
        input: dumps=DETECTOR_FILES.dumps, base=document(RUN["detector"]["base"])
        output:
            geometry=f"{RESULTS}/detector/geometry.yaml",
            alignment=f"{RESULTS}/detector/alignment_of_dumps.yaml",
            told=f"{RESULTS}/detector/import_geometry.txt",
        resources: **needs(COSTS, "field", 1)
        log: f"{RESULTS}/logs/import-geometry.log"
        shell: "parkf import geometry --job {log}.json > {output.told:q} 2> {log}"


if DETECTOR_FILES.conditions is not None:

    rule import_alignment:
        """Alignment from LHCb's conditions."""
        input: conditions=DETECTOR_FILES.conditions, geometry=GEOMETRY
        output:
            output=f"{RESULTS}/detector/alignment_of_conditions.yaml",
            told=f"{RESULTS}/detector/import_alignment.txt",
        resources: **needs(COSTS, "field", 1)
        log: f"{RESULTS}/logs/import-alignment.log"
        shell: "parkf import alignment --job {log}.json > {output.told:q} 2> {log}"
