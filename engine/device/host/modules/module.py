"""Loaded modules and their kernels, which are optimised in the background."""

from __future__ import annotations

import ctypes
import functools
import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from warploom.engine.device import optimiser
from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.host.memory import AllocationTable
from warploom.engine.device.host.modules import build, cache, native
from warploom.engine.device.host.modules.cache import CachedKernel, CachedModule
from warploom.engine.device.host.modules.native import NativeCode
from warploom.engine.device.occupancy import KernelResources, Occupancy
from warploom.engine.device.optimiser import OptimiserJob
from warploom.engine.device.protocol import BestCode, LaunchConfig, LoadedKernel
from warploom.engine.diagnostics import DeviceError, KernelError
from warploom.engine.ptx import KernelSignature
from warploom.engine.ptx.grid_barriers import kernels_with_grid_barrier

#: A launch that should take longer than this waits for optimised code. A kernel's first launch never waits.
WORTH_WAITING_NS = 50_000_000
#: How long after it was loaded a kernel waits for its first launch, for whose arguments it is optimised. Arrays may be
#: uploaded before that.
FIRST_LAUNCH_S = 5.0
#: A kernel is optimised again when launches for which it has no version have taken as long as that takes, but not more
#: often than this: replaced code is kept, since it may still run.
WORTH_OPTIMISING_NS = 100_000_000
MOST_TIMES = 8
_LOG = logging.getLogger(__name__)


class HostKernel:
    """One entry point: its signature, and the native function that runs its thread blocks.

    A kernel that is not in the cache first runs in quickly compiled code, while it is optimised in the background. Then
    `function` changes, even for the remaining thread blocks of a running launch. It changes again if there are many
    launches for whose arguments the optimised code has no version.
    """

    def __init__(
        self,
        module: HostModule,
        signature: KernelSignature,
        entry: CachedModule,
        *,
        is_cooperative: bool,
    ) -> None:
        self.module = module  # keeps the code loaded
        self.signature = signature
        self.name = signature.name
        self.parameters = signature.parameters
        self.max_threads = signature.max_threads
        self.scratch_bytes = entry.scratch_bytes[signature.name]
        self.parameter_bytes = max((item.offset + item.size_bytes for item in signature.parameters), default=0)
        #: Bytes of static shared memory; dynamic shared memory follows at the next multiple of 16.
        self.static_shared_bytes = signature.shared_bytes
        if signature.uses_dynamic_shared:
            self.static_shared_bytes += -signature.shared_bytes % 16
        #: The last configuration that passed the checks.
        self.launched: LaunchConfig | None = None
        #: Whether thread blocks may wait for each other.
        self.spins = signature.name in entry.spinning
        #: Whether all thread blocks of a launch wait for each other.
        self.is_cooperative = is_cooperative
        #: The time of one thread block in the last launch; None before the first.
        self.block_ns: float | None = None
        #: Source file and line by PTX line.
        self.lines = entry.lines
        #: The arguments of the launch for which the kernel is optimised next; empty if there is none.
        self.arguments = b""
        #: The launches for which the kernel was optimised, the latest last; None before it was.
        self.launches: list[bytes] | None = None
        self._waits_until = time.monotonic() + FIRST_LAUNCH_S
        #: Optimises the kernel.
        self.optimise: Callable[[], None] = lambda: None
        #: The job that optimises the kernel the first time; None when it is done. Below, the job that does it again.
        self.job: OptimiserJob | None = None
        self.next_job: OptimiserJob | None = None
        self._times = 0
        #: All optimised code, the latest last, and where that counts thread blocks.
        self._codes: list[NativeCode] = []
        self._missed = ctypes.c_int64()

    @property
    def resources(self) -> KernelResources | None:
        """None: a CPU has no multiprocessors."""
        return None

    @staticmethod
    def fit(config: LaunchConfig) -> LaunchConfig:
        """Return the launch unchanged: on a CPU, threads become vector lanes in any case."""
        return config

    @staticmethod
    def occupancy(config: LaunchConfig) -> Occupancy | None:  # required by the protocol
        """Return None: a CPU has no multiprocessors."""
        return None

    def note(self, arguments: KernelArguments) -> None:
        """Note the arguments of a launch before it runs."""
        if self.job is not None and not self.arguments:
            self.arguments = bytes(arguments.block)
            self._waits_until = 0.0

    @property
    def missed_blocks(self) -> int:
        """The number of thread blocks in launches for which the optimised code has no version."""
        return self._missed.value

    def look(self) -> None:
        """Begin to optimise the kernel again if many launches have no version."""
        blocks = self.missed_blocks
        if not blocks or self.next_job is not None or self._times >= MOST_TIMES:
            return
        if self.block_ns is not None and blocks * self.block_ns >= WORTH_OPTIMISING_NS:
            self._times += 1
            self.arguments = ctypes.string_at(ctypes.addressof(self._missed) + 8, self.parameter_bytes)
            self.next_job = OptimiserJob(self.optimise)
            optimiser.QUEUE.add(self.next_job)

    def is_due(self) -> bool:
        """Whether optimisation may begin: the kernel was launched, or there was time for it."""
        return time.monotonic() >= self._waits_until

    def expect_no_launch(self) -> None:
        """Let optimisation begin without a launch."""
        self._waits_until = 0.0

    def settle(self, thread_blocks: int) -> None:
        """Wait for optimised code before a launch that would be slow without it."""
        job = self.job
        if job is not None and self.block_ns is not None and self.block_ns * thread_blocks > WORTH_WAITING_NS:
            job.run()

    def use(self, found: CachedKernel) -> None:
        """Switch to optimised code."""
        code = NativeCode([found.code], [_symbol(self.name), _missed(self.name)], self.module.variables)
        self._codes.append(code)
        self.launches = found.launches
        self._missed = ctypes.c_int64.from_address(code.address(_missed(self.name)))
        # Set before the function, so that a reader of the new function finds enough memory for it.
        self.scratch_bytes = max(self.scratch_bytes, found.scratch_bytes)
        self.take(code.function(_symbol(self.name)))
        self.job = self.next_job = None

    def take(self, function: Any) -> None:
        """Switch to a function."""
        self.function = function
        self.function_address = ctypes.cast(function, ctypes.c_void_p).value or 0


