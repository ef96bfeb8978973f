"""What must hold before the first job starts."""


onstart:
    # Compile the code generated from the formulas before any job uses it.
    shell("parkf kernel --compile")
    # For the report.
    for folder, prefix in GRAPHS.items():
        write_graph(workflow.dag, Path(folder), prefix)
    tell(workflow.dag, workflow.resource_settings.cores, load_costs(PROJECT / COSTS_FILE), logger)
    # Remove shared products that no run has any more, so that they take no room.
    tidy()
    # On a cluster the GPU is in the jobs' machines, so it is not checked here.
    if NEEDS_GPU and workflow.local_exec:
        from parkf.fit.gpu import device

        logger.info(f"fits run on {device()}")
