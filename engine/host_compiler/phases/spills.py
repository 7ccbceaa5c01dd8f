"""Spills: the registers that a thread keeps while it waits, each in an array with one element for each thread.

A register that can be computed again is not spilled. Only the uniform part of a register is spilled if it is uniform or
drifts from a base. Threads that go on together read it from the first of them, so to the optimiser it is one number.
Where all threads reach the same end of a phase, only the first thread's element is written; the scheduler copies it
when they diverge.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis.control_flow import used
from warploom.engine.host_compiler.analysis.phase_values import Restored
from warploom.engine.host_compiler.analysis.rematerialise import rematerialisable
from warploom.engine.host_compiler.analysis.uniformity import Uniform
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import reading
from warploom.engine.host_compiler.opcodes.table import emit
from warploom.engine.host_compiler.operands import width
from warploom.engine.host_compiler.phases.warp_values import WarpValues
from warploom.engine.ptx.tree import Function

#: Bytes between arrays. A cache holds few lines whose addresses differ by a multiple of 4 KiB, as the elements of one
#: thread would in arrays without a gap.
_APART = 128
_UNIFORM = re.compile(r"%uniform\.(\d+)")


class Spills:
    """Where one kernel's spills lie in a worker's scratch memory; `size` is the memory used so far."""

    def __init__(self, kernel: Function, kinds: Mapping[str, Uniform]) -> None:
        self._kernel = kernel
        self._kinds = kinds
        self._rematerialised = rematerialisable(kernel)
        self._order = {name: number for number, name in enumerate(self._rematerialised)}
        self._places: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self.size = abi.SCRATCH_START

    def reserve(self, size: int) -> int:
        """Return where the next `size` bytes lie, at a multiple of 16."""
        self.size = -(-self.size // 16) * 16 + size
        return self.size - size

    def place(self, name: str, size: int) -> int:
        """Return where an array of elements of `size` bytes lies."""
        if name not in self._places:
            self._places[name] = self.reserve(size * abi.MAX_THREADS + _APART)
            self._names[self._places[name]] = name
        return self._places[name]

    def kept(self, live: Iterable[str]) -> list[str]:
        """Return the live registers that are spilled, in order."""
        return sorted(name for name in live if name in self._kernel.registers and name not in self._rematerialised)

    def uniform(self, live: Iterable[str]) -> list[str]:
        """Return the live registers that are read from the first thread."""
        return [name for name in self.kept(live) if name in self._kinds]

    def is_uniform(self, name: str) -> bool:
        """Whether a spilled register is uniform or drifts from a base."""
        return name in self._kinds

    def array(self, body: Body, name: str) -> tuple[int, str]:
        """Return a spilled register's place and the LLVM type of its elements; distances from a base are integers."""
        kind = body.register_type(name)
        stored = "i8" if kind == "i1" else f"i{width(kind)}" if self._base(name) else kind
        return self.place(name, max(width(kind), 8) // 8), stored

    def spill(self, body: Body, name: str, store: Callable[[int, str, str], None]) -> None:
        """Store a register, less its base, in this thread's element by `store` (the array, its type, the value)."""
        offset, stored = self.array(body, name)
        store(offset, stored, self._part(body, name))

    def spill_once(self, body: Body, name: str) -> tuple[str, str]:
        """Note the uniform part of a register in a stack slot; return it, and the text that stores it once.

        The text stores it in the first thread's element.
        """
        slot = body.code.slot(self.array(body, name)[1], "shared")
        self.note(body, name, slot)
        return slot, self.noted(body, name, slot)

    def note(self, body: Body, name: str, slot: str) -> None:
        """Have the uniform part of a register stored in a stack slot."""
        body.code.do(f"store {self.array(body, name)[1]} {self._part(body, name)}, ptr {slot}")

    def noted(self, body: Body, name: str, slot: str) -> str:
        """Return the text that stores the uniform part of a register, from a slot, in the first thread's element."""
        offset, stored = self.array(body, name)
        return (
            f"  {slot}.value = load {stored}, ptr {slot}\n"
            f"  {slot}.all = getelementptr i8, ptr %scratch, i64 {offset}\n"
            f"  {slot}.at = getelementptr {stored}, ptr {slot}.all, i32 %first.thread\n"
            f"  store {stored} {slot}.value, ptr {slot}.at\n"
        )

    def _part(self, body: Body, name: str) -> str:
        code = body.code
        slot, kind = body.register_slot(name)
        base = self._base(name)
        if base:
            start, _ = body.register_slot(base)
            kind = f"i{width(kind)}"
            return code.value(
                f"sub {kind} {code.value(f'load {kind}, ptr {slot}')}, {code.value(f'load {kind}, ptr {start}')}"
            )
        value = code.value(f"load {kind}, ptr {slot}")
        return code.value(f"zext i1 {value} to i8") if kind == "i1" else value

    def facts(self, body: Body, live: Iterable[str]) -> dict[str, Restored]:
        """Return the uniform parts of the live registers that are integers; `uniform_text` loads those in use."""
        found: dict[str, Restored] = {}
        for name in self.uniform(live):
            kind = body.register_type(name)
            if kind in ("i32", "i64"):
                value = self._uniform_value(body, name) + (".wide" if kind == "i32" else "")
                found[name] = Restored(self._base(name), value)
        return found

    def uniform_text(self, body: Body, text: str) -> str:
        """Return the loads, before any thread runs, of the uniform parts that a text reads."""
        lines: list[str] = []
        for place in dict.fromkeys(_UNIFORM.findall(text)):
            name = self._names[int(place)]
            (offset, stored), kind = self.array(body, name), body.register_type(name)
            value = self._uniform_value(body, name)
            lines += [
                f"  {value}.all = getelementptr i8, ptr %scratch, i64 {offset}",
                f"  {value}.at = getelementptr {stored}, ptr {value}.all, i32 %first.thread",
                f"  {value}{'.byte' if kind == 'i1' else ''} = load {stored}, ptr {value}.at",
            ]
            if kind == "i1":
                lines.append(f"  {value} = trunc i8 {value}.byte to i1")
            if kind == "i32":
                lines.append(f"  {value}.wide = sext i32 {value} to i64")
        return "\n".join(lines)

    def _uniform_value(self, body: Body, name: str) -> str:
        """Return the LLVM name of a register's uniform part."""
        return f"%uniform.{self.array(body, name)[0]}"

    def restore(
        self,
        body: Body,
        live: Collection[str],
        needed: Collection[str],
        warp: WarpValues | None = None,
        own: Collection[str] = (),
    ) -> None:
        """Reload the live registers that are needed, or compute them again. The registers `own` are kept in `warp`."""
        found = {name for name in needed if name in live}
        names = self.kept(found)
        self._rematerialise(body, {*found, *map(self._base, needed)})
        for name in names:
            offset, stored = self.array(body, name)
            slot, kind = body.register_slot(name)
            if name not in self._kinds or name in own:
                if warp is not None and name in self._kinds:
                    place = warp.slot(name, stored)
                elif warp is not None and name in own:
                    place = body.code.value(
                        f"getelementptr {stored}, ptr {warp.register(name, stored)}, i64 %lane.wide"
                    )
                else:
                    place = element(body, offset, stored)
                suffix = "" if name in self._kinds else body.accesses.suffix
                value = body.code.value(f"load {stored}, ptr {place}{suffix}")
                # LLVM makes one load of two loads that are chosen from, from a chosen address, and then a gather of it.
                value = body.code.value(f"freeze {stored} {value}")
                if kind == "i1":
                    value = body.code.value(f"trunc i8 {value} to i1")
            else:
                value = self._uniform_value(body, name)
            if self._base(name):
                start, _ = body.register_slot(self._base(name))
                kind = stored
                value = body.code.value(f"add {kind} {body.code.value(f'load {kind}, ptr {start}')}, {value}")
            body.code.do(f"store {kind} {value}, ptr {slot}")

    def _base(self, name: str) -> str:
        kind = self._kinds.get(name)
        return kind.base if kind is not None else ""

    def _rematerialise(self, body: Body, wanted: set[str]) -> None:
        """Compute the wanted registers again where possible, with the registers from which they are computed."""
        needed, pending = set[str](), [name for name in wanted if name in self._rematerialised]
        while pending:
            name = pending.pop()
            if name not in needed:
                needed.add(name)
                pending += [item for item in used(self._rematerialised[name]) if item in self._rematerialised]
        for name in sorted(needed, key=self._order.__getitem__):
            with reading(self._rematerialised[name]):
                emit(body, self._rematerialised[name])


def element(body: Body, offset: int, kind: str) -> str:
    """Return the address of this thread's element of an array."""
    base = body.code.value(f"getelementptr i8, ptr %scratch, i64 {offset}")
    return body.code.value(f"getelementptr {kind}, ptr {base}, i64 %linear.wide")
