"""red of integers in pieces that run for many threads at once.

The loop vectoriser refuses instructions that change memory atomically, but it replaces calls of functions that have a
version for a vector. So such a piece calls `wl.red.ADD.i32.PLACE`, of which each version takes the addresses, the
numbers and the mask of 4, 8 or 16 threads. Threads that change one place are reduced before. The order of threads does
not matter, since sums and extremes of integers are the same in any order.
"""

import re
from collections.abc import Sequence

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.types import bits, is_signed
from warploom.engine.ptx.tree import Instruction

_NAME = re.compile(r"@wl\.red\.(?P<name>\w+)\.i(?P<bits>\d+)\.(?P<owner>block|grid)\(i64")
_WIDTHS = (4, 8, 16)
#: How many instructions of one thread cost as much as its part in the change for a vector.
_WORK = 13
_OPERATIONS = frozenset(("add", "min", "max", "and", "or", "xor"))
_KINDS = frozenset(f"{sign}{size}" for sign in "bsu" for size in (32, 64))


def is_reduction(opcode: str, modifiers: tuple[str, ...]) -> bool:
    """Whether an instruction is a `red` whose result does not depend on the order of threads, nor orders accesses."""
    return (
        opcode == "red"
        and modifiers[-1] in _KINDS
        and not _OPERATIONS.isdisjoint(modifiers)
        and {"acquire", "release", "acq_rel", "v2", "v4"}.isdisjoint(modifiers)
    )


def is_rarely_reduced(instructions: Sequence[Instruction]) -> bool:
    """Whether threads do much beside changing numbers in memory, which they do one by one."""
    return len(instructions) > _WORK * sum(item.opcode == "red" for item in instructions)


def reduce_all(body: Body, name: str, kind: str, pointer: str, value: str, *, is_private: bool) -> None:
    """Write the change of one place by each thread."""
    operation = f"u{name}" if name in ("min", "max") and not is_signed(kind) else name
    function = f"wl.red.{operation}.i{bits(kind)}.{'block' if is_private else 'grid'}"
    versions = ",".join(f"_ZGV_LLVM_M{width}vv_{function}({function}.{width})" for width in _WIDTHS)
    place = body.code.value(f"ptrtoint ptr {pointer} to i64")
    body.code.do(
        f"call void @{function}(i64 {place}, i{bits(kind)} {value}) "
        f'"vector-function-abi-variant"="{versions}"{body.accesses.suffix}'
    )


def reductions(text: str, target: str) -> str:
    """Return the functions that LLVM text calls, with the function attributes `target`.

    They are named as used, or LLVM would specialise the function for one thread and drop the others before it
    vectorises loops.
    """
    names = sorted(set(_NAME.findall(text)))
    if not names:
        return ""
    parts, used = [f"declare i{width} @llvm.cttz.i{width}(i{width}, i1)" for width in _WIDTHS], list[str]()
    for name, size in sorted({(name, size) for name, size, _ in names}):
        parts += [f"declare i{size} @{_reduced(name, size, width)}(<{width} x i{size}>)" for width in _WIDTHS]
    for name, size, owner in names:
        function = f"@wl.red.{name}.i{size}.{owner}"
        parts.append(
            f"define internal void {function}(i64 %place, i{size} %value) #4 {{\n"
            f"{_changed(name, size, owner, 'one')}  ret void\n}}"
        )
        parts += [_for_vector(function, name, size, owner, width) for width in _WIDTHS]
        used += [function, *(f"{function}.{width}" for width in _WIDTHS)]
    parts.append(
        f"@llvm.compiler.used = appending global [{len(used)} x ptr] [{', '.join(f'ptr {item}' for item in used)}], "
        'section "llvm.metadata"'
    )
    parts.append(f"attributes #4 = {{ noinline nounwind {target} }}")
    parts.append(f"attributes #5 = {{ nounwind alwaysinline {target} }}")
    return "\n".join(parts)


