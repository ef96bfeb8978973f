"""What must hold before the first job starts."""


onstart:
    # What the formulas generate is compiled before any job runs on it.
    shell(
        "parkf kernel ||"
        " (python -m pip install -q --no-build-isolation --no-deps -e {PROJECT:q} && parkf kernel)"
    )
    # For the report.
    for folder, prefix in GRAPHS.items():
        write_graph(workflow.dag, Path(folder), prefix)
    # On a cluster it is the jobs' machines that have the GPU.
    if NEEDS_GPU and workflow.local_exec:
        from parkf.kalman.gpu import device

        logger.info(f"fits run on {device()}")
