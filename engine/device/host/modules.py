"""Loaded modules and their kernels."""

from __future__ import annotations

from typing import Any

from engine.device.host import build
from engine.device.host.cache import Entry
from engine.device.host.memory import AllocationTable
from engine.device.host.native import NativeCode
from engine.diagnostics import DeviceError, KernelError
from engine.ptx import KernelParameter, KernelSignature


class HostKernel:
    """One entry point: its signature and the native function that runs thread blocks of it."""

    def __init__(self, module: HostModule, signature: KernelSignature, function: Any, entry: Entry) -> None:
        self.module = module  # keeps the code loaded
        self.signature = signature
        self.function = function
        self.scratch_bytes = entry.scratch_bytes[signature.name]
        #: What one thread block took when the kernel ran last, None before the first time.
        self.block_ns: float | None = None
        #: Source file and line by PTX line.
        self.lines = entry.lines

    @property
    def name(self) -> str:
        """Name of the entry point."""
        return self.signature.name

    @property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """Formal parameters in order."""
        return self.signature.parameters

    @property
    def max_threads(self) -> int:
        """Most threads a thread block may have."""
        return self.signature.max_threads


class HostModule:
    """PTX that was compiled for this CPU."""

    def __init__(self, ptx: str, table: AllocationTable) -> None:
        self._built = build.build(ptx)
        entries = {name: f"run.{name}" for name in self._built.scratch_bytes}
        self._code = NativeCode(self._built.code, (*entries.values(), *self._built.variables))
        self._table = table
        self._ranges: list[int] = []
        for name, size_bytes in self._built.variables.items():
            address = self._code.address(name)
            table.add(address, size_bytes)
            self._ranges.append(address)
        self._kernels = {
            name: HostKernel(self, self._built.signatures[name], self._code.function(symbol), self._built)
            for name, symbol in entries.items()
        }
        self.is_loaded = True

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Entry points in the order of the PTX."""
        return tuple(self._kernels)

    def kernel(self, name: str) -> HostKernel:
        """Return an entry point; KernelError when the module has none of that name."""
        if not self.is_loaded:
            raise DeviceError("host: module must not be used after unload")
        if name not in self._kernels:
            raise KernelError(f"kernel must be one of {', '.join(self._kernels) or 'none'}, got {name}")
        return self._kernels[name]

    def unload(self) -> None:
        """Release the module; its code goes when the last graph that uses a kernel of it goes."""
        if self.is_loaded:
            self.is_loaded = False
            self._kernels = {}

    def __del__(self) -> None:
        for address in getattr(self, "_ranges", ()):
            self._table.remove(address)
