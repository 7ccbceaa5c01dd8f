"""What a kernel launch hands to the driver, made once and changed in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from cuda.bindings import driver

from engine.device.arguments import KernelArguments
from engine.device.cuda.module import CudaKernel
from engine.device.protocol import Dim3, LaunchConfig
from engine.diagnostics import DeviceError

# CUDA C++ Programming Guide, technical specifications for compute capability 7.5 and later.
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_THREAD_BLOCK_LIMITS = (1024, 1024, 64)


class KernelNodeParameters:
    """One kernel launch as the driver reads it (`native`), with the array of argument addresses that it points to.

    The driver copies the arguments while it is called. To launch again with changed values in the same argument
    block, `native` is handed over as it is; that is what makes an update of a parameter cost a microsecond.
    """

    __slots__ = ("_pointers", "arguments", "config", "kernel", "native")

    def __init__(self, kernel: CudaKernel, config: LaunchConfig, arguments: KernelArguments) -> None:
        check_launch(kernel, config)
        self.kernel, self.config, self.arguments = kernel, config, arguments
        self._pointers = argument_pointers(kernel, arguments)
        native: Any = driver.CUDA_KERNEL_NODE_PARAMS()
        native.func = kernel.handle
        native.gridDimX, native.gridDimY, native.gridDimZ = config.grid
        native.blockDimX, native.blockDimY, native.blockDimZ = config.thread_block
        native.sharedMemBytes = config.shared_bytes
        native.kernelParams = self._pointers.ctypes.data
        self.native = native


def argument_pointers(kernel: CudaKernel, arguments: KernelArguments) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the address of each argument in its block, as the driver wants them (`void**`)."""
    taken = [parameter.size_bytes for parameter in kernel.parameters]
    given = [parameter.size_bytes for parameter in arguments.parameters]
    if taken != given:
        raise DeviceError(f"arguments of kernel {kernel.name} must have the sizes {taken} in bytes, got {given}")
    addresses = [arguments.address + parameter.offset for parameter in arguments.parameters]
    return np.array(addresses or [0], np.uint64)


def check_launch(kernel: CudaKernel, config: LaunchConfig) -> None:
    """Raise DeviceError that says what must hold, where the driver would only say "invalid value"."""
    _check_extents(f"grid of kernel {kernel.name}", config.grid, _GRID_LIMITS)
    _check_extents(f"thread block of kernel {kernel.name}", config.thread_block, _THREAD_BLOCK_LIMITS)
    if math.prod(config.thread_block) > kernel.max_threads:
        raise DeviceError(
            f"thread block of kernel {kernel.name} must have at most {kernel.max_threads} threads, "
            f"got {config.thread_block}"
        )
    kernel.allow_shared(config.shared_bytes)


def _check_extents(what: str, extents: Dim3, limits: Dim3) -> None:
    if any(not 1 <= extent <= limit for extent, limit in zip(extents, limits, strict=True)):
        raise DeviceError(f"{what} must be from (1, 1, 1) to {limits}, got {extents}")
