"""Geometry and alignment: files of this project, or imported from LHCb's files."""

if DETECTOR_FILES.dumps:

    rule import_geometry:
        """Geometry from Allen's dumps."""
        input: dumps=list(map(given, DETECTOR_FILES.dumps)), base=given(RUN["detector"]["base"])
        output:
            geometry=f"{RESULTS}/detector/geometry.yaml",
            alignment=f"{RESULTS}/detector/alignment_of_dumps.yaml",
            told=f"{RESULTS}/detector/import_geometry.txt",
        params: code=code_of("import_geometry"), means=meanings(RUN["detector"]["base"])
        conda: ENVIRONMENT
        log: logged("import-geometry.log")
        shell:
            stage(
                "import_geometry",
                " --dumps {input.dumps:q} --base {input.base:q} --geometry {output.geometry:q}",
                " --alignment {output.alignment:q} --told {output.told:q}",
            )


if DETECTOR_FILES.conditions is not None:

    rule import_alignment:
        """Alignment from LHCb's conditions."""
        input: conditions=given(DETECTOR_FILES.conditions), geometry=GEOMETRY
        output:
            output=f"{RESULTS}/detector/alignment_of_conditions.yaml",
            told=f"{RESULTS}/detector/import_alignment.txt",
        params: code=code_of("import_alignment"), means=GEOMETRY_MEANS
        conda: ENVIRONMENT
        log: logged("import-alignment.log")
        shell:
            stage(
                "import_alignment",
                " --conditions {input.conditions:q} --geometry {input.geometry:q} --output {output.output:q}",
                " --told {output.told:q}",
            )
