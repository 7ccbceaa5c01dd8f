"""The module cache: each kernel source is compiled and loaded once for the device, until its files change."""

import contextvars
import logging
import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from warploom.engine.compiler.executable.arguments import TypedKernel
from warploom.engine.descriptions.entries import Kernel
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Module
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import CompilerCrash, KernelError, TranslatorBug
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.element_types.declared import declared_types, typed_parameters
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.loader import find_source, load_image
from warploom.engine.kernel_sources.sources import KernelSource, OpGraphSource, PtxFile
from warploom.engine.kernel_sources.texts import SHIPPED_FOLDER
from warploom.engine.ops import OpError
from warploom.engine.processes.scope import Cancelled, CancelScope, check_cancelled
from warploom.engine.profiling.side_work import SideKind, SideTimes
from warploom.engine.ptx.grid_barriers import kernels_with_grid_barrier
from warploom.engine.readings import Disk, Reading

_log = logging.getLogger(__name__)
#: Number of unused modules that stay loaded: undo of an edit needs them again.
KEPT_UNUSED = 32


class LoadedModule(msgspec.Struct, frozen=True):
    """A kernel source as it is loaded on the device; `kernels` are those of its entry points that are in use."""

    image: KernelImage
    module: Module
    kernels: WeakValueDictionary[str, TypedKernel] = msgspec.field(default_factory=WeakValueDictionary)

    def kernel(self, entry: str) -> TypedKernel:
        """Return an entry point, the same object as long as anything uses it."""
        kernel = self.kernels.get(entry)
        if kernel is None:
            parameters = typed_parameters(self.image, entry)
            manifest = self.image.manifests.get(entry)
            limit = manifest.max_threads if manifest is not None else None
            try:
                loaded = self.module.kernel(entry)
            except KernelError as problem:  # the device can't run this entry point
                _place(problem, self.image)
                raise
            is_cooperative = entry in kernels_with_grid_barrier(self.image.ptx)
            file = self.image.source.file
            is_shipped = file is not None and Path(file).is_relative_to(SHIPPED_FOLDER)
            kernel = TypedKernel(loaded, parameters, limit, self.image.is_free, is_cooperative, is_shipped)
            self.kernels[entry] = kernel
        return kernel


#: The sources that were found since `finding_once` was entered.
_found: ContextVar[dict[tuple[Kernel, tuple[str, ...]], KernelSource] | None] = ContextVar("found", default=None)


@contextmanager
def finding_once() -> Iterator[None]:
    """Look for the file of each kernel once: the phases of a preparation all ask for it, and the search takes long."""
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def _place(problem: KernelError, image: KernelImage) -> None:
    """Name the file of a device's error, unless the line is one of the PTX that was compiled from the source."""
    if isinstance(image.source, PtxFile) or isinstance(problem, TranslatorBug | CompilerCrash):
        problem.file = image.source.file


def _cancelled(source: KernelSource) -> KernelError:
    problem = CompilerCrash(f"{source.label} must compile, got its compile cancelled")
    problem.remedy = "save it again, or choose Run > Try failed blocks again"
    return problem


