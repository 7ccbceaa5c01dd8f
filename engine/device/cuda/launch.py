"""Kernel launches in the driver's structures, and the checks before them."""

from typing import Any

from cuda.bindings import driver

from warploom.engine.device.arguments import ArgumentLayout, KernelArguments
from warploom.engine.device.cuda.module import CudaKernel
from warploom.engine.device.launches import check_shape
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.device.slab import Piece, fresh_bytes
from warploom.engine.diagnostics import DeviceError

_NO_LAUNCH = LaunchConfig((0, 0, 0), (0, 0, 0))
_NO_BLOCK = fresh_bytes(0)


class NativeLaunch:
    """A kernel launch as a driver structure (`native`), with the array of argument addresses that it points to.

    The driver copies the launch and its arguments during a call. Passing changed values of the same argument block only
    means passing `native` again, so a parameter update costs a microsecond. To add many nodes, one object copies each
    of them in turn, and writes only what differs from the node before.
    """

    __slots__ = ("_block", "_layout", "_pointers", "_room", "arguments", "config", "kernel", "native")

    def __init__(self) -> None:
        self.kernel: CudaKernel | None = None
        self.config = _NO_LAUNCH
        self.arguments: KernelArguments | None = None
        self.native: Any = driver.CUDA_KERNEL_NODE_PARAMS()
        #: The block that `copy` copies into; below, the layout whose addresses into that block are written.
        self._block = _NO_BLOCK
        self._layout: ArgumentLayout | None = None
        self._point(1)

    def set(self, kernel: CudaKernel, config: LaunchConfig, arguments: KernelArguments) -> Any:
        """Return `native` for a launch. Raise DeviceError when the launch or the arguments don't fit the kernel."""
        if kernel is not self.kernel or (config is not self.config and config != self.config):
            self._change(kernel, config)
        self._write_addresses(kernel, arguments.layout, arguments.address)
        self._layout = None
        self.arguments = arguments
        return self.native

    def copy(self, kernel: CudaKernel, config: LaunchConfig, arguments: KernelArguments) -> Any:
        """Return `native` for a launch with a copy of the values. Raise DeviceError as `set` does.

        Copying the values takes a tenth of the time of writing all argument addresses.
        """
        if kernel is not self.kernel or (config is not self.config and config != self.config):
            self._change(kernel, config)
        layout = arguments.layout
        if layout is not self._layout:
            if layout.size_bytes > self._block.size_bytes:
                self._block = fresh_bytes(layout.size_bytes)
            self._write_addresses(kernel, layout, self._block.address)
            self._layout = layout
            self.arguments = None
        arguments.copy_to(self._block)
        return self.native

    def follow_exchange(self) -> None:
        """Use the kernel's present function, and the launch that fits it."""
        if self.kernel is not None:
            self._write_launch(self.kernel, self.config)

    def _write_launch(self, kernel: CudaKernel, config: LaunchConfig) -> None:
        native = self.native
        native.func, fitted = kernel.fitted(config)
        native.gridDimX, native.gridDimY, native.gridDimZ = fitted.grid
        native.blockDimX, native.blockDimY, native.blockDimZ = fitted.thread_block
        native.sharedMemBytes = fitted.shared_bytes

    def _change(self, kernel: CudaKernel, config: LaunchConfig) -> None:
        check_launch(kernel, kernel.fit(config))
        self._write_launch(kernel, config)
        # Recorded now: if the arguments don't fit, the next launch must still be compared with these.
        self.kernel, self.config = kernel, config
        self._layout = None  # the layout was checked for the old kernel

    def _write_addresses(self, kernel: CudaKernel, layout: ArgumentLayout, address: int) -> None:
        """Write the addresses of the arguments of a block at `address`."""
        sizes = layout.sizes
        if sizes != kernel.argument_sizes:
            raise _unfit(kernel, layout)
        if len(sizes) > self._room:
            self._point(len(sizes))
        layout.write_addresses(self._pointers, address)

    def _point(self, count: int) -> None:
        self._room, self._pointers = count, fresh_bytes(8 * count)
        self.native.kernelParams = self._pointers.address


def argument_pointers(kernel: CudaKernel, arguments: KernelArguments) -> Piece:
    """Return the addresses of all arguments in their block, as the driver's `void**`."""
    if arguments.layout.sizes != kernel.argument_sizes:
        raise _unfit(kernel, arguments.layout)
    pointers = fresh_bytes(8 * max(1, len(arguments.layout.sizes)))
    arguments.layout.write_addresses(pointers, arguments.address)
    return pointers


def _unfit(kernel: CudaKernel, layout: ArgumentLayout) -> DeviceError:
    taken, given = list(kernel.argument_sizes), list(layout.sizes)
    return DeviceError(f"arguments of kernel {kernel.name} must have the sizes {taken} in bytes, got {given}")


def check_launch(kernel: CudaKernel, config: LaunchConfig) -> None:
    """Raise a DeviceError that states the rule; the driver would only report "invalid value"."""
    check_shape(kernel.name, config, kernel.max_threads)
    kernel.allow_shared(config.shared_bytes)
