"""For fitters elsewhere: one C++17 header, without dependencies, that loads a set and runs the kernel."""

from parkf.fit.consumer.header import cpp_header

__all__ = ["cpp_header"]
