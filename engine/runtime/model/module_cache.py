"""The module cache: each kernel file is compiled and loaded once for the device, until it changes.

What is wrong with kernels becomes diagnostics on the blocks that use them.
"""

import contextvars
import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from engine.blocktypes.entries import Kernel, KernelEntry
from engine.compiler.description import BlockNode
from engine.compiler.executable.arguments import TypedKernel
from engine.compiler.plan import Plan
from engine.device.device import Device
from engine.device.protocol import Module
from engine.diagnostics import CompilerCrash, Diagnostic, KernelError, TranslatorBug, error
from engine.kernel_sources.elements import pointer_elements
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.loader import find_kernel, load_image, source_files
from engine.processes.scope import Cancelled, Scope, check_cancelled


@dataclass(frozen=True)
class LoadedModule:
    """A kernel file as it is loaded on the device."""

    image: KernelImage
    module: Module
    kernels: dict[str, TypedKernel] = field(default_factory=dict)

    def kernel(self, entry: str) -> TypedKernel:
        """Return an entry point, the same object every time."""
        if entry not in self.kernels:
            signature = self.image.signature(entry)
            manifest = self.image.manifests.get(entry)
            limit = manifest.max_threads if manifest is not None else None
            self.kernels[entry] = TypedKernel(self.module.kernel(entry), signature.parameters, limit)
        return self.kernels[entry]


class ModuleCache:
    """Kernels by file and entry point. Any thread may call it; several files are compiled at once.

    A file that was loaded once stays usable: when a later version doesn't compile, `problems` says why, and `kernel`
    returns the last good version.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._loaded: dict[Path, LoadedModule] = {}
        self._replaced: list[LoadedModule] = []
        self._lock = threading.RLock()
        self.problems: dict[Path, KernelError] = {}
        #: What the last `load` couldn't load.
        self._failed: dict[Path, KernelError] = {}
        #: What is being compiled; `overtake` reads it while other threads hold the lock.
        self._under_way: dict[Path, Scope] = {}

    def load(self, kernels: Iterable[tuple[Kernel, tuple[str, ...]]]) -> None:
        """Load the files of kernels, several at once. What is wrong with a file is raised when it is asked for."""
        with self._lock:
            self._failed.clear()
            missing: dict[Path, None] = {}
            for name, folders in dict.fromkeys(kernels):
                with suppress(KernelError):  # there is no such file
                    missing[self.path(name, folders)] = None
            for path, found in self._load_all([path for path in missing if path not in self._loaded]).items():
                if isinstance(found, KernelError):
                    self._failed[path] = found
                else:
                    self._loaded[path] = found

    def overtake(self, files: Collection[Path]) -> None:
        """Compile again what is just being compiled of files that were saved meanwhile: only the newest text counts."""
        for path, scope in tuple(self._under_way.items()):
            if not source_files(path).isdisjoint(files):
                scope.cancel()

    def kernel(self, name: Kernel, folders: Iterable[str] = ()) -> TypedKernel:
        """Return a kernel, compiling and loading its file when needed; KernelError says what is wrong with it."""
        with self._lock:
            return self._module(name, folders).kernel(name.entry)

    def image(self, name: Kernel, folders: Iterable[str] = ()) -> KernelImage:
        """Return the compiled file that a kernel comes from; KernelError as with `kernel`."""
        with self._lock:
            loaded = self._module(name, folders)
            loaded.kernel(name.entry)
            return loaded.image

    def dependencies(self) -> frozenset[Path]:
        """Return every file that a loaded kernel comes from or includes."""
        with self._lock:
            return frozenset(path for loaded in self._loaded.values() for path in loaded.image.dependencies)

    @staticmethod
    def path(name: Kernel, folders: Iterable[str] = ()) -> Path:
        """Return the file that a kernel comes from; KernelError when there is none."""
        return find_kernel(name.file, [Path(folder) for folder in folders])

    def reload(self, files: frozenset[Path]) -> bool:
        """Load every kernel file again that is one of `files` or includes one; return whether there was any.

        Old versions stay loaded until `unload_replaced`, since a graph may use them.
        """
        with self._lock:
            # A version that didn't compile may include files that the last good one doesn't.
            affected = [
                path
                for path, loaded in self._loaded.items()
                if path in self.problems or files & {path, *loaded.image.dependencies}
            ]
            for path, fresh in self._load_all(affected).items():
                before = self._loaded[path]
                try:
                    if isinstance(fresh, KernelError):
                        raise fresh
                    for entry in before.kernels:
                        fresh.kernel(entry)  # every entry point that is in use must still exist
                except KernelError as problem:
                    self.problems[path] = problem
                else:
                    self.problems.pop(path, None)
                    self._replaced.append(before)
                    self._loaded[path] = fresh
            return bool(affected)

    def unload_replaced(self) -> None:
        """Unload old versions, which no graph may use any more."""
        with self._lock:
            for loaded in self._replaced:
                loaded.module.unload(is_replaced=True)
            self._replaced.clear()

    def close(self) -> None:
        """Unload everything."""
        self.unload_replaced()
        for loaded in self._loaded.values():
            loaded.module.unload()
        self._loaded.clear()

    def _module(self, name: Kernel, folders: Iterable[str]) -> LoadedModule:
        path = self.path(name, folders)
        loaded = self._loaded.get(path)
        if loaded is None:
            if path in self._failed:
                raise self._failed[path]
            loaded = self._loaded[path] = self._load(path)
        return loaded

    def _load_all(self, paths: Sequence[Path]) -> dict[Path, LoadedModule | KernelError]:
        """Load files, several at once; return for each what it became or what is wrong with it."""
        if len(paths) < 2:
            return {path: self._try_to_load(path) for path in paths}
        with ThreadPoolExecutor(min(len(paths), os.cpu_count() or 1), "warploom-load") as threads:
            calls = [(contextvars.copy_context(), path) for path in paths]
            done = [threads.submit(context.run, self._try_to_load, path) for context, path in calls]
        return {path: future.result() for path, future in zip(paths, done, strict=True)}

    def _try_to_load(self, path: Path) -> LoadedModule | KernelError:
        self._device.activate()
        try:
            return self._load(path)
        except KernelError as problem:
            return problem

    def _load(self, path: Path) -> LoadedModule:
        while True:
            scope = self._under_way[path] = Scope()
            try:
                with scope.entered():
                    return self._load_once(path)
            except Cancelled:
                check_cancelled()  # otherwise the file was saved again
            finally:
                del self._under_way[path]

    def _load_once(self, path: Path) -> LoadedModule:
        architecture = self._device.info.architecture
        image = load_image(path, architecture)
        for entry in image.signatures:
            pointer_elements(image, entry)  # which may take a compile too
        try:
            return LoadedModule(image, self._device.load_module(image.payload(architecture)))
        except KernelError as problem:
            if path.suffix == ".ptx" or isinstance(problem, TranslatorBug | CompilerCrash):
                problem.file = str(path)  # else its line is one of the PTX that was compiled from the file
            raise


class PlanKernels(dict[int, TypedKernel]):
    """The loaded kernels of a plan's launches, by operation index, each found on first use."""

    def __init__(self, plan: Plan, modules: ModuleCache) -> None:
        super().__init__()
        self._operations, self._blocks = plan.operations, plan.description.by_id
        self._find = cache(modules.kernel)  # the search for a kernel's file takes long
        self._known: dict[tuple[int, int], TypedKernel] = {}

    def __missing__(self, index: int) -> TypedKernel:
        operation = self._operations[index]
        assert isinstance(operation.entry, KernelEntry)
        folders = self._blocks[operation.node].description.kernel_folders
        key = id(operation.entry), id(folders)  # which the plan keeps
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find(operation.entry.kernel, folders)
        self[index] = found
        return found