def _for_vector(function: str, name: str, size: str, owner: str, width: int) -> str:
    """Return the function for a vector of threads: it returns at once if its mask has none."""
    places, values, mask = f"<{width} x i64>", f"<{width} x i{size}>", f"<{width} x i1>"
    formal = f"({places} %places, {values} %values, {mask} %mask)"
    minimum, maximum = 1 << (int(size) - 1), (1 << (int(size) - 1)) - 1
    neutral = {"and": -1, "umin": -1, "min": maximum, "max": -minimum}.get(name, 0)
    splat = f"<{width} x i32> zeroinitializer"
    is_private = owner == "block"
    spare, each = (
        (_spare(width), _each_lane(name, size, width)) if is_private else ("", _each_thread(name, size, width))
    )
    return f"""define internal void {function}.{width}{formal} #5 {{
  %threads = bitcast {mask} %mask to i{width}
  %none = icmp eq i{width} %threads, 0
  br i1 %none, label %done, label %some
some:
  call void {function}.{width}.some{formal}
  br label %done
done:
  ret void
}}
define internal void {function}.{width}.some{formal} #4 {{
entry:
{spare}  %threads = bitcast {mask} %mask to i{width}
  %first.thread = call i{width} @llvm.cttz.i{width}(i{width} %threads, i1 true)
  %place = extractelement {places} %places, i{width} %first.thread
  %first = insertelement {places} poison, i64 %place, i64 0
  %firsts = shufflevector {places} %first, {places} poison, {splat}
  %differ = icmp ne {places} %places, %firsts
  %others = and {mask} %differ, %mask
  %rest.bits = bitcast {mask} %others to i{width}
  %is.one = icmp eq i{width} %rest.bits, 0
  br i1 %is.one, label %one, label %each
one:
  %neutral = insertelement {values} poison, i{size} {neutral}, i64 0
  %neutrals = shufflevector {values} %neutral, {values} poison, {splat}
  %kept = select {mask} %mask, {values} %values, {values} %neutrals
  %value = call i{size} @{_reduced(name, size, width)}({values} %kept)
{_changed(name, size, owner, "one")}  ret void
{each}done:
  ret void
}}"""


def _spare(width: int) -> str:
    """Return the text of places of its own for each thread, which those take that take no part.

    Nothing is known of the mask, so branches would cost more than these changes.
    """
    places, lanes = f"<{width} x i64>", ", ".join(f"i64 {8 * lane}" for lane in range(width))
    return f"""  %spare = alloca [{width} x i64]
  %spare.first = ptrtoint ptr %spare to i64
  %spare.one = insertelement {places} poison, i64 %spare.first, i64 0
  %spare.all = shufflevector {places} %spare.one, {places} poison, <{width} x i32> zeroinitializer
  %spares = add {places} %spare.all, <{lanes}>
  %all.places = select <{width} x i1> %mask, {places} %places, {places} %spares
"""


def _each_lane(name: str, size: str, width: int) -> str:
    """Return the changes of thread after thread, in the memory of a thread block."""
    text = "each:\n"
    for lane in range(width):
        text += f"""  %each{lane}.place = extractelement <{width} x i64> %all.places, i64 {lane}
  %each{lane}.value = extractelement <{width} x i{size}> %values, i64 {lane}
{_changed(name, size, "block", f"each{lane}")}"""
    return text + "  br label %done\n"


def _each_thread(name: str, size: str, width: int) -> str:
    """Return the loop over the threads that take part, in memory of all thread blocks."""
    return f"""each:
  %left = phi i{width} [ %threads, %entry ], [ %rest, %each ]
  %thread = call i{width} @llvm.cttz.i{width}(i{width} %left, i1 true)
  %less = sub i{width} %left, 1
  %rest = and i{width} %left, %less
  %each.place = extractelement <{width} x i64> %places, i{width} %thread
  %each.value = extractelement <{width} x i{size}> %values, i{width} %thread
{_changed(name, size, "grid", "each")}  %is.last = icmp eq i{width} %rest, 0
  br i1 %is.last, label %done, label %each
"""


def _reduced(name: str, size: str, width: int) -> str:
    """Return the name of LLVM's function that reduces a vector."""
    return f"llvm.vector.reduce.{'s' if name in ('min', 'max') else ''}{name}.v{width}i{size}"


def _changed(name: str, size: str, owner: str, prefix: str) -> str:
    """Return the text that changes one place."""
    place, value = ("%place", "%value") if prefix == "one" else (f"%{prefix}.place", f"%{prefix}.value")
    lines = f"  %{prefix}.pointer = inttoptr i64 {place} to ptr\n"
    if owner == "grid":
        return f"{lines}  %{prefix}.old = atomicrmw {name} ptr %{prefix}.pointer, i{size} {value} acq_rel\n"
    lines += f"  %{prefix}.old = load i{size}, ptr %{prefix}.pointer\n"
    if name in ("add", "and", "or", "xor"):
        lines += f"  %{prefix}.new = {name} i{size} %{prefix}.old, {value}\n"
    else:
        order = {"min": "slt", "max": "sgt", "umin": "ult", "umax": "ugt"}[name]
        lines += f"  %{prefix}.less = icmp {order} i{size} %{prefix}.old, {value}\n"
        lines += f"  %{prefix}.new = select i1 %{prefix}.less, i{size} %{prefix}.old, i{size} {value}\n"
    return f"{lines}  store i{size} %{prefix}.new, ptr %{prefix}.pointer\n"
