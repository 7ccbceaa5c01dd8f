"""ld and st in every space, cvta and isspacep, mov."""

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.accesses import space_of
from warploom.engine.host_compiler.analysis.control_flow import elements_of
from warploom.engine.host_compiler.analysis.uniformity import reads_constant
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.half import concatenated, parts
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import bits, llvm_type, type_of, types_of
from warploom.engine.ptx.tree import Address, Instruction, Register, Symbol, Vector


def _ordering(instruction: Instruction) -> str:
    """Return the LLVM ordering of an access, "" for a plain one."""
    modifiers = instruction.modifiers
    if "acquire" in modifiers or "release" in modifiers:
        return "acquire" if "acquire" in modifiers else "release"
    return "monotonic" if "relaxed" in modifiers or "volatile" in modifiers or "mmio" in modifiers else ""


def _suffix(body: Body, instruction: Instruction, space: str) -> str:
    """Return the facts about a load that the optimiser may use: kernel arguments never change, nor do the numbers that
    all threads load from one place.
    """
    if space != "param":
        is_common = reads_constant(instruction) and body.accesses.is_common(instruction.operands[1])
        return body.accesses.suffix + (", !invariant.load !0" if is_common else "")
    address = instruction.operands[1]
    is_argument = (
        isinstance(address, Address)
        and isinstance(address.base, Symbol)
        and address.base.name in body.layout.parameters
    )
    return ", !invariant.load !0" if is_argument else ""


#: Cache operators of accesses that are visible to the whole GPU.
_PAST_FIRST_CACHE = {"cg", "cv", "wt"}