def unusable_kernels(modules: ModuleCache, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
    """Return the first error of each block that has a kernel of which no version ever compiled; loads all kernels."""

    nodes = tuple(nodes)
    descriptions = {id(node.description): node.description for node in nodes}.values()  # most blocks share theirs
    modules.load((kernel, d.kernel_folders) for d in descriptions for kernel in d.kernels())

    def find(kernel: Kernel, folders: tuple[str, ...]) -> KernelError | None:
        try:
            modules.kernel(kernel, folders)
        except KernelError as problem:
            return problem
        return None

    return [kernel_diagnostic(node.id, first) for node, (first, *_) in _problems(nodes, find)]


def stale_kernels(modules: ModuleCache, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
    """Return the errors of kernels whose newest version doesn't compile, while their last good version runs."""

    def find(kernel: Kernel, folders: tuple[str, ...]) -> KernelError | None:
        try:
            return modules.problems.get(modules.path(kernel, folders))
        except KernelError as problem:
            return problem

    return [kernel_diagnostic(node.id, problem) for node, each in _problems(nodes, find) for problem in each]


def kernel_diagnostic(node: str, problem: KernelError) -> Diagnostic:
    """Return a kernel's error as a diagnostic on the node that uses it."""
    remedy = "mend the kernel and save it"
    if isinstance(problem, CompilerCrash):
        remedy = "change the kernel and save it: its compiler fails on it as it is"
    elif isinstance(problem, TranslatorBug):
        remedy = ""
    return error(str(problem), node=node, file=problem.file, line=problem.line, remedy=remedy)


def _problems(
    nodes: Iterable[BlockNode], find: Callable[[Kernel, tuple[str, ...]], KernelError | None]
) -> list[tuple[BlockNode, list[KernelError]]]:
    """Return the blocks whose kernels have problems; each kernel is asked about once."""
    problem_of = cache(find)
    by_description: dict[int, list[KernelError]] = {}  # most blocks of a type share their description
    found = []
    for node in nodes:
        description = node.description
        problems = by_description.get(id(description))
        if problems is None:
            each = (problem_of(kernel, description.kernel_folders) for kernel in description.kernels())
            problems = by_description[id(description)] = [problem for problem in each if problem is not None]
        if problems:
            found.append((node, problems))
    return found
