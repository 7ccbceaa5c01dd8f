"""Operations between threads: barriers, shuffles, votes, matches and reductions, also after threads diverge."""

from tests.gpu.differential.form import Family

FAMILY = Family("threads")
_ALL = "0xffffffff"

for _mode in ("up", "down", "bfly", "idx"):
    for _c in ("0x1f", "0x181f", "0x1c1f", "0x1e1f", "0x0"):
        _c = _c.replace("1f", "00") if _mode == "up" else _c
        FAMILY.add(
            f"shfl.sync.{_mode}.b32 c={_c}",
            "b32 pred",
            "b32 lane",
            f"shfl.sync.{_mode}.b32 %d|%e, %a, %b, {_c}, {_ALL};",
        )
    FAMILY.add(f"shfl.sync.{_mode}.b32 any c", "b32", "b32 b32 few", f"shfl.sync.{_mode}.b32 %d, %a, 1, %c, {_ALL};")
for _mode in ("all", "any", "uni"):
    FAMILY.add(f"vote.sync.{_mode}.pred", "pred", "pred", f"vote.sync.{_mode}.pred %d, %a, {_ALL};")
    FAMILY.add(
        f"vote.sync.{_mode}.pred mostly",
        "pred",
        "b32",
        f".reg .pred %p; setp.ne.b32 %p, %a, 77; vote.sync.{_mode}.pred %d, %p, {_ALL};",
    )
FAMILY.add("vote.sync.ballot.b32", "b32", "pred", f"vote.sync.ballot.b32 %d, %a, {_ALL};")
FAMILY.add("vote.sync.ballot.b32 !p", "b32", "pred", f"vote.sync.ballot.b32 %d, !%a, {_ALL};")
FAMILY.add("activemask.b32", "b32", "pred", "activemask.b32 %d;", in_programs=False)
for _bits, _kind in ((32, "few"), (64, "few64")):
    FAMILY.add(f"match.any.sync.b{_bits}", "b32", _kind, f"match.any.sync.b{_bits} %d, %a, {_ALL};")
    FAMILY.add(f"match.all.sync.b{_bits}", "b32 pred", _kind, f"match.all.sync.b{_bits} %d|%e, %a, {_ALL};")
    FAMILY.add(
        f"match.all.sync.b{_bits} agreed",
        "b32 pred",
        f"b{_bits}",
        f"and.b{_bits} %a, %a, 0; match.all.sync.b{_bits} %d|%e, %a, {_ALL};",
    )
for _t in ("u32", "s32"):
    for _name in ("add", "min", "max"):
        FAMILY.add(f"redux.sync.{_name}.{_t}", _t, _t, f"redux.sync.{_name}.{_t} %d, %a, {_ALL};")
for _name in ("and", "or", "xor"):
    FAMILY.add(f"redux.sync.{_name}.b32", "b32", "b32", f"redux.sync.{_name}.b32 %d, %a, {_ALL};")

# Threads diverge by a predicate, and the lanes of each side run the operation among themselves.
_PARTED = (
    ".reg .b32 %yes, %no, %first, %t; .reg .pred %q; vote.sync.ballot.b32 %yes, %b, 0xffffffff; not.b32 %no, %yes; "
    "@%b bra then; {no} bra done; then: {yes} done:"
)


def _parted(name: str, outputs: str, kind: str, line: str) -> None:
    """Add a form that runs `line` on both sides of a branch; MASK is the lanes on that side."""
    text = _PARTED.format(no=line.replace("MASK", "%no"), yes=line.replace("MASK", "%yes"))
    FAMILY.add(f"{name} parted", outputs, f"{kind} pred", text)