class HostModule:
    """PTX compiled for this CPU. Without `quick_first`, every kernel is optimised before the module is ready.

    If there is `best` code, that is optimised instead.
    """

    def __init__(
        self,
        ptx: str,
        table: AllocationTable,
        *,
        best: BestCode | None = None,
        quick_first: bool = True,
    ) -> None:
        key = cache.key(ptx, *native.cpu())
        entry = build.build(ptx)
        loaded = ((name, cache.load_kernel(key, name)) for name in entry.scratch_bytes)
        #: Optimised code of the kernels that have not been requested yet. It takes a third of a millisecond to link.
        self._optimised = {name: found for name, found in loaded if found is not None}
        self._linking = threading.Lock()
        #: Addresses of module variables, which are part of the quickly compiled code.
        self.variables: dict[str, int] = {}
        self.table = table
        quick = [name for name in entry.scratch_bytes if name not in self._optimised]
        if quick or entry.variables:
            first = NativeCode([entry.code, *entry.functions], [*map(_symbol, quick), *entry.variables], {})
            self._first = first
            self.variables = {name: first.address(name) for name in entry.variables}
        self._ranges = [(address, entry.variables[name]) for name, address in self.variables.items()]
        for address, size in self._ranges:
            table.add(address, size)
        self._has_best = best is not None
        self._kernels: dict[str, HostKernel] = {}
        cooperative = kernels_with_grid_barrier(ptx)
        for name in entry.scratch_bytes:
            kernel = HostKernel(self, entry.signatures[name], entry, is_cooperative=name in cooperative)
            work = functools.partial(_optimise, weakref.ref(kernel), key, name, best.ptx if best else ptx)
            kernel.optimise = work
            if name in quick:
                kernel.take(first.function(_symbol(name)))
                job = kernel.job = OptimiserJob(work, functools.partial(_is_due, weakref.ref(kernel)))
                if not quick_first:
                    job.run()
            self._kernels[name] = kernel
        self._refused = entry.refused
        self._names = tuple(entry.signatures)
        self.is_loaded = True

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Entry points in the order of the PTX."""
        return self._names

    @property
    def is_best(self) -> bool:
        """True once all kernels run the given best code."""
        return self._has_best and all(kernel.job is None for kernel in self._kernels.values())

    def kernel(self, name: str) -> HostKernel:
        """Return an entry point, and start to optimise it.

        Raise KernelError when the module has none of this name, or the host can't run it; other kernels still run.
        """
        if not self.is_loaded:
            raise DeviceError("host: module must not be used after unload")
        if isinstance(name, str) and name in self._refused:
            raise self._refused[name].error()
        if not isinstance(name, str) or name not in self._kernels:
            raise KernelError(f"kernel must be one of {', '.join(self._names) or 'none'}, got {name}")
        kernel = self._kernels[name]
        with self._linking:
            if (found := self._optimised.pop(name, None)) is not None:
                kernel.use(found)
        if (job := kernel.job) is not None:
            optimiser.QUEUE.add(job)
        return kernel

    def unload(self, *, is_replaced: bool = False) -> None:
        """Release the module; its code stays loaded until the last graph with one of its kernels is gone.

        A kernel that is being optimised is finished for the cache, unless newer code has replaced it.
        """
        if self.is_loaded:
            self.is_loaded = False
            for kernel in self._kernels.values():
                kernel.expect_no_launch()
                for job in (kernel.job, kernel.next_job) if is_replaced else ():
                    if job is not None:
                        job.cancel()
            self._kernels = {}

    def postpone(self) -> None:
        """Postpone pending optimisation until a kernel is requested again."""
        for kernel in self._kernels.values():
            if (job := kernel.job) is not None:
                optimiser.QUEUE.discard(job)

    def __del__(self) -> None:
        for address, size in getattr(self, "_ranges", ()):
            self.table.remove(address, size)


def own_kernel(kernel: LoadedKernel, table: AllocationTable | None = None) -> HostKernel:
    """Return a kernel of the host, or of the device with this table. Raise DeviceError for another device's kernel."""
    if not isinstance(kernel, HostKernel):
        name = getattr(kernel, "name", kernel)
        raise DeviceError(f"host: kernel {name} must be loaded on the host, got {type(kernel).__name__}")
    if table is not None and kernel.module.table is not table:
        raise DeviceError(f"host: kernel {kernel.name} must be loaded on this device, got one of another host device")
    return kernel


def _symbol(kernel: str) -> str:
    return f"share.{kernel}"


def _missed(kernel: str) -> str:
    return f"missed.{kernel}"


def _is_due(reference: weakref.ref[HostKernel]) -> bool:
    kernel = reference()
    return kernel is None or kernel.is_due()


def _optimise(reference: weakref.ref[HostKernel], key: str, name: str, ptx: str | Callable[[], str]) -> None:
    """Optimise a kernel unless it is no longer in use."""
    kernel = reference()
    if kernel is None:
        return
    arguments, launches = kernel.arguments, kernel.launches
    del kernel  # it may be dropped meanwhile
    try:
        found = build.optimised(key, name, ptx, arguments, launches)
        kernel = reference()
        if kernel is not None:
            kernel.use(found)
            _LOG.debug("kernel %s runs optimised code", name)
    except (KernelError, RuntimeError):
        _LOG.warning("kernel %s stays as it was compiled first", name, exc_info=True)
