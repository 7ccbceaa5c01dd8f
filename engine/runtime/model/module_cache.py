"""The module cache: each kernel file is compiled and loaded once for the device, until it changes.

What is wrong with kernels becomes diagnostics on the blocks that use them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
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
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.loader import find_kernel, load_image


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
            self.kernels[entry] = TypedKernel(self.module.kernel(entry), signature.parameters)
        return self.kernels[entry]


class ModuleCache:
    """Kernels by file and entry point. Any thread may call it; each file is compiled by one of them.

    A file that was loaded once stays usable: when a later version doesn't compile, `problems` says why, and `kernel`
    returns the last good version.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._loaded: dict[Path, LoadedModule] = {}
        self._replaced: list[LoadedModule] = []
        self._lock = threading.RLock()
        self.problems: dict[Path, KernelError] = {}

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
            for path in affected:
                try:
                    fresh = self._load(path)
                    for entry in self._loaded[path].kernels:
                        fresh.kernel(entry)  # every entry point that is in use must still exist
                except KernelError as problem:
                    self.problems[path] = problem
                else:
                    self.problems.pop(path, None)
                    self._replaced.append(self._loaded[path])
                    self._loaded[path] = fresh
            return bool(affected)

    def unload_replaced(self) -> None:
        """Unload old versions, which no graph may use any more."""
        with self._lock:
            for loaded in self._replaced:
                loaded.module.unload()
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
            loaded = self._loaded[path] = self._load(path)
        return loaded

    def _load(self, path: Path) -> LoadedModule:
        architecture = self._device.info.architecture
        image = load_image(path, architecture)
        try:
            return LoadedModule(image, self._device.load_module(image.payload(architecture)))
        except (TranslatorBug, CompilerCrash) as problem:
            problem.file = str(path)
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
