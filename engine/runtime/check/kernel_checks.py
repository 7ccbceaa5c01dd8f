"""Kernel checks: whether kernels suit a plan, and advice on launches that leave a GPU idle."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache

from msgspec.structs import replace

from warploom.engine.compiler.checking.layouts import NodeLayouts
from warploom.engine.compiler.executable.arguments import argument_recipe
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.compiler.operations import FusedEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ConditionArgument,
    ExtentArgument,
    FrameArgument,
    Kernel,
    KernelEntry,
    ValueArgument,
    buffer_arguments,
)
from warploom.engine.device.arguments import ArgumentError, pack, pack_vector
from warploom.engine.device.device import DeviceInfo
from warploom.engine.device.occupancy import KernelResources, Limit, MultiprocessorLimits, Occupancy, occupancy
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.diagnostics import Diagnostic, Source, error, warning
from warploom.engine.kernel_sources.element_types.declared import (
    check_elements,
    declared_types,
    pointer_elements,
    typed_parameters,
)
from warploom.engine.kernel_sources.element_types.names import PointerElement
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.types import DType

#: The compiled image of a kernel, found by its name and the folders that are searched first.
ImageOf = Callable[[Kernel, tuple[str, ...]], KernelImage]


def argument_problems(plan: Plan, image_of: ImageOf, only: Collection[int] | None = None) -> list[Diagnostic]:
    """Return an error for each argument of a wrong kind, and for each buffer that a kernel uses wrongly.

    A pointer takes a buffer, with elements of the type that the kernel's source names; a number takes a number. A
    kernel may store only to outputs and internal buffers, and each output must have a writer. With `only`, check these
    operations, by index.
    """
    blocks = plan.checked.nodes
    problems: list[Diagnostic] = []
    known: dict[tuple[int, int], list[Diagnostic]] = {}  # blocks of one description and layouts share both objects
    for operation in plan.operations if only is None else [plan.operations[index] for index in sorted(only)]:
        entry = operation.entry
        # Fused kernels are known to take the right elements.
        if not isinstance(entry, KernelEntry) or operation.place < 0 or isinstance(entry, FusedEntry):
            continue
        block = blocks[operation.node]
        mismatches = known.get(key := (id(entry), id(block)))
        if mismatches is None:
            mismatches = known[key] = _mismatches(entry, block, image_of) or [*_unwritten(entry, block, image_of)]
        if mismatches:
            problems += [replace(mismatch, node=operation.node) for mismatch in mismatches]
    return problems


def _mismatches(entry: KernelEntry, block: NodeLayouts, image_of: ImageOf) -> list[Diagnostic]:
    """Return an error for each argument of a launch of a wrong kind, or that the kernel must not store to."""
    layouts, kernel = block.layouts, entry.kernel
    image = image_of(kernel, block.description.kernel_folders)
    if problems := [*_wrong_kinds(entry, image), *_stored_inputs(entry, image)]:
        return problems
    types = tuple(
        (argument.name, layout.dtype)
        if isinstance(argument, BufferArgument) and (layout := layouts.get(argument.name)) is not None
        else None
        for argument in entry.arguments
    )
    return check_elements(types, pointer_elements(image, kernel.entry), kernel.label)


def _wrong_kinds(entry: KernelEntry, image: KernelImage) -> Iterator[Diagnostic]:
    """Yield an error for each number that is passed as a pointer, and each buffer as a number."""
    kernel, uses = entry.kernel, image.uses.get(entry.kernel.entry)
    for index, (argument, declared, parameter) in enumerate(
        zip(
            entry.arguments, declared_types(image, kernel.entry), image.signature(kernel.entry).parameters, strict=False
        )
    ):
        is_buffer = isinstance(argument, BufferArgument | FrameArgument)
        is_pointer = isinstance(declared, PointerElement) or (uses is not None and index in uses.addresses)
        is_number = isinstance(declared, DType) or parameter.size_bytes != 8
        if is_buffer == is_pointer or (is_buffer and not is_number):
            continue
        found = getattr(argument, "name", None)
        wanted = f"a buffer ({declared.name}*)" if isinstance(declared, PointerElement) else "a buffer"
        if is_buffer:
            wanted = (
                f"a number ({declared})" if isinstance(declared, DType) else f"a number of {parameter.size_bytes} bytes"
            )
        got = f"{'buffer' if is_buffer else 'parameter'} {found}" if found else _KINDS[type(argument)]
        text = f"argument {index} of kernel {kernel.label} must be {wanted}, got {got}"
        yield error(text, port=found, remedy=_AGREE)


def _stored_inputs(entry: KernelEntry, image: KernelImage) -> Iterator[Diagnostic]:
    """Yield an error for each buffer that a kernel stores to although the block only reads it."""
    uses = image.uses.get(entry.kernel.entry)
    for index in uses.stored if uses is not None else ():
        argument = entry.arguments[index] if index < len(entry.arguments) else None
        if isinstance(argument, BufferArgument) and not argument.writes:
            text = f"input must not be written, got kernel {entry.kernel.label} that stores into {argument.name}"
            remedy = f"declare an output with inplace={argument.name!r} and pass that, or write to another buffer"
            yield error(text, port=argument.name, remedy=remedy)


def _unwritten(entry: KernelEntry, block: NodeLayouts, image_of: ImageOf) -> Iterator[Diagnostic]:
    """Yield an error for each output of a launch that neither its kernel nor another entry of the block writes."""
    description = block.description
    seen = {buffer.name: buffer.of for buffer in description.buffers if buffer.of is not None}
    outputs = {spec.name for spec in description.outputs if not (spec.inplace or spec.state)}
    here = {name for name in (seen.get(each.name, each.name) for each in entry.buffers) if name in outputs}
    if not here:
        return
    for other in description.all_entries:
        uses = None
        if isinstance(other, KernelEntry):
            uses = image_of(other.kernel, description.kernel_folders).uses.get(other.kernel.entry)
        touched = buffer_arguments(other)
        if isinstance(other, KernelEntry) and uses is not None:
            touched = tuple(
                argument
                for index, argument in enumerate(other.arguments)
                if isinstance(argument, BufferArgument) and index in uses.written
            )
        here -= {seen.get(argument.name, argument.name) for argument in touched if argument.writes}
    for name in sorted(here):
        text = f"output must be written, got kernel {entry.kernel.label} that stores nothing into {name}"
        yield error(text, port=name, remedy="write to it, or declare it as an input")


_AGREE = "make the block's describe and its kernel agree"
#: Descriptions of arguments without a name.
_KINDS: dict[type[Argument], str] = {
    ExtentArgument: "a size",
    ValueArgument: "a number",
    FrameArgument: "the frame's uniforms",
    ConditionArgument: "a region's condition",
}
#: Launches with a lower occupancy than this get a warning.
LOW_OCCUPANCY = 0.25
#: A launch with so many threads for each multiprocessor is worth spreading over all of them.
WORTH_SPREADING = 128
#: Thread block sizes that are tried as a remedy.
_SIZES = (32, 64, 96, 128, 192, 256, 384, 512)


def number_problems(plan: Plan, image_of: ImageOf, values: Mapping[str, Mapping[str, object]]) -> list[Diagnostic]:
    """Return an error for each number that its kernel's parameter can't hold, as the build would report it.

    `values` are those of live parameters, by node and name.
    """
    problems = []
    for operation in plan.operations:
        entry = operation.entry
        if not isinstance(entry, KernelEntry) or operation.place < 0 or isinstance(entry, FusedEntry):
            continue
        block = plan.checked.nodes[operation.node]
        image = image_of(entry.kernel, block.description.kernel_folders)
        parameters = typed_parameters(image, entry.kernel.entry)
        try:
            recipe = argument_recipe(entry, operation.place, block, parameters)
            numbers = recipe.constants.copy()
            given = values.get(operation.node, {})  # a sentinel's block has values of its own
            for position, name in recipe.parameters:
                numbers[position] = given.get(name)
            for position, taken, names in recipe.vectors:
                numbers[position] = pack_vector(taken, [given[n] if isinstance(n, str) else n for n in names])
            for position, number in enumerate(numbers):
                if number is not None:
                    pack(parameters[position], number)
        except ArgumentError as problem:
            text = f"kernel {entry.kernel.entry}: {problem}"
            problems.append(error(text, node=operation.node, remedy=_AGREE))
    return problems


def count_problems(plan: Plan, image_of: ImageOf, only: Collection[int] | None = None) -> list[Diagnostic]:
    """Return an error for each launch with a count whose kernel doesn't loop over its grid.

    Such a kernel would skip elements beyond its grid. With `only`, check these operations, by index.
    """
    by_id = plan.description.by_id
    loops = cache(lambda kernel, folders: _reads_grid(image_of(kernel, folders).ptx, kernel.entry))
    problems = []
    for index in range(len(plan.operations)) if only is None else only:
        operation = plan.operations[index]
        entry = operation.entry
        if not isinstance(entry, KernelEntry) or entry.count is None:
            continue
        if not loops(entry.kernel, by_id[operation.node].description.kernel_folders):
            text = f"kernel {entry.kernel.entry} must loop over its grid to follow {entry.count}, got one that never "
            problems.append(
                error(
                    f"{text}looks at the grid's size",
                    node=operation.node,
                    port=entry.count,
                    remedy="use for_each_counted of count.cuh, or launch it without count",
                )
            )
    return problems


def _reads_grid(ptx: str, entry: str) -> bool:
    """True when an entry point, or a function that it may call, reads the size of the grid."""
    start = re.search(rf"\.entry\s+{re.escape(entry)}\b", ptx)
    end = ptx.find("\n}", start.end()) if start else -1
    body = ptx[start.end() : end] if start and end >= 0 else ptx
    return "%nctaid" in (ptx if re.search(r"\bcall\b", body) else body)


def launch_warnings(kernels: Iterable[KernelNode], info: DeviceInfo) -> list[Diagnostic]:
    """Return a warning for each launch that fills a GPU at low occupancy, or leaves most of it idle.

    The host gets no advice, nor do launches that are too small to gain from it, nor free launches, which the device
    shapes and whose optimised code may follow. Nor do kernels that came with Warploom: some are fastest with few
    threads that each hold much.
    """
    if info.limits is None:
        return []
    told: dict[tuple[int, int], tuple[str, str] | None] = {}
    found: dict[Diagnostic, None] = {}
    for node in kernels:
        kernel, config = node.kernel.kernel, node.config
        key = id(kernel), id(config)  # most nodes of a type share both
        if key not in told:
            told[key] = None
            if kernel.resources is not None and not config.is_free and not node.kernel.is_shipped:
                runs = kernel.occupancy(config)
                told[key] = launch_advice(kernel.name, kernel.resources, config, info.limits, info.cores, runs)
        if advice := told[key]:
            found[warning(advice[0], node=node.node, remedy=advice[1], source=Source.OCCUPANCY)] = None
    return list(found)


def launch_advice(
    name: str,
    resources: KernelResources,
    config: LaunchConfig,
    limits: MultiprocessorLimits,
    cores: int,
    found: Occupancy | None,
) -> tuple[str, str] | None:
    """Return a warning about a launch on a GPU with so many multiprocessors and its remedy, or None.

    `found` is its occupancy, None when that is not known.
    """
    blocks = config.grid[0] * config.grid[1] * config.grid[2]
    threads = config.thread_block[0] * config.thread_block[1] * config.thread_block[2]
    if 2 * blocks < cores and blocks * threads >= WORTH_SPREADING * cores:
        text = f"grid of kernel {name} has {blocks} thread blocks of {threads:,} threads: {cores - blocks} of {cores} "
        return f"{text}multiprocessors have nothing to do", f"use thread blocks of {WORTH_SPREADING} threads"
    if found is None or not 0 < found.share < LOW_OCCUPANCY or blocks < found.thread_blocks * cores:
        return None
    cause, remedy = _cause(name, resources, config, limits, found, threads)
    text = f"{found.active_threads:,} of {found.max_threads:,} threads of a multiprocessor can run at once"
    return f"{cause}: {text} ({100 * found.share:.0f} %)", remedy


def _cause(
    name: str,
    resources: KernelResources,
    config: LaunchConfig,
    limits: MultiprocessorLimits,
    found: Occupancy,
    threads: int,
) -> tuple[str, str]:
    """Return the reason why few threads of a kernel run at once, and a remedy."""
    match found.limited_by:
        case Limit.REGISTERS:
            more = f"__launch_bounds__({threads}, {found.thread_blocks + 1})"
            remedy = f"keep fewer values at once, or have the compiler use fewer with {more}"
            by_size = {
                size: occupancy(resources, limits, (size, 1, 1), config.shared_bytes).active_threads
                for size in _SIZES
                if size < threads
            }
            best = max(by_size, key=lambda size: (by_size[size], size), default=threads)
            if by_size.get(best, 0) > found.active_threads:
                remedy += f"; with thread blocks of {best} threads, {by_size[best]:,} would run"
            return f"kernel {name} uses {resources.registers} registers a thread", remedy
        case Limit.SHARED_MEMORY:
            taken = resources.static_shared_bytes + config.shared_bytes
            remedy = "use less shared memory, or have more threads share it"
            return f"kernel {name} takes {taken:,} bytes of shared memory for each thread block of {threads:,}", remedy
    remedy = f"use thread blocks of at least {limits.threads // limits.thread_blocks} threads"
    return f"kernel {name} has thread blocks of {threads} threads, {limits.thread_blocks} at most at once", remedy
