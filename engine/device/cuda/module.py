"""Modules and their kernels, loaded from PTX by the driver's compiler, or from CUBIN directly."""

import logging
import math
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cuda.bindings import driver

from warploom.engine.device import optimiser
from warploom.engine.device.cuda.cubin import parameter_counts, waiting_kernels
from warploom.engine.device.cuda.errors import check, device_error
from warploom.engine.device.cuda.ownership import DriverObjects, Shared
from warploom.engine.device.cuda.probe import driver_version
from warploom.engine.device.launches import free_launch, shared_memory_error
from warploom.engine.device.occupancy import KernelResources, MultiprocessorLimits, Occupancy, occupancy
from warploom.engine.device.optimiser import OptimiserJob
from warploom.engine.device.protocol import BestCode, LaunchConfig, LoadedKernel
from warploom.engine.diagnostics import DeviceError, KernelError
from warploom.engine.processes.pool import run_in_background
from warploom.engine.ptx import KernelParameter, KernelSignature, read_signatures
from warploom.engine.ptx.grid_barriers import kernels_with_grid_barrier
from warploom.engine.ptx.text import code_of, entry_bodies
from warploom.engine.ptx.waits import waiting_ptx

_Result = driver.CUresult
_Option = driver.CUjit_option
_Attribute = driver.CUfunction_attribute
_LOG_BYTES = 16384
#: The driver's fastest optimisation level; the code is up to twice as slow.
_QUICK = 0
_MOST_THREADS = 1024
_LOG = logging.getLogger(__name__)
# The codes for a bad image; with any other code, the device has failed rather than the kernel.
_BAD_IMAGE = frozenset(
    {
        _Result.CUDA_ERROR_INVALID_VALUE,
        _Result.CUDA_ERROR_INVALID_IMAGE,
        _Result.CUDA_ERROR_NO_BINARY_FOR_GPU,
        _Result.CUDA_ERROR_INVALID_PTX,
        _Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        _Result.CUDA_ERROR_INVALID_SOURCE,
        _Result.CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
        _Result.CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
    }
)


@dataclass
class _Function:
    """A function of a loaded module, with the facts that a launch needs."""

    handle: Any
    max_threads: int
    resources: KernelResources
    #: The elements that a thread computes along x in free launches.
    elements_per_thread: int
    #: The most dynamic shared memory that a launch may have.
    allowed_shared_bytes: int
    #: The occupancy of its launches, by threads per thread block and bytes of dynamic shared memory.
    occupancies: dict[tuple[int, int], Occupancy] = field(default_factory=dict)


