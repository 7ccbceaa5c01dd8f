"""What is wrong with the kernels of blocks, as diagnostics on the blocks that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from engine.blocktypes.entries import Kernel
from engine.compiler.description import BlockNode
from engine.diagnostics import Diagnostic, KernelError, error
from engine.runtime.modules import ModuleCache


def unusable_kernels(modules: ModuleCache, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
    """Return the first error of each block with kernels of which no version ever compiled; loads what is not loaded."""

    def find(kernel: Kernel, folders: tuple[str, ...]) -> KernelError | None:
        try:
            modules.kernel(kernel, folders)
        except KernelError as problem:
            return problem
        return None

    return [kernel_diagnostic(node.id, first) for node, (first, *_) in _problems(nodes, find)]


def stale_kernels(modules: ModuleCache, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
    """Return the errors of kernels whose newest version does not compile; their last good version runs."""

    def find(kernel: Kernel, folders: tuple[str, ...]) -> KernelError | None:
        try:
            return modules.problems.get(modules.path(kernel, folders))
        except KernelError as problem:
            return problem

    return [kernel_diagnostic(node.id, problem) for node, each in _problems(nodes, find) for problem in each]


def kernel_diagnostic(node: str, problem: KernelError) -> Diagnostic:
    """Return a kernel's error as a diagnostic on the node that uses it."""
    return error(str(problem), node=node, file=problem.file, line=problem.line, remedy="mend the kernel and save it")


def _problems(
    nodes: Iterable[BlockNode], find: Callable[[Kernel, tuple[str, ...]], KernelError | None]
) -> list[tuple[BlockNode, list[KernelError]]]:
    """Return the blocks with kernels in which something is wrong; each kernel is looked at once."""
    problem_of = cache(find)
    by_description: dict[int, list[KernelError]] = {}  # which most blocks of a type share
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
