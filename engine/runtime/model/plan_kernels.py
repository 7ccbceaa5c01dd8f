"""The kernels of a plan, and the problems of kernels as diagnostics on the blocks that use them."""

from collections.abc import Callable, Iterable
from functools import cache

from warploom.engine.catalogue.block_errors import kernel_diagnostic
from warploom.engine.compiler.description import BlockNode
from warploom.engine.compiler.executable.arguments import TypedKernel
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import Kernel, KernelEntry
from warploom.engine.diagnostics import Diagnostic, KernelError
from warploom.engine.runtime.model.module_cache import ModuleCache


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
        key = id(operation.entry), id(folders)  # the plan keeps both objects alive
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

    return [kernel_diagnostic(first, node.id) for node, (first, *_) in _problems(nodes, find)]


def stale_kernels(modules: ModuleCache, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
    """Return the errors of kernels whose newest version doesn't compile, while their last good version runs."""

    def find(kernel: Kernel, folders: tuple[str, ...]) -> KernelError | None:
        try:
            return modules.problems.get(modules.find(kernel, folders))
        except KernelError as problem:
            return problem

    return [kernel_diagnostic(problem, node.id) for node, each in _problems(nodes, find) for problem in each]


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
