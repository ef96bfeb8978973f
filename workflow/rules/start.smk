"""What must hold before the first job starts."""


onstart:
    # What the formulas generate is compiled before any job runs on it.
    shell("parkf kernel --compile")
    # On a cluster it is the jobs' machines that have the GPU.
    if NEEDS_GPU and workflow.local_exec:
        from parkf.kalman.gpu import device

        logger.info(f"fits run on {device()}")
