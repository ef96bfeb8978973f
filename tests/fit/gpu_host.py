"""A GPU of the host: NumPy replaces CuPy, and a kernel's threads run one after the other.

This is for files whose threads do not wait for each other.
"""

import ctypes
import itertools
import subprocess
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

from parkf.fit.gpu import THREADS_PER_BLOCK
from parkf.fit.source import flattened

_LANGUAGE = """
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __constant__
#define __shared__ static

struct Index { unsigned x; };
Index threadIdx, blockIdx;
extern "C" void begin(unsigned block, unsigned thread) {
  blockIdx.x = block;
  threadIdx.x = thread;
}
"""


class Stream(nullcontext):
    """A stream whose work is done at once."""


class OnDevice(np.ndarray):
    """An array that NumPy must not use without an explicit transfer."""

    def get(self, stream):
        assert isinstance(stream, Stream)
        return np.asarray(self)

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def copy(self):
        """Copy to memory aligned like the device's."""
        room = np.empty(self.nbytes + 16, dtype=np.uint8)
        begin = -room.ctypes.data % 16
        new = room[begin : begin + self.nbytes].view(self.dtype).reshape(self.shape).view(OnDevice)
        new[...] = self
        return new


def on_device(array):
    return array if isinstance(array, OnDevice) else np.array(array).view(OnDevice).copy()


CUPY = SimpleNamespace(
    ndarray=OnDevice,
    asarray=on_device,
    ascontiguousarray=lambda a: a if a.flags.c_contiguous else on_device(np.array(a)),
    empty=lambda shape, dtype: on_device(np.empty(shape, dtype)),
    cuda=SimpleNamespace(Stream=Stream, Device=lambda: SimpleNamespace(id=0)),
)
"""What the back end uses of CuPy."""


class Module:
    """A file of the kernel, compiled for the host in double precision; `constant` is the set's blob."""

    def __init__(self, folder, forms, file, constant):
        (folder / "main.cpp").write_text(_LANGUAGE + flattened(forms, file))
        defined = ["-DPARKF_CALLS", "-DPARKF_REAL=double", f"-DPARKF_THREADS={THREADS_PER_BLOCK}"]
        flags = ["-std=c++17", "-O0", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["g++", *flags, *defined, "main.cpp", "-o", "module.so"], cwd=folder, check=True)
        self._library = ctypes.CDLL(str(folder / "module.so"))
        (ctypes.c_double * len(constant)).in_dll(self._library, "parkf_constant")[:] = constant.tolist()

    def get_function(self, name):
        """Return a kernel that is started as CuPy's are."""

        def run(blocks, threads, arguments):
            given = [_argument(one) for one in arguments]
            for block, thread in itertools.product(range(*blocks), range(*threads)):
                self._library.begin(block, thread)
                self._library[name](*given)

        return run


def _argument(value):
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return np.ctypeslib.as_ctypes_type(value.dtype)(value.item())