_FIRST = "brev.b32 %t, MASK; clz.b32 %first, %t; "
_parted("shfl.sync.idx.b32", "b32 pred", "b32", f"{_FIRST} shfl.sync.idx.b32 %d|%e, %a, %first, 0x1f, MASK;")
_parted("vote.sync.ballot.b32", "b32", "b32", "setp.lt.s32 %q, %a, 0; vote.sync.ballot.b32 %d, %q, MASK;")
_parted("vote.sync.all.pred", "pred", "b32", "setp.ne.s32 %q, %a, 0; vote.sync.all.pred %d, %q, MASK;")
_parted("vote.sync.any.pred", "pred", "b32", "setp.eq.s32 %q, %a, 0; vote.sync.any.pred %d, %q, MASK;")
_parted("match.any.sync.b32", "b32", "few", "match.any.sync.b32 %d, %a, MASK;")
_parted("match.all.sync.b32", "b32 pred", "few", "and.b32 %a, %a, 2; match.all.sync.b32 %d|%e, %a, MASK;")
_parted("redux.sync.add.u32", "u32", "u32", "redux.sync.add.u32 %d, %a, MASK;")
_parted("redux.sync.max.s32", "s32", "s32", "redux.sync.max.s32 %d, %a, MASK;")
_parted("redux.sync.xor.b32", "b32", "b32", "redux.sync.xor.b32 %d, %a, MASK;")
_parted("bar.warp.sync", "b32", "b32", "bar.warp.sync MASK; add.u32 %d, %a, 1;")

# In thread blocks of 64, each thread stores to shared memory, waits at a barrier, and loads another thread's value.
_SHARED = (
    ".reg .b32 %t, %o; mov.u32 %t, %tid.x; .shared .align 16 .b8 words[512]; .reg .b32 %base, %p; "
    "mov.u32 %base, words; mad.lo.u32 %p, %t, 8, %base; "
)
_OTHER = "bar.sync 0; xor.b32 %o, %t, 45; mad.lo.u32 %p, %o, 8, %base; "


def _shared(name: str, outputs: str, inputs: str, out: str, back: str) -> None:
    text = f"{_SHARED} bar.sync 0; {out} {_OTHER} {back}"
    FAMILY.add(name, outputs, inputs, text, thread_block=64, in_programs=False)


_shared("st.shared.b64", "b64", "b64", "st.shared.b64 [%p], %a;", "ld.shared.b64 %d, [%p];")
_shared("ld.shared.v2.b32", "b32 b32", "b64", "st.shared.b64 [%p], %a;", "ld.shared.v2.b32 {%d, %e}, [%p];")
_shared("ld.shared.s8", "b32", "b64", "st.shared.b64 [%p], %a;", "ld.shared.s8 %d, [%p+3];")
_shared("st.shared.v4.b16", "b64", "b16 b16", "st.shared.v4.b16 [%p], {%a, %b, %b, %a};", "ld.shared.b64 %d, [%p];")
_CLEAR = "st.shared.b64 [%p], {start}; bar.sync 0; mad.lo.u32 %p, %b, 8, %base;"
for _op, _kind, _start in (
    ("add.u32", "u32", "0"), ("add.s32", "s32", "0"), ("add.u64", "u64", "0"), ("min.s32", "s32", "-1"),
    ("max.u32", "u32", "0"), ("min.u64", "u64", "-1"), ("max.s64", "s64", "0"), ("and.b32", "b32", "-1"),
    ("or.b32", "b32", "0"), ("xor.b64", "b64", "0"), ("add.f32", "whole", "0"), ("add.f64", "whole64", "0"),
    ("inc.u32", "u32", "0"),
):  # fmt: skip
    _given = "%a" if _op != "inc.u32" else "9"
    _shared(
        f"red.shared.{_op}",
        "b64",
        f"{_kind} slot",
        f"{_CLEAR.format(start=_start)} red.shared.{_op} [%p], {_given};",
        "ld.shared.b64 %d, [%p];",
    )
for _name in ("and", "or"):
    FAMILY.add(
        f"bar.red.{_name}.pred", "pred", "b32",
        f".reg .pred %p; setp.ne.b32 %p, %a, 0; bar.red.{_name}.pred %d, 0, %p;",
        thread_block=64, in_programs=False,
    )  # fmt: skip
FAMILY.add("bar.red.popc.u32", "u32", "pred", "bar.red.popc.u32 %d, 0, %a;", thread_block=64, in_programs=False)
FAMILY.add(
    "bar.sync of one warp each",
    "b32",
    "b32",
    f"{_SHARED} .reg .b32 %w; bar.sync 0; st.shared.b32 [%p], %a; shr.u32 %w, %t, 5; add.u32 %w, %w, 1; "
    "bar.sync %w, 32; xor.b32 %o, %t, 21; mad.lo.u32 %p, %o, 8, %base; ld.shared.b32 %d, [%p];",
    thread_block=64,
    in_programs=False,
)