class CudaKernel:
    """One entry point; `resources` counts only static shared memory.

    When a quickly compiled kernel is optimised, it gets another function, and `is_exchanged` becomes true. Another
    thread does that while graphs run, so all data of one function are exchanged by a single assignment, and read
    together. A kernel that `waits` may start before earlier kernels in a graph are complete, but its first action is to
    wait for them. The thread blocks of one that `is_cooperative` wait for each other; a CUBIN doesn't show that.
    """

    __slots__ = (
        "_function",
        "_limits",
        "_sharing",
        "argument_sizes",
        "image",
        "is_cooperative",
        "is_exchanged",
        "name",
        "parameters",
        "waits",
    )

    def __init__(
        self,
        image: Shared,
        handle: Any,
        name: str,
        parameters: tuple[KernelParameter, ...],
        limits: MultiprocessorLimits | None,
        *,
        waits: bool,
        is_cooperative: bool,
    ) -> None:
        self.image = image
        self._limits = limits
        self.name = name
        self.waits, self.is_cooperative = waits, is_cooperative
        self.parameters = parameters
        self.argument_sizes = tuple(parameter.size_bytes for parameter in parameters)
        self.is_exchanged = False
        #: Held while a function is allowed more shared memory, and while it is exchanged.
        self._sharing = threading.Lock()
        self._function = _look_at(handle, name, elements_per_thread=1)

    @property
    def handle(self) -> Any:
        """The driver's handle of the present function."""
        return self._function.handle

    @property
    def max_threads(self) -> int:
        """The most threads of a thread block."""
        return self._function.max_threads

    @property
    def resources(self) -> KernelResources:
        """The resources that the function needs."""
        return self._function.resources

    def fit(self, config: LaunchConfig) -> LaunchConfig:
        """Return a launch adjusted to the kernel's present function."""
        return self.fitted(config)[1]

    def fitted(self, config: LaunchConfig) -> tuple[Any, LaunchConfig]:
        """Return the driver's handle of the present function, and a launch adjusted to it."""
        function = self._function
        if not config.is_free or self._limits is None:
            return function.handle, config
        launch = free_launch(config, function.elements_per_thread, function.resources, self._limits)
        return function.handle, launch

    def occupancy(self, config: LaunchConfig) -> Occupancy | None:
        """Return the part of a launch that runs at once, as the driver counts it.

        The limiting resource is computed here.
        """
        if self._limits is None:
            return None
        threads, shared_bytes = math.prod(config.thread_block), config.shared_bytes
        function = self._function
        found = function.occupancies.get((threads, shared_bytes))
        if found is None:
            blocks: int = check(
                driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(function.handle, threads, shared_bytes),
                f"counting the thread blocks of kernel {self.name} that run at once",
            )
            limit = occupancy(function.resources, self._limits, config.thread_block, shared_bytes).limited_by
            found = Occupancy(blocks, blocks * threads, self._limits.threads, limit)
            function.occupancies[threads, shared_bytes] = found
        return found

    def exchange(self, handle: Any, elements_per_thread: int) -> None:
        """Use another, equivalent function, from the next launch of each graph on."""
        function = _look_at(handle, self.name, elements_per_thread)
        with self._sharing:
            self._allow_shared(function, self._function.allowed_shared_bytes)
            self._function = function
        self.is_exchanged = True

    def allow_shared(self, size_bytes: int) -> None:
        """Allow launches with this much dynamic shared memory, since the driver needs a request for more than 48 KB."""
        if not 0 <= size_bytes <= self._function.allowed_shared_bytes:
            with self._sharing:
                self._allow_shared(self._function, size_bytes)

    def _allow_shared(self, function: _Function, size_bytes: int) -> None:
        if 0 <= size_bytes <= function.allowed_shared_bytes:
            return
        code = _Result.CUDA_ERROR_INVALID_VALUE
        if 0 <= size_bytes < 2**31:
            limit = _Attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            (code,) = driver.cuFuncSetAttribute(function.handle, limit, size_bytes)
        if code == _Result.CUDA_ERROR_INVALID_VALUE:
            raise shared_memory_error(self.name, function.resources.static_shared_bytes, size_bytes)
        check((code,), f"asking for {size_bytes} bytes of shared memory for kernel {self.name}")
        function.allowed_shared_bytes = size_bytes


def _look_at(handle: Any, name: str, elements_per_thread: int) -> _Function:
    """Query the driver for a function's attributes."""
    resources = KernelResources(
        registers=_attribute(_Attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, handle, name),
        static_shared_bytes=_attribute(_Attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle, name),
        local_bytes=_attribute(_Attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, handle, name),
    )
    allowed = _attribute(_Attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, handle, name)
    return _Function(handle, _max_threads(handle, name), resources, elements_per_thread, allowed)


def _attribute(which: Any, function: Any, name: str) -> int:
    return int(check(driver.cuFuncGetAttribute(which, function), f"querying kernel {name}"))


def _max_threads(function: Any, name: str) -> int:
    return _attribute(_Attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function, name)


