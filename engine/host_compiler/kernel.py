"""Translation of one kernel, with the device functions it uses, to LLVM text."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from warploom.engine.host_compiler import abi, blocks, parallel
from warploom.engine.host_compiler.analysis.call_graph import target_of
from warploom.engine.host_compiler.analysis.canonical_floats import flushing_entry
from warploom.engine.host_compiler.analysis.control_flow import ControlFlow, control_flow, local_registers, used
from warploom.engine.host_compiler.analysis.guards import Guards
from warploom.engine.host_compiler.analysis.phase_values import PhaseValues
from warploom.engine.host_compiler.analysis.provenance import Provenance, provenance
from warploom.engine.host_compiler.analysis.ranges import Ranges
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.errors import error_at
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.opcodes.calls import FRAME, LINKED, function_name
from warploom.engine.host_compiler.opcodes.table import emit
from warploom.engine.host_compiler.passes.chosen_addresses import with_separate_accesses
from warploom.engine.host_compiler.passes.inlining import inline_suspending
from warploom.engine.host_compiler.passes.launch_versions import LaunchVersion, LaunchVersions, for_launches
from warploom.engine.host_compiler.passes.lockstep_loops import has_atomics_in_loops, with_lockstep_loops
from warploom.engine.host_compiler.passes.plain_divisions import with_plain_divisions
from warploom.engine.host_compiler.passes.recomputing import with_recomputed_registers
from warploom.engine.host_compiler.passes.small_thread_blocks import for_small_thread_blocks
from warploom.engine.host_compiler.passes.unread_results import without_unread_results
from warploom.engine.host_compiler.passes.web_splitting import split_webs, with_immediate_operands
from warploom.engine.host_compiler.phases.translation import translate_waiting
from warploom.engine.host_compiler.row_parts import RowParts
from warploom.engine.host_compiler.runtime.thread_loops import (
    RUN,
    RowPart,
    block_loop,
    launch_i32,
    memory_prologue,
    noted_if_missed,
    share,
    thread_loops,
)
from warploom.engine.ptx.signature import reachable_functions, shared_layout, shared_variables, symbols
from warploom.engine.ptx.tree import Function, KernelSignature, PtxModule, Register

__all__ = ["TranslatedKernel", "linked_function", "translate_kernel"]


@dataclass(frozen=True)
class TranslatedKernel:
    """LLVM text of a kernel.

    `scratch_bytes` is the memory that each worker must have for saved registers. A kernel that `spins` has loops in
    which a thread waits for others, perhaps of other thread blocks.
    """

    name: str
    text: str
    scratch_bytes: int
    spins: bool


def translate_kernel(
    module: PtxModule,
    signature: KernelSignature,
    addresses: Mapping[str, int],
    *,
    flushes: bool,
    scatters: bool,
    moves_16_bytes: bool,
    has_range: bool,
    quickly: bool,
    launches: Sequence[bytes] = (),
) -> TranslatedKernel:
    """Return the LLVM text of a kernel: `run.NAME` and the device functions it calls.

    `flushes`, `scatters`, `moves_16_bytes` and `has_range` are as in MemoryLayout. `quickly`: a kernel is translated
    for one thread after the other, which takes half the time, and in one version. `launches` are the argument blocks of
    known launches, the last of which counts most.
    """
    kernel, functions = inline_suspending(module.functions[signature.name], module.functions)
    used = [item for item in reachable_functions(kernel, functions, module.variables) if item.name != kernel.name]
    linked = {name: item for name, item in functions.items() if item.linkage == LINKED}
    shared = shared_layout(shared_variables(kernel, functions, module.variables))[0]
    visible = {name: item for name, item in module.variables.items() if item.space != "shared"}
    numbers = {item.name: addresses[item.name] for item in used}
    layout = MemoryLayout(
        shared,
        visible,
        numbers,
        flushes=flushes,
        scatters=scatters,
        moves_16_bytes=moves_16_bytes,
        has_range=has_range,
    )
    layout.parameters = {parameter.name: parameter.offset for parameter in signature.parameters}
    layout.parameter_bytes = max((item.offset + item.size_bytes for item in signature.parameters), default=0)
    callees = linked | {item.name: item for item in used}
    layout.static_shared = (
        -(-signature.shared_bytes // 16) * 16 if signature.uses_dynamic_shared else (signature.shared_bytes)
    )
    if not signature.uses_dynamic_shared:
        layout.fixed_shared = signature.shared_bytes
    device_functions = MemoryLayout(
        shared,
        visible,
        numbers,
        static_shared=layout.static_shared,
        flushes=flushes,
        moves_16_bytes=moves_16_bytes,
        has_range=has_range,
    )

    def version(kernel: Function) -> tuple[str, int, bool]:
        """Return the text of a version of the kernel, the scratch bytes that it needs, and whether it spins."""
        text = [_device_function(item, device_functions, kernel.name, callees) for item in used]
        if quickly and not has_atomics_in_loops(kernel):
            kernel = with_immediate_operands(kernel, is_suspension_point)
        else:
            kernel = _for_rows(kernel, layout)
        flow = control_flow(kernel, is_suspension_point)
        if any(block.suspends for block in flow.blocks):
            body, scratch_bytes = translate_waiting(kernel, layout, callees, flow, quickly=quickly)
        else:
            body, scratch_bytes = _plain(kernel, layout, callees, flow, quickly=quickly)
        spins = any(item.opcode == "wl" and item.modifiers == ("yield",) for item in kernel.instructions)
        if used:
            scratch_bytes = -(-scratch_bytes // 64) * 64 + abi.CALL_BYTES
        if flushes:
            body = flushing_entry(f"run.{kernel.name}", body)
        return "\n".join([*text, body]), scratch_bytes, spins

    small, most = (kernel, 0) if quickly else for_small_thread_blocks(kernel) or (kernel, 0)
    found = LaunchVersions([LaunchVersion(kernel)], {}, [{}])
    if not quickly:
        found = for_launches(small, launches, layout.parameters)
    if most and most < signature.max_threads:
        versions = [dataclasses.replace(item, most_threads=most) for item in found.versions]
        found = dataclasses.replace(found, versions=[LaunchVersion(kernel), *versions])
    missed_bytes = None if quickly else layout.parameter_bytes
    if len(found.versions) == 1 and found.serve_all:
        text, scratch_bytes, spins = version(found.versions[0].kernel)
        return TranslatedKernel(kernel.name, f"{text}\n{share(kernel.name, missed_bytes)}", scratch_bytes, spins)
    named = [replace(item.kernel, name=f"{kernel.name}|{place}") for place, item in enumerate(found.versions)]
    made = [version(item) for item in named]
    texts = [*(text for text, _, _ in made), share(kernel.name, missed_bytes, _choice(kernel, layout, found))]
    spins = any(spins for _, _, spins in made)
    return TranslatedKernel(kernel.name, "\n".join(texts), max(size for _, size, _ in made), spins)


def _choice(kernel: Function, layout: MemoryLayout, found: LaunchVersions) -> str:
    """Return the text that chooses the version of a kernel for a launch, from its size and its parameters.

    It notes a launch that may be worth a version of its own.
    """
    everything = [*(item.outcomes for item in found.versions), *found.served]
    needed = {name for outcomes in everything for name in outcomes}
    kernel = replace(kernel, registers=dict.fromkeys(needed, "pred") | kernel.registers)
    layout = dataclasses.replace(layout, flushes=False)  # a kernel flushes in hardware only while it runs
    body = Body(kernel, layout, kernel.name, provenance(kernel, layout))
    for name, instruction in reversed([*found.known.items()]):
        needed |= used(instruction) if name in needed else set()
    for name, instruction in found.known.items():
        if name in needed:
            emit(body, instruction)

    def holds(outcomes: Mapping[str, bool]) -> str:
        """Return whether predicates have these outcomes."""
        holds = "true"
        for name, outcome in outcomes.items():
            value = body.read(Register(name), "pred")
            value = value if outcome else body.code.value(f"xor i1 {value}, true")
            holds = body.code.value(f"and i1 {holds}, {value}")
        return holds

    chosen = ""
    for number, item in enumerate(found.versions):
        run, fits = f"@{quoted(f'run.{kernel.name}|{number}')}", holds(item.outcomes)
        if item.most_threads:
            is_small = body.code.value(f"icmp ule i32 %nx, {item.most_threads}")
            fits = body.code.value(f"and i1 {fits}, {is_small}")
        chosen = body.code.value(f"select i1 {fits}, ptr {run}, ptr {chosen}") if chosen else run
    body.code.do(f"%run = select i1 true, ptr {chosen}, ptr null")
    is_served = "false"
    for outcomes in found.served:
        is_served = body.code.value(f"or i1 {is_served}, {holds(outcomes)}")
    text = launch_i32("nx", abi.THREAD_BLOCK[0]) + "".join(f"{line}\n" for line in (*body.code.entry, *body.code.lines))
    return text if found.serve_all else text + noted_if_missed(kernel.name, layout.parameter_bytes, is_served)


def _for_rows(kernel: Function, layout: MemoryLayout) -> Function:
    """Return a kernel that is rewritten so that rows of its threads run together for longer."""
    kernel = without_unread_results(with_separate_accesses(kernel, provenance(kernel, layout)))
    kernel = with_plain_divisions(split_webs(kernel, control_flow(kernel, is_suspension_point)))
    kernel = _with_lockstep_loops(with_immediate_operands(kernel, is_suspension_point), layout)
    return with_recomputed_registers(kernel, control_flow(kernel, is_suspension_point))


def _with_lockstep_loops(kernel: Function, layout: MemoryLayout) -> Function:
    """Return a kernel with suspension points in the loops whose iterations its threads run together."""
    known = provenance(kernel, layout)
    return with_lockstep_loops(kernel, lambda instruction: parallel.is_simple(instruction, known))


def _plain(
    kernel: Function, layout: MemoryLayout, callees: dict[str, Function], flow: ControlFlow, *, quickly: bool
) -> tuple[str, int]:
    """Return a kernel whose threads never wait for each other: plain loops around its body; and its scratch bytes."""
    known = provenance(kernel, layout)
    if not quickly and parallel.is_parallel(flow, blocks.reachable(flow, 0), known):
        return _parallel(kernel, layout, known, flow), 0
    return _one_by_one(kernel, layout, callees, flow, known)


def _one_by_one(
    kernel: Function, layout: MemoryLayout, callees: dict[str, Function], flow: ControlFlow, known: Provenance
) -> tuple[str, int]:
    """Return a kernel whose threads run one after the other and check each access; and its scratch bytes."""
    body = Body(kernel, layout, kernel.name, known, callees=callees)
    body.local_registers = local_registers(kernel, flow)
    blocks.translate(body, flow, 0, "thread.exit")
    _check_local(kernel, body)
    # Local memory whose address may be passed on lies apart from the stack, which a bad address must not reach.
    is_given = bool(callees) or any(
        item.opcode == "call" or (item.opcode == "cvta" and "local" in item.modifiers) for item in kernel.instructions
    )
    if is_given and body.local_bytes:
        local = f"  %local.at = getelementptr i64, ptr %worker, i64 {abi.SCRATCH}\n  %local = load ptr, ptr %local.at\n"
        scratch = -(-body.local_bytes // 64) * 64
    else:
        local, scratch = f"  %local = alloca [{max(body.local_bytes, 1)} x i8], align 16\n", 0
    loops = thread_loops([RowPart(body)], {axis: ("0", f"%n{axis}") for axis in "xyz"}, "block.done")
    prologue = memory_prologue(body.layout) + loops.prologue
    return (
        f"define i32 @{quoted('run.' + kernel.name)}({layout.formal(RUN)}) #0 {{\nentry:\n{local}{loops.slots}\n"
        f"  br label %start\n{block_loop(prologue, loops.text)}}}\n",
        scratch,
    )


def _parallel(kernel: Function, layout: MemoryLayout, known: Provenance, flow: ControlFlow) -> str:
    """Return a kernel whose threads run many at once, with its checked twin where checks are hoisted."""
    values = PhaseValues()
    body = Body(kernel, layout, kernel.name, known, branch_free=True)
    pieces = blocks.reachable(flow, 0)
    ranges, guards = Ranges(kernel, layout, values), Guards(kernel, flow, 0, pieces, values.is_fresh)
    width = parallel.row_width(kernel, layout, flow, pieces, values)
    if width:
        ranges.require_whole_rows(width, are_warps=False)
    body.accesses.hoist(ranges, guards.of_blocks(), values, width)
    rows = RowParts(body, flow, ranges, guards)
    parts: list[RowPart] = []
    for version in rows.versions(pieces, may_skip=True, is_vector=True):
        own = body
        if parts:
            own = Body(kernel, layout, kernel.name, known, branch_free=True)
            own.accesses.join(body.accesses)
        version.limit(own, guards)
        blocks.translate(own, flow, 0, "thread.exit")
        parts.append(version.part(own))
    fold = parallel.fault_fold(body, "block.done")
    slow_name = f"@{quoted(kernel.name + '|checked')}"
    choice, needs_twin = parallel.choice(body, slow_name, "block.done")
    edges = {axis: (f"%{axis}0", f"%{axis}1") for axis in "xyz"}
    loops = thread_loops([fold.around(part) for part in parts], edges, fold.done, parallel.VECTORS, rows.bounds)
    ends = "  %scratch = getelementptr i8, ptr null, i64 0\n  %together = add i1 true, 0\n" + "".join(
        f"  %{axis}0 = add i32 0, 0\n  %{axis}1 = add i32 %n{axis}, 0\n" for axis in "xyz"
    )
    prologue = memory_prologue(body.layout) + loops.prologue + ends
    text = (
        f"define i32 @{quoted('run.' + kernel.name)}({layout.formal(RUN)}) #0 {{\nentry:\n"
        f"  %common = alloca i32\n{fold.slots}{loops.slots}\n"
        f"  br label %start\n{block_loop(prologue, choice + fold.reset + loops.text + fold.judge)}}}\n"
    )
    return text + (
        _checked(kernel, layout, known, flow, slow_name, is_parallel=ranges.is_hopeful) if needs_twin else ""
    )


def _checked(
    kernel: Function, layout: MemoryLayout, known: Provenance, flow: ControlFlow, name: str, *, is_parallel: bool
) -> str:
    """Return the twin of a parallel kernel that checks every access: for thread blocks at the edge of a buffer."""
    body = Body(kernel, layout, kernel.name, known, branch_free=is_parallel)
    blocks.translate(body, flow, 0, "thread.exit")
    fold = parallel.fault_fold(body, "phase.done") if is_parallel else parallel.FaultFold(done="phase.done")
    edges = {axis: (f"%{axis}0", f"%{axis}1") for axis in "xyz"}
    kind = parallel.VECTORS if is_parallel else ""
    loops = thread_loops([fold.around(RowPart(body))], edges, fold.done, kind)
    prologue = memory_prologue(body.layout) + loops.prologue
    return (
        f"define internal i32 {name}({layout.formal(parallel.FRAME)}) #0 {parallel.twin(is_parallel=is_parallel)} {{\n"
        f"entry:\n{fold.slots}{loops.slots}\n"
        f"  br label %start\nstart:\n{prologue}\n{fold.reset}{loops.text}{fold.judge}phase.done:\n  ret i32 0\n}}\n"
    )


def linked_function(function: Function) -> str:
    """Return the LLVM text of a function that works on registers alone, for kernels of any module to call."""
    text = _device_function(function, MemoryLayout({}, {}, {}), "", {})
    return text.replace("define internal ", "define ", 1)


def _device_function(function: Function, layout: MemoryLayout, kernel: str, callees: dict[str, Function]) -> str:
    """Return a device function; the function returns true when the thread has ended inside it."""
    body = Body(function, layout, kernel, Provenance({}, layout.module.keys()), callees=callees)
    names = [variable.name for variable in (*function.results, *function.parameters)]
    body.param_pointers.update((name, f"%formal.{index}") for index, name in enumerate(names))
    flow = control_flow(function)
    blocks.translate(body, flow, 0, "thread.return")
    formal = "".join(f", ptr %formal.{index}" for index in range(len(names)))
    _check_local(function, body)
    begin, end = _frame(function, body.local_bytes, callees)
    entry = "\n".join(body.code.entry)
    lines = "\n".join(body.code.lines)
    return (
        f"define internal i1 {function_name(kernel, function.name)}({FRAME}{formal}) #0 {{\nentry:\n"
        f"{entry}\n{begin}{body.cleared()}  br label %{blocks.label(0)}\n{lines}\n"
        f"thread.return:\n{end}  ret i1 false\nthread.exit:\n{end}  ret i1 true\n}}\n"
    )


def _frame(function: Function, size: int, callees: dict[str, Function]) -> tuple[str, str]:
    """Return the text that allocates a device function's local memory, and the text that frees it.

    A function that may call itself, directly or not, also checks the depth of the stack.
    """
    is_recursive = any(entry.opcode == "call" for entry in function.instructions) and (
        any(target_of(entry) for item in callees.values() for entry in item.instructions)
        or any(
            function in reachable_functions(callees[name], callees, {}) for name in symbols(function) if name in callees
        )
    )
    if not size and not is_recursive:
        return "  %local = alloca [1 x i8], align 16\n", ""
    line = function.instructions[0].line if function.instructions else 0
    end = "  store i64 %local.first, ptr %local.top\n"
    begin = f"""  %local.top = getelementptr i64, ptr %worker, i64 {abi.LOCAL_TOP}
  %local.first = load i64, ptr %local.top
  %local = inttoptr i64 %local.first to ptr
  %local.next = add i64 %local.first, {-(-size // 16) * 16}
  %scratch.at = getelementptr i64, ptr %worker, i64 {abi.SCRATCH}
  %scratch.first = load i64, ptr %scratch.at
  %scratch.size.at = getelementptr i64, ptr %worker, i64 {abi.SCRATCH_BYTES}
  %scratch.size = load i64, ptr %scratch.size.at
  %scratch.end = add i64 %scratch.first, %scratch.size
  %local.fits = icmp ule i64 %local.next, %scratch.end
  %stack.here = call ptr @llvm.frameaddress.p0(i32 0)
  %stack.number = ptrtoint ptr %stack.here to i64
  %stack.top.at = getelementptr i64, ptr %worker, i64 {abi.STACK}
  %stack.top = load i64, ptr %stack.top.at
  %stack.depth = sub i64 %stack.top, %stack.number
  %stack.fits = icmp slt i64 %stack.depth, {abi.STACK_LIMIT}
  %frame.fits = and i1 %local.fits, %stack.fits
  br i1 %frame.fits, label %frame.begin, label %frame.fault
frame.fault:
  call void @wl.overflow(ptr %launch, ptr %worker, i64 {line}, i32 %tid.x, i32 %tid.y, i32 %tid.z)
  ret i1 true
frame.begin:
  store i64 %local.next, ptr %local.top
"""
    return begin, end


def _check_local(function: Function, body: Body) -> None:
    if body.local_bytes > abi.MAX_LOCAL_BYTES:
        raise error_at(
            function.line,
            f"function {function.name}: local memory must be at most {abi.MAX_LOCAL_BYTES} bytes, "
            f"got {body.local_bytes}",
        )
