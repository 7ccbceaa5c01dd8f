"""Kernel swap: saved kernels are compiled and checked beside the running graph, then swapped into its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.blocktypes.entries import KernelEntry
from engine.compiler.executable.arguments import TypedKernel
from engine.compiler.executable.nodes import KernelNode
from engine.compiler.inlining import Inlined
from engine.compiler.plan import Plan
from engine.diagnostics import Diagnostic, KernelError
from engine.runtime.check.kernel_checks import count_problems, element_problems, launch_warnings
from engine.runtime.model.module_cache import ModuleCache, PlanKernels, stale_kernels
from engine.runtime.model.services import DeviceServices


@dataclass(frozen=True)
class PreparedCode:
    """What saved files mean for the running graph: kernels to swap in, by operation, or why it must be rebuilt.

    `rebuild` continues the cause: "with other parameters". `stale` are kernels whose newest version doesn't compile.
    """

    kernels: dict[int, TypedKernel] = field(default_factory=dict)
    rebuild: str = ""
    launch_warnings: list[Diagnostic] = field(default_factory=list)
    stale: list[Diagnostic] = field(default_factory=list)


def prepare_code(
    services: DeviceServices, plan: Plan | None, kernels: Sequence[KernelNode], inlined: Inlined, files: frozenset[Path]
) -> PreparedCode:
    """Load saved files again and find the functions that kernel nodes get instead of their own.

    `plan` and `kernels` are those of the running graph, which this does not touch.
    """
    services.device.activate()
    modules = services.modules
    reloaded = modules.reload(files)
    stale = stale_kernels(modules, inlined.description.nodes)
    if not reloaded or plan is None:
        return PreparedCode(stale=stale)
    fresh = _changed_kernels(modules, plan, kernels)
    if not fresh:
        return PreparedCode(stale=stale)
    image_of = modules.image
    if not all(_fits(fresh[node.operation], node) for node in kernels if node.operation in fresh):
        return PreparedCode(rebuild="with other parameters", stale=stale)
    if count_problems(plan, image_of, fresh):
        return PreparedCode(rebuild="without a loop over its grid", stale=stale)
    if element_problems(plan, image_of, fresh):
        return PreparedCode(rebuild="with another struct", stale=stale)  # the build reports the problem on the node
    nodes = (replace(node, kernel=fresh[node.operation]) if node.operation in fresh else node for node in kernels)
    return PreparedCode(fresh, "", launch_warnings(nodes, services.device.info), stale)


def _changed_kernels(modules: ModuleCache, plan: Plan, kernels: Sequence[KernelNode]) -> dict[int, TypedKernel]:
    """Return the newest kernel of each node that runs an older one; each is looked up once."""
    newest, found, gone = PlanKernels(plan, modules), {}, set()
    for node in kernels:
        entry = plan.operations[node.operation].entry
        folders = plan.description.by_id[node.node].description.kernel_folders
        assert isinstance(entry, KernelEntry)
        if (entry.kernel, folders) in gone:
            continue
        try:
            kernel = newest[node.operation]
        except KernelError:  # its file is gone, as `stale_kernels` reports; the loaded kernel runs on
            gone.add((entry.kernel, folders))
            continue
        if kernel is not node.kernel:
            found[node.operation] = kernel
    return found


def _fits(kernel: TypedKernel, node: KernelNode) -> bool:
    """True when a kernel takes the argument block and the launch of a node; names don't matter."""
    x, y, z = node.config.thread_block
    layouts = [[(p.offset, p.size_bytes, p.ptx_type) for p in k.parameters] for k in (kernel, node.kernel)]
    return layouts[0] == layouts[1] and x * y * z <= kernel.kernel.max_threads
