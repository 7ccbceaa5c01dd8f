"""What a kernel launch hands to the driver, made once and changed in place."""

from __future__ import annotations

from typing import Any

from cuda.bindings import driver

from engine.device.arguments import KernelArguments
from engine.device.cuda.module import CudaKernel
from engine.device.protocol import LaunchConfig
from engine.device.slab import Piece, take
from engine.diagnostics import DeviceError

# CUDA C++ Programming Guide, technical specifications for compute capability 7.5 and later.
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_THREAD_BLOCK_LIMITS = (1024, 1024, 64)
_NO_LAUNCH = LaunchConfig((0, 0, 0), (0, 0, 0))


class NativeLaunch:
    """One kernel launch as the driver reads it (`native`), with the array of argument addresses that it points to.

    The driver copies launch and arguments while it is called. To launch again with changed values in the same argument
    block, `native` is handed over as it is; that is what makes an update of a parameter cost a microsecond. To add many
    nodes, one object is set anew for each: only what differs from the node before is written.
    """

    __slots__ = ("_pointers", "_room", "arguments", "config", "kernel", "native")

    def __init__(self) -> None:
        self.kernel: CudaKernel | None = None
        self.config = _NO_LAUNCH
        self.arguments: KernelArguments | None = None
        self.native: Any = driver.CUDA_KERNEL_NODE_PARAMS()
        self._point(1)

    def set(self, kernel: CudaKernel, config: LaunchConfig, arguments: KernelArguments) -> Any:
        """Return `native` for a launch; DeviceError when the launch or the arguments do not fit the kernel."""
        native, before = self.native, self.config
        if kernel is not self.kernel or (
            config is not before
            and (
                config.grid != before.grid
                or config.thread_block != before.thread_block
                or config.shared_bytes != before.shared_bytes
            )
        ):
            check_launch(kernel, config)
            native.func = kernel.handle
            native.gridDimX, native.gridDimY, native.gridDimZ = config.grid
            native.blockDimX, native.blockDimY, native.blockDimZ = config.thread_block
            native.sharedMemBytes = config.shared_bytes
            # Together with what was written: should the arguments not fit, the next launch is compared with this one.
            self.kernel, self.config = kernel, config
        layout = arguments.layout
        if layout.sizes != kernel.argument_sizes:
            raise _unfit(kernel, arguments)
        if len(layout.sizes) > self._room:
            self._point(len(layout.sizes))
        layout.write_addresses(self._pointers, arguments.address)
        self.arguments = arguments
        return native

    def _point(self, count: int) -> None:
        self._room, self._pointers = count, take(8 * count)
        self.native.kernelParams = self._pointers.address


def argument_pointers(kernel: CudaKernel, arguments: KernelArguments) -> Piece:
    """Return the address of each argument in its block, as the driver wants them (`void**`)."""
    if arguments.layout.sizes != kernel.argument_sizes:
        raise _unfit(kernel, arguments)
    pointers = take(8 * max(1, len(arguments.parameters)))
    arguments.layout.write_addresses(pointers, arguments.address)
    return pointers


def _unfit(kernel: CudaKernel, arguments: KernelArguments) -> DeviceError:
    taken, given = list(kernel.argument_sizes), list(arguments.layout.sizes)
    return DeviceError(f"arguments of kernel {kernel.name} must have the sizes {taken} in bytes, got {given}")


def check_launch(kernel: CudaKernel, config: LaunchConfig) -> None:
    """Raise DeviceError that says what must hold, where the driver would only say "invalid value"."""
    (gx, gy, gz), (bx, by, bz) = config.grid, config.thread_block
    if not (1 <= gx <= _GRID_LIMITS[0] and 1 <= gy <= _GRID_LIMITS[1] and 1 <= gz <= _GRID_LIMITS[2]):
        raise DeviceError(f"grid of kernel {kernel.name} must be from (1, 1, 1) to {_GRID_LIMITS}, got {config.grid}")
    if not (
        1 <= bx <= _THREAD_BLOCK_LIMITS[0] and 1 <= by <= _THREAD_BLOCK_LIMITS[1] and 1 <= bz <= _THREAD_BLOCK_LIMITS[2]
    ):
        raise DeviceError(
            f"thread block of kernel {kernel.name} must be from (1, 1, 1) to {_THREAD_BLOCK_LIMITS}, "
            f"got {config.thread_block}"
        )
    if bx * by * bz > kernel.max_threads:
        raise DeviceError(
            f"thread block of kernel {kernel.name} must have at most {kernel.max_threads} threads, "
            f"got {config.thread_block}"
        )
    kernel.allow_shared(config.shared_bytes)