class CudaModule:
    """Loaded code. After `unload`, it stays loaded until the last graph with one of its kernels is gone.

    With `best` code, the kernels are compiled quickly, and `best` in the background. Graphs that run these kernels take
    over the new functions, and launches that fit these, at their next launch.
    """

    def __init__(
        self,
        objects: DriverObjects,
        image: str | bytes,
        best: BestCode | None = None,
        activate: Callable[[], None] = lambda: None,
        limits: MultiprocessorLimits | None = None,
        *,
        may_wait: bool = False,
    ) -> None:
        """`activate` makes the context current on a thread; `limits` are those of the device's multiprocessors.

        Kernels may wait on devices that have programmatic edges.
        """
        self._objects = objects
        self._lock = threading.Lock()
        self._may_wait = may_wait
        handle, waits = _load(image, None if best is None else _QUICK, may_wait=may_wait)
        handles = self._handles = [handle]

        def unload() -> None:
            # A running launch may still use this code.
            check(driver.cuCtxSynchronize(), "waiting to unload a module")
            for handle in handles:
                check(driver.cuModuleUnload(handle), "cuModuleUnload")

        self._image = Shared(objects, unload)
        self._loaded = True
        declared = _declared(image)
        counts = parameter_counts(image) if isinstance(image, bytes) else {}
        cooperative = frozenset[str]() if isinstance(image, bytes) else kernels_with_grid_barrier(image)
        self._kernels: dict[str, CudaKernel] = {}
        for name, function in _functions(handles[0]).items():
            signature = declared.get(name)
            parameters = signature.parameters if signature else _parameters(function, name, counts.get(name))
            facts = {"waits": name in waits, "is_cooperative": name in cooperative}
            self._kernels[name] = CudaKernel(self._image, function, name, parameters, limits, **facts)
        #: The job that optimises the kernels, if any.
        self.job: OptimiserJob | None = None
        #: True if the kernels run the best code.
        self.is_best = False
        if best is not None:
            self.job = OptimiserJob(partial(_optimise, weakref.ref(self), best, activate))
            # The optimiser may use fewer registers, which allows more threads in a thread block.
            if not best.is_free and any(kernel.max_threads < _MOST_THREADS for kernel in self._kernels.values()):
                self.job.run()

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The entry points, in no particular order."""
        return tuple(self._kernels)

    def kernel(self, name: str) -> CudaKernel:
        """Return one entry point, always the same object. For an unknown name, a KernelError lists all entry points."""
        if not self._loaded:
            raise DeviceError(f"module must be loaded, got kernel {name} asked for after unload")
        if not isinstance(name, str) or name not in self._kernels:
            raise KernelError(f"kernel {name} must be one of {', '.join(self._kernels) or 'none'} in this module")
        if (job := self.job) is not None:
            optimiser.QUEUE.add(job)
        return self._kernels[name]

    def unload(self, *, is_replaced: bool = False) -> None:
        """Release the code; a second call does nothing."""
        self.postpone()
        with self._lock:
            if self._loaded:
                self._loaded = False
                self._image.drop()

    def postpone(self) -> None:
        """Postpone pending optimisation until a kernel is requested again."""
        if (job := self.job) is not None:
            optimiser.QUEUE.discard(job)

    def optimise(self, best: BestCode) -> None:
        """Exchange the kernels' functions for those of better code, unless the module was unloaded.

        A worker process writes the PTX, since this process has frames to launch.
        """
        with self._lock:
            if not self._loaded:
                return
            self._image.hold()
        try:
            handle, waits = _load(run_in_background(best.ptx), may_wait=self._may_wait)
            self._handles.append(handle)
            functions = _functions(handle)
            # Existing launches must remain possible.
            kernels = self._kernels.values()
            if any(kernel.waits and kernel.name not in waits for kernel in kernels):
                return
            if best.is_free or all(_max_threads(functions[k.name], k.name) >= k.max_threads for k in kernels):
                for kernel in kernels:
                    kernel.exchange(functions[kernel.name], best.elements_per_thread)
                self._objects.exchanges += 1
                self.is_best = True
                _LOG.debug("kernels %s run their best code", ", ".join(self._kernels))
        finally:
            self.job = None
            self._image.drop()


def _optimise(reference: weakref.ref[CudaModule], best: BestCode, activate: Callable[[], None]) -> None:
    """Optimise a module if it is still in use."""
    module = reference()
    if module is None:
        return
    try:
        activate()
        module.optimise(best)
    except (DeviceError, KernelError, RuntimeError):
        _LOG.warning("kernels %s stay as they were compiled first", ", ".join(module.kernel_names), exc_info=True)


def own_kernel(kernel: LoadedKernel) -> CudaKernel:
    """Return a kernel of this device. Raise DeviceError if it is another device's or was unloaded."""
    if not isinstance(kernel, CudaKernel):
        raise DeviceError(
            f"kernel {getattr(kernel, 'name', kernel)} must be loaded on the CUDA device, got {type(kernel).__name__}"
        )
    if not kernel.image.alive:
        raise DeviceError(f"kernel {kernel.name} must be loaded, got one whose module was unloaded")
    return kernel


