"""What must hold before the first job starts."""


onstart:
    # What the formulas generate is compiled before any job runs on it.
    shell("parkf kernel --compile")
    # For the report.
    for folder, prefix in GRAPHS.items():
        write_graph(workflow.dag, Path(folder), prefix)
    tell(workflow.dag, workflow.resource_settings.cores, load_costs(PROJECT / COSTS_FILE), logger)
    # What no run has any more is not taken, and takes no room.
    tidy()
    # On a cluster it is the jobs' machines that have the GPU.
    if NEEDS_GPU and workflow.local_exec:
        from parkf.kalman.gpu import device

        logger.info(f"fits run on {device()}")
