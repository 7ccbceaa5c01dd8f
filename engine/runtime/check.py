"""Checking a patch without a device: would it compile?"""

from __future__ import annotations

from engine.blocktypes.description import KernelEntry
from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.plan import make_plan
from engine.diagnostics import Diagnostic, GraphValidationError, KernelError, Severity, error
from engine.kernel_sources.loader import load_image
from engine.patch.document import Patch
from engine.runtime.context import kernel_diagnostic
from engine.runtime.modules import ModuleCache
from engine.runtime.registry import BlockRegistry

#: Kernels are compiled to PTX, as for the host: that needs no GPU.
ARCHITECTURE = "compute_75"


def check_patch(patch: Patch) -> list[Diagnostic]:
    """Return everything that keeps a patch from compiling; an empty list when it would compile."""
    registry = BlockRegistry(patch.catalogue, lambda _: None, lambda: patch.folder)
    for node in patch.nodes.values():
        registry.register(node)
    registry.describe()
    found = [problem for placed in registry.placed.values() for problem in placed.problems]
    described = [BlockNode(i, p.description) for i, p in registry.placed.items() if p.description is not None]
    for block in described:
        found += _check_kernels(block)
    description = GraphDescription(tuple(described), tuple(patch.connections))
    undescribed = patch.nodes.keys() - description.by_id.keys()
    try:
        # What depends on a block that can't be described has no error of its own.
        make_plan(description.without(description.dependents(undescribed)))
    except GraphValidationError as problem:
        found += problem.errors
    return found


def has_errors(diagnostics: list[Diagnostic]) -> bool:
    """True when any of them is an error."""
    return any(item.severity is Severity.ERROR for item in diagnostics)


def _check_kernels(node: BlockNode) -> list[Diagnostic]:
    problems = []
    for entry in node.description.entries:
        if not isinstance(entry, KernelEntry):
            continue
        try:
            image = load_image(ModuleCache.path(entry.kernel, node.description.kernel_folders), ARCHITECTURE)
            takes = len(image.signature(entry.kernel.entry).parameters)
        except KernelError as problem:
            problems.append(kernel_diagnostic(node.id, problem))
            continue
        if takes != len(entry.arguments):
            text = f"kernel {entry.kernel.entry} takes {takes} arguments, got {len(entry.arguments)}"
            problems.append(error(text, node=node.id, remedy="make the block's describe and its kernel agree"))
    return problems
