"""Writes one kernel of many forms, each of which has its own inputs and results."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.gpu.differential.form import OPERANDS, RESULTS, Form
from tests.gpu.differential.kinds import Kind

ZONE_WORDS = 64
# The oldest PTX version and target that have every form of the tables.
HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"
PROLOGUE = f"""{HEADER}.visible .entry k(.param .u64 inputs, .param .u64 outputs, .param .u64 zones)
{{
.reg .b64 %in, %out, %zones, %m;
.reg .b32 %index, %n, %b;
mov.u32 %index, %ctaid.x;
mov.u32 %n, %ntid.x;
mov.u32 %b, %tid.x;
mad.lo.u32 %index, %index, %n, %b;
ld.param.u64 %in, [inputs];
ld.param.u64 %out, [outputs];
ld.param.u64 %zones, [zones];
cvta.to.global.u64 %in, %in;
cvta.to.global.u64 %out, %out;
cvta.to.global.u64 %zones, %zones;
mad.wide.u32 %in, %index, 8, %in;
mad.wide.u32 %out, %index, 8, %out;
"""


@dataclass(frozen=True)
class KernelText:
    """A kernel `k`, the first and last line of each form, and how many 64-bit values each thread reads and writes."""

    ptx: str
    spans: dict[str, tuple[int, int]]
    values_in: int
    values_out: int


def load(kind: Kind, register: str, offset: int) -> str:
    """Return lines that load an input into a register; a predicate is bit 0 of the input."""
    if kind.bits == 1:
        return (
            f"{{ .reg .b32 %t; ld.global.b32 %t, [%in+{offset}]; and.b32 %t, %t, 1; setp.ne.b32 {register}, %t, 0; }}"
        )
    return f"ld.global.b{kind.bits} {register}, [%in+{offset}];"


def store(kind: Kind, register: str, offset: int) -> str:
    """Return lines that store a register in the output, whose other bits stay zero."""
    if kind.bits == 1:
        return f"{{ .reg .b32 %t; selp.b32 %t, 1, 0, {register}; st.global.b32 [%out+{offset}], %t; }}"
    return f"st.global.b{kind.bits} [%out+{offset}], {register};"


def block(form: Form, lanes: int, first_in: int, first_out: int, slot: int) -> list[str]:
    """Return the PTX of one form, in a scope of its own."""
    operands, results = (
        list(zip(names, kinds, strict=False)) for names, kinds in ((OPERANDS, form.inputs), (RESULTS, form.outputs))
    )
    lines = ["{ // " + form.name]
    lines += [f".reg .{kind.register} {name};" for name, kind in (*operands, *results)]
    lines += [load(kind, name, 8 * lanes * (first_in + index)) for index, (name, kind) in enumerate(operands)]
    if form.zone:
        lines.append(f"add.u64 %m, %zones, {8 * ZONE_WORDS * slot};")
    lines.append(form.lines)
    lines += [store(kind, name, 8 * lanes * (first_out + index)) for index, (name, kind) in enumerate(results)]
    return [*lines, "}"]


def write(forms: Sequence[Form], lanes: int, *, vectorised: bool = True) -> KernelText:
    """Write a kernel of forms, for launches of exactly `lanes` threads.

    If `vectorised` is false, the kernel has an atomic without effect, so the host runs the threads one by one. That
    compiles in a third of the time.
    """
    lines, spans, values_in, values_out = PROLOGUE.splitlines(), dict[str, tuple[int, int]](), 0, 0
    if not vectorised:
        lines.append("red.global.add.u32 [%zones], 0;")
    for slot, form in enumerate(forms):
        added = block(form, lanes, values_in, values_out, slot)
        spans[form.name] = (len(lines) + 1, len(lines) + len(added))
        lines += added
        values_in += len(form.inputs)
        values_out += len(form.outputs)
    return KernelText("\n".join([*lines, "ret;", "}", ""]), spans, values_in, values_out)