def _functions(module: Any) -> dict[str, Any]:
    """Return the entry points of a loaded module."""
    count = check(driver.cuModuleGetFunctionCount(module), "cuModuleGetFunctionCount")
    listed = check(driver.cuModuleEnumerateFunctions(count, module), "cuModuleEnumerateFunctions") if count else []
    names = [check(driver.cuFuncGetName(function), "cuFuncGetName").decode() for function in listed]
    # An enumerated function is not loaded yet; a request by name loads it.
    return {name: check(driver.cuModuleGetFunction(module, name.encode()), f"loading kernel {name}") for name in names}


def _load(image: str | bytes, level: int | None = None, *, may_wait: bool) -> tuple[Any, frozenset[str]]:
    """Load a module, with kernels that wait if `may_wait`. Return it with the names of the kernels that wait."""
    if may_wait and isinstance(image, str) and (waiting := waiting_ptx(image)) is not None:
        try:
            return _load_as_it_is(waiting, level), frozenset(name for name, _ in entry_bodies(code_of(image)))
        except KernelError as problem:  # the PTX is wrong, or right only for an older target
            _LOG.debug("kernels can't wait in the graph and run without: %s", problem)
    handle = _load_as_it_is(image, level)
    return handle, waiting_kernels(image) if may_wait and isinstance(image, bytes) else frozenset()


def _load_as_it_is(image: str | bytes, level: int | None) -> Any:
    error_log = bytearray(_LOG_BYTES)
    options = {
        _Option.CU_JIT_ERROR_LOG_BUFFER: error_log,
        _Option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        **({} if level is None else {_Option.CU_JIT_OPTIMIZATION_LEVEL: level}),
    }
    data = (image.encode() if isinstance(image, str) else image) + b"\0"
    code, handle = driver.cuModuleLoadDataEx(data, len(options), list(options), list(options.values()))
    if not code:
        return handle
    if code not in _BAD_IMAGE:
        raise device_error(code, "loading a module")
    log = error_log.split(b"\0", 1)[0].decode(errors="replace").strip()
    if code == _Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        version = re.search(r"^\s*\.version\s+([\d.]+)", image, re.MULTILINE) if isinstance(image, str) else None
        raise KernelError(
            f"PTX must be of a version that the NVIDIA driver takes (it supports CUDA {driver_version()}), got PTX "
            f"{version[1] if version else 'of a later version'}; update the driver, or compile to CUBIN for this GPU"
        )
    if code == _Result.CUDA_ERROR_NO_BINARY_FOR_GPU:
        raise KernelError(f"module must be built for this GPU's architecture, got one for another{_after(log)}")
    line = re.search(r"line (\d+)", log)
    raise KernelError(
        f"module must be {'valid PTX' if isinstance(image, str) else 'a CUBIN'}, got {code.name}{_after(log)}",
        line=int(line[1]) if line else None,
    )


def _after(log: str) -> str:
    return f": {log}" if log else ""


def _declared(image: str | bytes) -> Mapping[str, KernelSignature]:
    if isinstance(image, bytes):
        return {}
    try:
        return read_signatures(image)
    except KernelError:
        # The driver accepted this text and has the offsets and sizes; only the parameters' types stay unknown.
        return {}


def _parameters(function: Any, name: str, count: int | None) -> tuple[KernelParameter, ...]:
    """Query the driver for offsets and sizes; without a `count`, until there are no more."""
    parameters: list[KernelParameter] = []
    while len(parameters) != count:
        result = driver.cuFuncGetParamInfo(function, len(parameters))
        if result[0] == _Result.CUDA_ERROR_INVALID_VALUE:  # one past the last parameter
            return tuple(parameters)
        offset, size = check(result, f"querying the parameters of kernel {name}")
        parameters.append(KernelParameter(f"{name}_param_{len(parameters)}", int(offset), int(size)))
    return tuple(parameters)