class ModuleCache:
    """Kernels by source and entry point. Any thread may call it; several sources are compiled at once.

    A file that was loaded once stays usable: when a later version doesn't compile, `problems` has the reason, and
    `kernel` returns the last good version.
    """

    def __init__(self, device: Device, times: SideTimes | None = None) -> None:
        """`times` takes how long each source is compiled and loaded."""
        self._device, self._times = device, times or SideTimes()
        #: By source, the most recently used last.
        self._loaded: dict[KernelSource, LoadedModule] = {}
        self._replaced: list[LoadedModule] = []
        #: The loaded sources that differ only in numbers that their kernels can take as arguments, by their common
        #: part.
        self._alike: dict[KernelSource, dict[KernelSource, None]] = {}
        self._lock = threading.RLock()
        self.problems: dict[KernelSource, KernelError] = {}
        #: The sources of the last `load`, and those that couldn't be loaded.
        self._wanted: dict[KernelSource, None] = {}
        self._failed: dict[KernelSource, KernelError] = {}
        #: The contents of each source's files when it was last loaded, or when that failed.
        self._readings: dict[KernelSource, Reading] = {}
        #: The sources being compiled, each with what was read of it; `overtake` looks here without the lock.
        self._under_way: dict[KernelSource, tuple[CancelScope, Reading]] = {}
        self._cancelled: set[CancelScope] = set()  # those of them that a person has cancelled
        #: The sources whose compiles were cancelled, each with what was read of it before.
        self._given_up: dict[KernelSource, Reading] = {}

    def load(self, kernels: Iterable[tuple[Kernel, tuple[str, ...]]]) -> None:
        """Load the sources of kernels, several at once.

        The error of a source is raised when the source is requested.
        """
        with self._lock:
            self._failed.clear()
            self._wanted.clear()
            for kernel, folders in dict.fromkeys(kernels):
                if (source := self._source(kernel, folders)) is not None:
                    self._wanted[source] = None
            for source, found in self._load_all([s for s in self._wanted if self._loaded_as(s) is None]).items():
                if isinstance(found, KernelError):
                    self._failed[source] = found
                else:
                    self._enter(source, found)

    def overtake(self, files: Collection[Path]) -> None:
        """Restart current compiles of files that were saved again: only the newest text counts."""
        for scope, reading in tuple(self._under_way.values()):
            if not reading.files.isdisjoint(files):
                scope.cancel()

    def cancel(self) -> None:
        """End current compiles: their sources fail until their files change, or `try_again`."""
        for scope, _ in tuple(self._under_way.values()):
            self._cancelled.add(scope)
            scope.cancel()

    def try_again(self) -> frozenset[Path]:
        """Count the files whose compiles were cancelled as changed, and return them."""
        given_up, self._given_up = self._given_up, {}
        files = frozenset(path for source in given_up for path in self._readings[source].files)
        self._readings |= given_up
        return files

    def kernel(self, kernel: Kernel, folders: Iterable[str] = ()) -> TypedKernel:
        """Return a kernel, compiling and loading its source when needed; raises a KernelError for a faulty source."""
        with self._lock:
            return self._module(kernel, folders).kernel(kernel.entry)

    def image(self, kernel: Kernel, folders: Iterable[str] = ()) -> KernelImage:
        """Return the compiled source that a kernel comes from. Raise KernelError as `kernel` does."""
        with self._lock:
            loaded = self._module(kernel, folders)
            loaded.kernel(kernel.entry)
            return loaded.image

    def loaded_image(self, kernel: Kernel, folders: Iterable[str] = ()) -> KernelImage | None:
        """Return the compiled source of a kernel if it is loaded now; never wait for a compile."""
        source = self._source(kernel, folders)
        loaded = self._loaded.get(source) if source is not None else None
        return loaded.image if loaded is not None else None

    def dependencies(self) -> frozenset[Path]:
        """Return every file that was read or looked for to load a kernel."""
        with self._lock:
            return frozenset(path for loaded in self._loaded.values() for path in loaded.image.reading.files)

    def readings(self) -> list[Reading]:
        """Return the contents of sources' files when they were last loaded, or failed to; any thread may ask."""
        return list(self._readings.values())

    @staticmethod
    def find(kernel: Kernel, folders: Iterable[str] = ()) -> KernelSource:
        """Return the source of a kernel with the paths of its files. Raise KernelError if there is no such file."""
        found, key = _found.get(), (kernel, tuple(folders))
        source = found.get(key) if found is not None else None
        if source is None:
            source = find_source(kernel.source, [Path(folder) for folder in key[1]], kernel.entry)
            if found is not None:
                found[key] = source
        return source

    def are_current(self, kernels: Iterable[tuple[Kernel, tuple[str, ...]]]) -> bool:
        """True when no loaded source of these kernels has files that have changed since."""
        with self._lock:
            loaded = [s for kernel in dict.fromkeys(kernels) if (s := self._source(*kernel)) in self._loaded]
            return not any(s.held is None and self._readings[s].changed() for s in loaded if s is not None)

    def reload(self) -> None:
        """Load every source again whose files have changed.

        Old versions stay loaded until `unload_replaced`, since a graph may use them. A source with its files' contents
        is always compiled from these.
        """
        with self._lock:
            affected = [
                source for source in self._loaded if source.held is None and self._readings[source].changed(Disk().ask)
            ]
            for source in [source for source in affected if not self._is_used(source)]:
                self._drop(source)
            affected = [source for source in affected if source in self._loaded]
            loaded = self._load_all(affected)
            self._replaced += [fresh for fresh in loaded.values() if isinstance(fresh, LoadedModule)]
            for source, fresh in loaded.items():
                before = self._loaded[source]
                try:
                    if isinstance(fresh, KernelError):
                        raise fresh
                    for entry in tuple(before.kernels):
                        fresh.kernel(entry)  # every entry point that is in use must still exist
                except KernelError as problem:
                    _log.info("the newest %s can't be used, and its last good version keeps running", source.label)
                    self.problems[source] = problem
                else:
                    self.problems.pop(source, None)
                    self._replaced = [before if each is fresh else each for each in self._replaced]
                    self._loaded[source] = fresh

    def unload_replaced(self) -> None:
        """Unload old versions, which no graph may use any more, and modules that were not used for long."""
        with self._lock:
            unused = [source for source in self._loaded if not self._is_used(source)]
            for source in unused[: max(0, len(unused) - KEPT_UNUSED)]:
                self._drop(source)
            for source in unused:
                if source in self._loaded:
                    self._loaded[source].module.postpone()
            replaced, self._replaced = self._replaced, []
            release_all(*(partial(loaded.module.unload, is_replaced=True) for loaded in replaced))

    def close(self) -> None:
        """Unload all modules."""
        loaded = [each.module for each in self._loaded.values()]
        self._loaded.clear()
        release_all(self.unload_replaced, *(module.unload for module in loaded))

    def _source(self, kernel: Kernel, folders: Iterable[str]) -> KernelSource | None:
        """Return the source of a kernel; None without the file, whose error is raised when the kernel is requested."""
        with suppress(KernelError):
            return self.find(kernel, folders)
        return None

    def _is_used(self, source: KernelSource) -> bool:
        """True when a graph uses a kernel of the source, or is about to."""
        return source in self._wanted or bool(self._loaded[source].kernels)

    def _drop(self, source: KernelSource) -> None:
        self._replaced.append(self._loaded.pop(source))
        self._readings.pop(source, None)
        self._given_up.pop(source, None)
        self.problems.pop(source, None)
        if isinstance(source, OpGraphSource):
            alike = self._alike[op_graphs.shared(source)]
            del alike[source]
            if not alike:
                del self._alike[op_graphs.shared(source)]

    def _enter(self, source: KernelSource, loaded: LoadedModule) -> None:
        self._loaded[source] = loaded
        if isinstance(source, OpGraphSource):
            self._alike.setdefault(op_graphs.shared(source), {})[source] = None

    def _loaded_as(self, source: KernelSource) -> KernelSource | None:
        """Return a loaded source with equivalent kernels: that of a graph with other numbers, if necessary.

        That source must run its optimised code, which takes the numbers as arguments.
        """
        if source in self._loaded or not isinstance(source, OpGraphSource):
            return source if source in self._loaded else None
        with suppress(OpError):
            alike = self._alike.get(op_graphs.shared(source), {})
            return next((other for other in alike if self._loaded[other].module.is_best), None)
        return None

    def _module(self, kernel: Kernel, folders: Iterable[str]) -> LoadedModule:
        source = self.find(kernel, folders)
        known = self._loaded_as(source)
        if known is not None:
            loaded = self._loaded[known] = self._loaded.pop(known)
            return loaded
        if source in self._failed:
            raise self._failed[source]
        loaded = self._load(source)
        self._enter(source, loaded)
        return loaded

    def _load_all(self, sources: Sequence[KernelSource]) -> dict[KernelSource, LoadedModule | KernelError]:
        """Load sources, several at once; return the module or the error of each."""
        if len(sources) < 2:
            return {source: self._try_to_load(source) for source in sources}
        with ThreadPoolExecutor(min(len(sources), os.cpu_count() or 1), "warploom-load") as threads:
            calls = [(contextvars.copy_context(), source) for source in sources]
            done = [threads.submit(context.run, self._try_to_load, source) for context, source in calls]
        failed = [problem for future in done if (problem := future.exception()) is not None]
        if failed:
            found = (future.result() for future in done if future.exception() is None)
            release_all(*(each.module.unload for each in found if isinstance(each, LoadedModule)))
            raise failed[0]
        return {source: future.result() for source, future in zip(sources, done, strict=True)}

    def _try_to_load(self, source: KernelSource) -> LoadedModule | KernelError:
        self._device.activate()
        try:
            return self._load(source)
        except KernelError as problem:
            return problem

    def _load(self, source: KernelSource) -> LoadedModule:
        if source in self._given_up:
            if not self._readings[source].changed():
                raise _cancelled(source)
            del self._given_up[source]
        while True:
            scope, reading = self._under_way[source] = CancelScope(), Reading()
            try:
                with scope.entered(), reading.under_way(alone=True):
                    return self._load_once(source)
            except Cancelled:
                check_cancelled()
                if scope in self._cancelled:
                    self._given_up.setdefault(source, self._readings.get(source, reading))
                    raise _cancelled(source) from None
                # Otherwise the file was saved again.
            finally:
                self._cancelled.discard(scope)
                del self._under_way[source]
                self._readings[source] = reading

    def _load_once(self, source: KernelSource) -> LoadedModule:
        architecture = self._device.info.architecture
        begun_ns = time.perf_counter_ns()
        with self._times.timed(SideKind.COMPILE, source.label):
            image = load_image(source, architecture)
            for entry in image.signatures:
                declared_types(image, entry)  # may take another compile
        try:
            with self._times.timed(SideKind.LOAD, source.label):
                module = self._device.load_module(image.payload(architecture), best=image.best)
        except KernelError as problem:
            _place(problem, image)
            raise
        kernels, time_ms = ", ".join(module.kernel_names), (time.perf_counter_ns() - begun_ns) / 1e6
        _log.debug("loaded %s for %s in %.1f ms: %s", source.label, architecture, time_ms, kernels)
        return LoadedModule(image, module)
