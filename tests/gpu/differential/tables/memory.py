"""Loads, stores and atomics: every width, signedness, vector, space and cache hint, and address arithmetic.

Atomics act on the zone's words, which all threads share, in ways whose final values do not depend on order.
"""

from tests.gpu.differential.form import Family

FAMILY = Family("memory")

# Values are stored to a local array and loaded as another type, which tests extension, truncation and byte order.
_LOCAL = ".local .align 16 .b8 buffer[32];"
for _t in ("u8", "s8", "u16", "s16", "u32", "s32", "b64"):
    for _wide in ("b32", "b64"):
        if int(_t[1:]) <= int(_wide[1:]):
            FAMILY.add(
                f"ld.local.{_t} to {_wide}",
                _wide,
                "b64",
                f"{_LOCAL} st.local.b64 [buffer+8], %a; ld.local.{_t} %d, [buffer+8];",
            )
for _t in ("u8", "b16", "u32"):
    FAMILY.add(
        f"st.local.{_t} from b64",
        "b64",
        "b64 b64",
        f"{_LOCAL} st.local.b64 [buffer+16], %a; st.local.{_t} [buffer+16], %b; ld.local.b64 %d, [buffer+16];",
    )
_PLACE = ".reg .b64 %p; .reg .b32 %t; mov.u32 %t, %laneid; mad.wide.u32 %p, %t, 16, %m;"
FAMILY.add(
    "ld.local.v4.b32",
    "b32 b32 b32 b32",
    "b64 b64",
    f"{_LOCAL} st.local.v2.b64 [buffer], {{%a, %b}}; ld.local.v4.b32 {{%d, %e, %f, %g}}, [buffer];",
)
FAMILY.add(
    "ld.local.v4.u8",
    "b32 b32 b32 b32",
    "b32",
    f"{_LOCAL} st.local.b32 [buffer+4], %a; ld.local.v4.u8 {{%d, %e, %f, %g}}, [buffer+4];",
)
FAMILY.add(
    "st.local.v4.b16",
    "b64",
    "b16 b16 b16 b16",
    f"{_LOCAL} st.local.v4.b16 [buffer+8], {{%a, %b, %c, %x}}; ld.local.b64 %d, [buffer+8];",
)
FAMILY.add(
    "ld generic of local",
    "b32 b32",
    "b64",
    f"{_LOCAL} .reg .b64 %p, %q; st.local.b64 [buffer], %a; mov.u64 %p, buffer; cvta.local.u64 %q, %p; "
    "ld.v2.b32 {%d, %e}, [%q];",
)
# A word of the zone has the same value in all lanes that may access it.
for _end in ("", ".ca", ".cg", ".cs", ".cv", ".nc"):
    FAMILY.add(
        f"ld.global{_end}.v2.b64", "b64 b64", "slot", f".reg .b64 %p; mad.wide.u32 %p, %a, 16, %m; "
        f"ld.global{_end}.v2.b64 {{%d, %e}}, [%p];", zone="random", in_programs=False
    )  # fmt: skip
for _end in ("v2.u8", "v4.s8", "v2.u16", "v4.s16", "v2.f32", "v4.f32", "v2.f64"):
    _count = int(_end[1])
    _kind = "b64" if _end.endswith("f64") else "b32"
    _given = ", ".join(("%d", "%e", "%f", "%g")[:_count])
    FAMILY.add(
        f"ld.global.{_end}",
        " ".join([_kind] * _count),
        "slot",
        f".reg .b64 %p; mad.wide.u32 %p, %a, 16, %m; ld.global.{_end} {{{_given}}}, [%p+16];",
        zone="random",
        in_programs=False,
    )
for _end in (".relaxed.gpu", ".volatile", ".acquire.gpu", ".relaxed.sys"):
    FAMILY.add(
        f"ld{_end}.global.u32", "u32", "slot", f".reg .b64 %p; mad.wide.u32 %p, %a, 8, %m; "
        f"ld{_end}.global.u32 %d, [%p+4];", zone="random", in_programs=False
    )  # fmt: skip

