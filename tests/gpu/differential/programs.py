"""Random programs of exact forms with branches, loops, shared memory, warp operations and atomics.

A program works on a few registers of each size. Each statement's result is stored, so the first statement that differs
is known. Every NaN is replaced by the same one, since PTX does not define the bits of a NaN result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.gpu.differential.form import OPERANDS, RESULTS, Form
from tests.gpu.differential.kernel import PROLOGUE, load, store
from tests.gpu.differential.kinds import KINDS, Bits, Kind
from tests.gpu.differential.samples import sample

LANES, THREADS = 256, 64
_POOL = {"pred": 3, "b16": 3, "b32": 6, "b64": 4}
_START = {"pred": ("pred",), "b16": ("u16", "f16"), "b32": ("u32", "f32", "s32", "shift"), "b64": ("u64", "f64")}
_QUIET = {"f16": "0x7fff", "bf16": "0x7fff", "f32": "0x7fffffff", "f64": "0x7fffffffffffffff"}
_NARROWED = {"lane": 31, "slot": 7, "few": 3}
_ATOMICS = ("add.u32", "min.s32", "max.u32", "xor.b32", "or.b32", "and.b32")
_FULL = "0xffffffff"


@dataclass(frozen=True)
class Program:
    """A kernel `k` for 256 threads in thread blocks of 64; `statements` has the origin of each stored value."""

    seed: int
    ptx: str
    statements: tuple[str, ...]
    inputs: Bits


def usable(form: Form) -> bool:
    """Return whether programs can use a form: its bits are defined, and its NaNs can be replaced by one."""
    packed = any(kind.format and kind.elements > 1 for kind in form.outputs)
    return form.is_exact and form.in_programs and form.family != "threads" and not form.zone and not packed


class _Writer:
    def __init__(self, forms: Sequence[Form], seed: int) -> None:
        self.forms = forms
        self.rng = np.random.default_rng([seed, 1])
        self.lines: list[str] = []
        self.statements: list[str] = []
        self.labels = 0

    def pick(self, register: str) -> str:
        return f"%{register}_{self.rng.integers(_POOL[register])}"

    def label(self) -> int:
        self.labels += 1
        return self.labels

    def trace(self, kind: Kind, register: str, what: str) -> None:
        self.lines.append(store(kind, register, 8 * LANES * len(self.statements)))
        self.statements.append(what)

    def statements_of(self, count: int, depth: int, mask: str, together: bool) -> None:
        """Write statements.

        `mask` is the mask of the lanes that run the statements ("" if unknown). `together` is true if no thread has
        diverged.
        """
        for _ in range(count):
            choice = self.rng.random()
            if choice < 0.08 and depth < 3:
                self.branch(depth, mask)
            elif choice < 0.14 and depth < 3:
                self.loop(depth, mask, together)
            elif choice < 0.22 and mask:
                self.warp(mask)
            elif choice < 0.25 and together:
                self.exchange()
            elif choice < 0.29:
                self.atomic()
            else:
                self.form(self.forms[int(self.rng.integers(len(self.forms)))])

    def form(self, form: Form) -> None:
        operands = list(zip(OPERANDS, form.inputs, strict=False))
        results = list(zip(RESULTS, form.outputs, strict=False))
        self.lines.append("{ // " + form.name)
        self.lines += [f".reg .{kind.register} {name};" for name, kind in (*operands, *results)]
        for name, kind in operands:
            self.lines.append(f"mov.{kind.register} {name}, {self.pick(kind.register)};")
            if kind.sampler in _NARROWED:
                self.lines.append(f"and.{kind.register} {name}, {name}, {_NARROWED[kind.sampler]};")
        self.lines.append(form.lines)
        for name, kind in results:
            if kind.format:
                test = f"setp.nan.{kind.format} %nan, {name}, {name};"
                quiet = f"@%nan mov.b{kind.bits} {name}, {_QUIET[kind.format]};"
                self.lines.append(f"{{ .reg .pred %nan; {test} {quiet} }}")
        for name, kind in results:
            target = self.pick(kind.register)
            self.lines.append(f"mov.{kind.register} {target}, {name};")
            self.trace(kind, name, form.name)
        self.lines.append("}")

    def branch(self, depth: int, mask: str) -> None:
        number, condition = self.label(), self.pick("pred")
        yes, no = "", ""
        if mask:
            yes, no = f"%yes_{number}", f"%no_{number}"
            self.lines.append(f".reg .b32 {yes}, {no};")
            self.lines.append(f"vote.sync.ballot.b32 {yes}, {condition}, {mask};")
            self.lines.append(f"xor.b32 {no}, {yes}, {mask};")
        self.lines.append(f"@!{condition} bra else_{number};")
        self.statements_of(int(self.rng.integers(1, 6)), depth + 1, yes, False)
        self.lines += [f"bra end_{number};", f"else_{number}:"]
        self.statements_of(int(self.rng.integers(0, 6)), depth + 1, no, False)
        self.lines.append(f"end_{number}:")
        if mask:
            self.lines.append(f"bar.warp.sync {mask};")

    def loop(self, depth: int, mask: str, together: bool) -> None:
        number, uniform = self.label(), self.rng.random() < 0.5
        count, test = f"%count_{number}", f"%test_{number}"
        self.lines.append(f".reg .b32 {count}; .reg .pred {test};")
        turns = str(self.rng.integers(2, 5)) if uniform else self.pick("b32")
        self.lines.append(f"mov.b32 {count}, {turns}; and.b32 {count}, {count}, 7; loop_{number}:")
        self.lines.append(f"setp.eq.u32 {test}, {count}, 0; @{test} bra done_{number}; sub.u32 {count}, {count}, 1;")
        self.statements_of(int(self.rng.integers(1, 5)), depth + 1, mask if uniform else "", together and uniform)
        self.lines.append(f"bra loop_{number}; done_{number}:")
        if mask:
            self.lines.append(f"bar.warp.sync {mask};")

    def warp(self, mask: str) -> None:
        value, other, condition = self.pick("b32"), self.pick("b32"), self.pick("pred")
        target = self.pick("b32")
        first = f"brev.b32 %o, {mask}; clz.b32 %o, %o;" if mask != _FULL else f"and.b32 %o, {other}, 31;"
        lines = {
            "shfl.sync.idx": f"{first} shfl.sync.idx.b32 %t, {value}, %o, 31, {mask};",
            "shfl.sync.bfly": f"shfl.sync.bfly.b32 %t, {value}, {self.rng.integers(32)}, 31, {mask};",
            "vote.sync.ballot": f"vote.sync.ballot.b32 %t, {condition}, {mask};",
            "vote.sync.any": f"vote.sync.any.pred %q, {condition}, {mask}; selp.b32 %t, {value}, {other}, %q;",
            "vote.sync.all": f"vote.sync.all.pred %q, !{condition}, {mask}; selp.b32 %t, {value}, {other}, %q;",
            "match.any.sync": f"and.b32 %o, {value}, 3; match.any.sync.b32 %t, %o, {mask};",
            "redux.sync.add": f"redux.sync.add.u32 %t, {value}, {mask};",
            "redux.sync.min": f"redux.sync.min.s32 %t, {value}, {mask};",
            "redux.sync.xor": f"redux.sync.xor.b32 %t, {value}, {mask};",
        }
        if mask != _FULL:
            del lines["shfl.sync.bfly"]  # would read lanes that may be inactive
        name = list(lines)[self.rng.integers(len(lines))]
        self.lines.append(f"{{ .reg .b32 %t, %o; .reg .pred %q; {lines[name]} mov.b32 {target}, %t; }}")
        self.trace(KINDS["b32"], target, name)

    def exchange(self) -> None:
        value, target, distance = self.pick("b64"), self.pick("b64"), self.rng.integers(1, THREADS)
        self.lines.append(
            "{ .reg .b32 %t, %p, %base; mov.u32 %base, shared_words; mov.u32 %t, %tid.x; mad.lo.u32 %p, %t, 8, %base; "
            f"st.shared.b64 [%p], {value}; bar.sync 0; xor.b32 %t, %t, {distance}; mad.lo.u32 %p, %t, 8, %base; "
            f"ld.shared.b64 {target}, [%p]; bar.sync 0; }}"
        )
        self.trace(KINDS["b64"], target, "st.shared + bar.sync + ld.shared")

    def atomic(self) -> None:
        area = int(self.rng.integers(len(_ATOMICS)))
        place, value = self.pick("b32"), self.pick("b32")
        self.lines.append(
            f"{{ .reg .b32 %t; .reg .b64 %p; and.b32 %t, {place}, 15; mad.wide.u32 %p, %t, 4, %zones; "
            f"red.global.{_ATOMICS[area]} [%p+{64 * area}], {value}; }}"
        )


def generate(forms: Sequence[Form], seed: int, length: int = 40) -> Program:
    """Return a program of some forms; the same seed gives the same program."""
    writer = _Writer([form for form in forms if usable(form)], seed)
    registers = [(kind, f"%{kind}_{index}") for kind, count in _POOL.items() for index in range(count)]
    given = np.zeros((len(registers), LANES), np.uint64)
    writer.lines.append(f".shared .align 16 .b8 shared_words[{8 * THREADS}];")
    for index, (register, name) in enumerate(registers):
        choices = _START[register]
        kind = KINDS[choices[writer.rng.integers(len(choices))]]
        given[index] = sample(kind, LANES, writer.rng)
        writer.lines += [f".reg .{register} {name};", load(kind, name, 8 * LANES * index)]
    writer.statements_of(length, 0, _FULL, True)
    for register, name in registers:
        writer.trace(KINDS[register], name, f"last value of {name}")
    return Program(seed, "\n".join([PROLOGUE, *writer.lines, "ret;", "}", ""]), tuple(writer.statements), given)