def _pieces(body: Body, instruction: Instruction, size: int, count: int) -> tuple[int, str]:
    """Return how many elements of a vector access to move at once, and the LLVM ordering of that, "" for a plain one.

    By the PTX manual, a vector access is one access for each element, in any order. But a GPU moves 16 aligned bytes at
    once, and CUB's look-back relies on that. So the host moves 16 bytes at once too where other threads may look: in
    global memory, for accesses that are not weak, or that bypass the first cache by a cache operator. Weak accesses,
    whose bytes no other thread may change meanwhile, are split into elements, which the optimiser handles best; or into
    8 bytes where it runs many threads at once: there, few wide accesses with a stride are cheaper than many narrow
    ones.
    """
    space, order, layout = space_of(instruction), _ordering(instruction), body.layout
    if space == "param":
        return 1, order
    if not order and not _PAST_FIRST_CACHE & set(instruction.modifiers):
        return (max(min(count, 8 // size), 1) if body.accesses.branch_free else 1), ""
    if space not in ("global", "generic") or "nc" in instruction.modifiers:
        return 1, order if size <= 8 else ""
    most = 16 if layout.moves_16_bytes else 8
    if size > most:
        return 1, ""
    pieces = min(count, most // size)
    return pieces, order or ("unordered" if pieces > 1 or size == 16 else "")


@opcode("ld", "ldu")
def _load(body: Body, instruction: Instruction) -> None:
    kind, code, space = type_of(instruction), body.code, space_of(instruction)
    llvm, size = llvm_type(kind), max(bits(kind) // 8, 1)
    elements = elements_of(instruction.operands[0])
    group, order = _pieces(body, instruction, size, len(elements))
    word, bytes_ = f"i{8 * size * group}", size * group
    # A scalar may be written in braces, and a vector access is aligned to its whole size only on the device.
    with body.accesses.at(instruction, instruction.operands[1], size * len(elements)) as pointer:
        values: list[str] = []
        for first in range(0, len(elements), group):
            place = code.value(f"getelementptr i8, ptr {pointer}, i64 {first * size}") if first else pointer
            if order:
                packed = code.value(f"load atomic {word}, ptr {place} {order}, align {bytes_}")
                values += parts(body, packed, word, llvm)
            elif group > 1:
                packed = code.value(f"load {word}, ptr {place}, align 1{body.accesses.suffix}")
                values += parts(body, packed, word, llvm)
            else:
                alignment = size if space in ("local", "shared") else 1
                suffix = _suffix(body, instruction, space)
                values.append(code.value(f"load {llvm}, ptr {place}, align {alignment}{suffix}"))
        for element, value in zip(elements, values, strict=True):
            body.write(element, kind, value)


@opcode("st")
def _store(body: Body, instruction: Instruction) -> None:
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), max(bits(kind) // 8, 1)
    elements = elements_of(instruction.operands[1])
    group, order = _pieces(body, instruction, size, len(elements))
    word, bytes_ = f"i{8 * size * group}", size * group
    # Shared memory is read by arithmetic and written in the hottest loops, so NaNs are not canonicalised there.
    read = body.read_noncanonical if space_of(instruction) == "shared" and not body.layout.flushes else body.read
    values = [read(element, kind) for element in elements]
    with body.accesses.at(instruction, instruction.operands[0], size * len(elements)) as pointer:
        for first in range(0, len(elements), group):
            place = code.value(f"getelementptr i8, ptr {pointer}, i64 {first * size}") if first else pointer
            if not order and group == 1:
                code.do(f"store {llvm} {values[first]}, ptr {place}, align 1{body.accesses.suffix}")
                continue
            packed = concatenated(body, values[first : first + group], llvm, word)
            if order:
                code.do(f"store atomic {word} {packed}, ptr {place} {order}, align {bytes_}")
            else:
                code.do(f"store {word} {packed}, ptr {place}, align 1{body.accesses.suffix}")


@opcode("createpolicy")
def _policy(body: Body, instruction: Instruction) -> None:
    """Write 0: only cache hints use a policy, and the host ignores them."""
    body.write(instruction.operands[0], "b64", "0")


# -- cvta and isspacep: generic addresses and those of one space -------------------------------------------------------


def window(body: Body, space: str) -> str:
    """Return the generic address of the start of a space; 0 for global and constant memory."""
    if space == "shared" or (space == "local" and body.is_entry):
        return body.code.value(f"ptrtoint ptr %{space} to i64")
    if space == "param" and body.layout.parameters:
        return body.code.value("ptrtoint ptr %params to i64")
    return "0"


@opcode("cvta")
def _convert_address(body: Body, instruction: Instruction) -> None:
    kind = types_of(instruction)[-1]
    value = body.read(instruction.operands[1], "b64")
    base = window(body, space_of(instruction))
    if base != "0":
        value = body.code.value(f"{'sub' if 'to' in instruction.modifiers else 'add'} i64 {value}, {base}")
    body.write(instruction.operands[0], "b64", value)
    if bits(kind) != 64:
        raise unsupported(instruction, "use 64-bit addresses")


@opcode("isspacep")
def _is_in_space(body: Body, instruction: Instruction) -> None:
    """Write whether an address is in a space.

    Kernel parameters are in the window of global memory, as are all addresses outside other windows.
    """
    code, space = body.code, space_of(instruction)
    value = body.read(instruction.operands[1], "b64")
    if space == "param":
        result = _within(body, value, "%params", str(body.layout.parameter_bytes))
    elif space == "const":
        result = _is_constant(body, value)
    elif space == "global":
        parts = [_is_own(body, value, other) for other in ("shared", "local")] + [_is_constant(body, value)]
        elsewhere = code.value(f"or i1 {parts[0]}, {code.value(f'or i1 {parts[1]}, {parts[2]}')}")
        result = code.value(f"xor i1 {elsewhere}, true")
    else:
        result = _is_own(body, value, space)
    body.write(instruction.operands[0], "pred", result)


def _within(body: Body, value: str, pointer: str, size: str) -> str:
    """Return whether a generic address lies in `size` bytes from a pointer on."""
    start = body.code.value(f"ptrtoint ptr {pointer} to i64")
    return body.code.value(f"icmp ult i64 {body.code.value(f'sub i64 {value}, {start}')}, {size}")


def _is_own(body: Body, value: str, space: str) -> str:
    """Return whether a generic address lies in the thread block's shared or the thread's local memory."""
    code = body.code
    if space == "shared":
        return _within(body, value, "%shared", "%shared.bytes")
    if body.is_entry:
        return _within(body, value, "%local", str(body.local_bytes))
    # Local memory of the kernel and of every device function lies in the worker's scratch memory.
    first, size = (
        code.value(f"load i64, ptr {code.value(f'getelementptr i64, ptr %worker, i64 {index}')}")
        for index in (abi.SCRATCH, abi.SCRATCH_BYTES)
    )
    return code.value(f"icmp ult i64 {code.value(f'sub i64 {value}, {first}')}, {size}")


def _is_constant(body: Body, value: str) -> str:
    """Return whether a generic address lies in one of the module's constants."""
    found = "false"
    for name, variable in body.layout.module.items():
        if variable.space == "const":
            inside = _within(body, value, f"@{quoted(name)}", str(variable.size_bytes))
            found = body.code.value(f"or i1 {found}, {inside}")
    return found


# -- mov: copies, packing and unpacking of vectors, addresses of variables ---------------------------------------------


@opcode("mov")
def _move(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    target, source = instruction.operands
    if isinstance(target, Vector) and isinstance(source, Vector) and {"v2", "v4"} & set(instruction.modifiers):
        values = [body.read(element, kind) for element in source.elements]
        for element, value in zip(target.elements, values, strict=True):
            body.write(element, kind, value)
        return
    if isinstance(source, Vector) or isinstance(target, Vector):
        kind = f"b{bits(kind)}"
    if isinstance(source, Vector):
        size = bits(kind) // len(source.elements)
        values = [body.read(element, f"b{size}") for element in source.elements]
        value = concatenated(body, values, f"i{size}", llvm_type(kind))
    elif isinstance(target, Register) and target.name in body.holds_any_nan:
        value = body.read_noncanonical(source, kind)
    else:
        value = body.read(source, kind)
    if isinstance(target, Vector):
        size = bits(kind) // len(target.elements)
        for element, part in zip(target.elements, parts(body, value, llvm_type(kind), f"i{size}"), strict=True):
            body.write(element, f"b{size}", part)
    else:
        body.write(target, kind, value)
