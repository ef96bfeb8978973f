"""From the symbolic steps to functions that compute: NumPy callables for fits, C++ for the kernel."""
