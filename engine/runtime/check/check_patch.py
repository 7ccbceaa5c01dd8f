"""Checking a patch without a device: would it compile?"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from functools import cache

import msgspec

from warploom.engine.catalogue.block_errors import kernel_diagnostic
from warploom.engine.compiler.description import BlockNode, GraphDescription, NumberDrive
from warploom.engine.compiler.inlining.inline import inline, owner
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.descriptions.entries import Kernel, KernelEntry
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.device.open import list_devices
from warploom.engine.diagnostics import Diagnostic, GraphValidationError, KernelError, Severity, error
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.bypass import Running
from warploom.engine.patch.trust import SavePlace
from warploom.engine.runtime.check.kernel_checks import argument_problems, count_problems, number_problems
from warploom.engine.runtime.memory.graph_memory import out_of_memory_errors
from warploom.engine.runtime.model.block_registry import BlockRegistry
from warploom.engine.runtime.model.describe_patch import describe_patch, number_drives
from warploom.engine.runtime.model.module_cache import ModuleCache
from warploom.engine.runtime.model.parameters import ParameterStore
from warploom.engine.user_code.runner import CodeRunner
from warploom.engine.values.steps import read_settings
from warploom.engine.values.value_graph import refused_sources
from warploom.engine.values.wiring import wire_values

#: A plan that needs less memory than this is not compared with the machine's devices.
ALWAYS_THERE = 1 << 30


def check_patch(patch: Patch) -> list[Diagnostic]:
    """Return everything that keeps a patch from compiling; an empty list when it would compile."""
    return plan_patch(patch, fuses=False)[1]


def plan_patch(patch: Patch, *, fuses: bool = True) -> tuple[Plan | None, list[Diagnostic]]:
    """Return the plan of the blocks that can be described, None without any, and all diagnostics."""
    return plan_with_values(patch, fuses=fuses)[:2]


def plan_with_values(
    patch: Patch, *, fuses: bool = True
) -> tuple[Plan | None, list[Diagnostic], Mapping[str, Mapping[str, object]]]:
    """Return the result of `plan_patch`, and the parameter values of the plan's blocks."""
    running = Running.of(patch)
    patch = patch.without_groups()
    parameters = ParameterStore(lambda: patch.folder)
    with closing(CodeRunner()) as code:
        registry = BlockRegistry(patch.catalogue, parameters, lambda: patch.folder, code)
        registry.trusted = patch.trusted
        for node in running.nodes.values():
            registry.register(node)
        connections = running.by_target.values()
        wires = [c for c in connections if not patch.is_value_connection(c)]
        described = describe_patch(registry.snapshot(wires, running.sentinels), code)
        drives = [c for c in connections if patch.is_value_connection(c)]
        value_blocks = registry.value_blocks
        wiring = wire_values([*value_blocks, *registry.live_nodes], drives, registry.type_of)
        found = [*described.problems, *wiring.problems]
        settings = {node: read_settings(block, code) for node, block in value_blocks.items()}
    found += [told for _, told in settings.values() if told]
    found += [*parameters.misfits_beside(wiring.problems), *described.notices]
    description = described.inlined.description
    for block in description.nodes:
        found += _check_kernels(block)
    sources = {node: source for node, (source, _) in settings.items() if source}
    found += refused_sources(sources, trusted=patch.trusted).values()
    if not patch.trusted:
        place = SavePlace(patch.folder, patch=str(patch.path.resolve()) if patch.path is not None else "")
        found += place.refusals(description.files, at_present=True)
    plan = None
    try:
        # Blocks that depend on one that can't be described have no errors of their own.
        runs = description.without(description.dependents(described.undescribed - value_blocks.keys()))
        plan = make_plan(runs, fuses=fuses)
        if followed := number_drives(drives, registry.type_of):
            undescribed = described.undescribed - value_blocks.keys()
            plan = _followed(described.inlined.original, followed, undescribed, fuses) or plan
        found += plan.warnings
        found += _memory_problems(plan)
        if not has_errors(found):
            image = cache(_image)
            found += [*argument_problems(plan, image), *count_problems(plan, image)]
        if not has_errors(found):
            found += number_problems(plan, image, plan.inlined.all_values(parameters.snapshot()))
    except GraphValidationError as problem:
        found += [*problem.errors, *problem.warnings]
    values = plan.inlined.all_values(parameters.snapshot()) if plan is not None else {}
    return plan, list(dict.fromkeys(described.inlined.shown(item) for item in found)), values


def _followed(
    description: GraphDescription, drives: tuple[NumberDrive, ...], undescribed: Collection[str], fuses: bool
) -> Plan | None:
    """Return the plan with the drives that kernels follow in the same frame; None if some can't, as an engine finds."""
    inlined = inline(msgspec.structs.replace(description, drives=drives))
    driven = {drive.target.node for drive in inlined.numbers}
    if any(_check_kernels(node) for node in inlined.description.nodes if owner(node.id) in driven):
        return None
    try:
        return make_plan(inlined.description.without(inlined.description.dependents(undescribed)), fuses=fuses)
    except GraphValidationError:
        return None


def _image(kernel: Kernel, folders: tuple[str, ...]) -> KernelImage:
    """Compile a kernel to PTX, as for the host: that needs no GPU."""
    return load_image(ModuleCache.find(kernel, folders), HOST_ARCHITECTURE)


def _memory_problems(plan: Plan) -> list[Diagnostic]:
    """Return errors when no device of this machine has the memory for a plan."""
    if not out_of_memory_errors(plan, ALWAYS_THERE, ""):
        return []
    largest = max((device for device in list_devices() if device.usable), key=lambda device: device.memory_bytes)
    return out_of_memory_errors(plan, largest.memory_bytes, largest.name)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """True when any diagnostic is an error."""
    return any(item.severity is Severity.ERROR for item in diagnostics)


def _check_kernels(node: BlockNode) -> list[Diagnostic]:
    problems = []
    for entry in node.description.all_entries:
        if not isinstance(entry, KernelEntry):
            continue
        try:
            image = _image(entry.kernel, node.description.kernel_folders)
            takes = len(image.signature(entry.kernel.entry).parameters)
        except KernelError as problem:
            problems.append(kernel_diagnostic(problem, node.id))
            continue
        if takes != len(entry.arguments):
            text = f"kernel {entry.kernel.entry} takes {takes} arguments, got {len(entry.arguments)}"
            problems.append(error(text, node=node.id, remedy="make the block's describe and its kernel agree"))
    return problems