_AT = ".reg .b64 %p; mad.wide.u32 %p, %a, {size}, %m;"


def _atomic(op: str, operand: str, zone: str = "random", zone_kind: str = "u64") -> None:
    size = 4 if operand.split(" ")[-1].endswith(("32", "x2")) or operand == "whole" else 8
    name = op.replace("{red}", "red")
    place = _AT.format(size=size)
    for opcode in ("red", "atom"):
        lines = op.replace("{red}", opcode)
        head, _, tail = lines.partition(" ")
        given = f".reg .b{8 * size} %old; {head} %old, [%p], {tail}" if opcode == "atom" else f"{head} [%p], {tail}"
        FAMILY.add(
            name.replace("red", opcode, 1), "", f"slot {operand}", f"{place} {given};", zone=zone, zone_kind=zone_kind,
            in_programs=False,
        )  # fmt: skip


for _t in ("u32", "s32", "u64"):
    _atomic(f"{{red}}.global.add.{_t} %b", _t)
for _t in ("u32", "s32", "u64", "s64"):
    _atomic(f"{{red}}.global.min.{_t} %b", _t, "ones")
    _atomic(f"{{red}}.global.max.{_t} %b", _t, "zero")
for _t in ("b32", "b64"):
    for _name in ("and", "or", "xor"):
        _atomic(f"{{red}}.relaxed.gpu.global.{_name}.{_t} %b", _t)
_atomic("{red}.global.inc.u32 37", "b32", "zero")
_atomic("{red}.global.dec.u32 41", "b32", "zero")
_atomic("{red}.global.add.f32 %b", "whole", "zero", "f32")
_atomic("{red}.global.add.f64 %b", "whole64", "zero", "f64")
_atomic("{red}.global.add.noftz.f16x2 %b", "whole16x2", "zero", "f16x2")
_atomic("{red}.global.add.noftz.bf16x2 %b", "wholeb16x2", "zero", "bf16x2")
for _k, _t in (("whole16", "f16"), ("wholeb16", "bf16")):
    FAMILY.add(
        f"red.global.add.noftz.{_t}", "", f"slot {_k}", f".reg .b64 %p; mad.wide.u32 %p, %a, 2, %m; "
        f"red.global.add.noftz.{_t} [%p], %b;", zone="zero", in_programs=False
    )  # fmt: skip
FAMILY.add(
    "red.global.add.v2.f32", "", "slot whole whole", f"{_AT.format(size=8)} red.global.v2.f32.add [%p], {{%b, %c}};",
    zone="zero", in_programs=False,
)  # fmt: skip
_CAS = (
    f"{_AT.format(size=8)} .reg .pred %q; .reg .b{{bits}} %old, %next, %seen; "
    "ld.relaxed.gpu.global.b{bits} %old, [%p]; again: "
    "{op} %next, %old, %b; atom.relaxed.gpu.global.cas.b{bits} %seen, [%p], %old, %next; "
    "setp.ne.b{bits} %q, %seen, %old; mov.b{bits} %old, %seen; @%q bra again;"
)
FAMILY.add("atom.cas.b32 loop", "", "slot u32", _CAS.format(bits=32, op="mul.lo.u32"), zone="ones", in_programs=False)
FAMILY.add("atom.cas.b64 loop", "", "slot u64", _CAS.format(bits=64, op="add.u64"), zone="random", in_programs=False)
# Each word has one winner and no value is lost, so the sum of all values does not depend on the order.
FAMILY.add(
    "atom.exch.b32", "", "slot u32", ".reg .b64 %p; mad.wide.u32 %p, %a, 4, %m; .reg .b32 %old; "
    "atom.global.exch.b32 %old, [%p], 7; red.global.add.u32 [%m+128], %old;", zone="random", in_programs=False
)  # fmt: skip
