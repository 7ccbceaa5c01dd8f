"""atom and red of half-precision types and vectors: old values and sums for every type, length and operation."""

import numpy as np
import pytest

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
RNG = np.random.default_rng(21)
TYPES = ["f16", "bf16", "f16x2", "bf16x2", "f32"]
#: Lengths of vectors, by the bits of an element.
LENGTHS = {16: (2, 4, 8), 32: (2, 4)}


def _bits(kind):
    return 32 if kind.endswith("x2") or kind == "f32" else 16


def _encode(values, kind):
    """Return f32 values as the words or half words that hold them."""
    values = values.astype(np.float32)
    if kind == "f32":
        return values.view(np.uint32)
    if kind.startswith("bf16"):
        half = (values.view(np.uint32) >> 16).astype(np.uint16)  # exact, since the values have few bits
    else:
        half = values.astype(np.float16).view(np.uint16)
    return half.view(np.uint32) if kind.endswith("x2") else half


def _kernel(operation, kind, count, *, space="global", returns=True):
    """Return a kernel in which each thread combines its vector with one cell and stores the cell's old value."""
    bits, size = _bits(kind), _bits(kind) // 8 * count
    names = {name: ", ".join(f"%{name}{index}" for index in range(count)) for name in "xo"}
    vector = f".v{count}" if count > 1 else ""
    given, old = (f"{{{names[name]}}}" if count > 1 else names[name] for name in "xo")
    loads = "".join(f"ld.global.b{bits} %x{i}, [%p+{i * bits // 8}];" for i in range(count))
    stores = "".join(f"st.global.b{bits} [%p+{i * bits // 8}], %o{i};" for i in range(count))
    text = f"{operation}{vector}.{kind}" if vector else f"{operation}.{kind}"
    if returns:
        access = f"atom.{space}.{text} {old}, [%cell], {given};"
    else:
        access, stores = f"red.{space}.{text} [%cell], {given};", ""
    return f"""{HEAD}.visible .entry k(.param .u64 px, .param .u64 pc, .param .u64 po) {{
      .reg .b64 %p, %cell; .reg .b32 %t; .reg .b{bits} %x<{count}>, %o<{count}>;
      mov.u32 %t, %tid.x; ld.param.u64 %p, [px]; mad.wide.u32 %p, %t, {size}, %p; {loads}
      ld.param.u64 %cell, [pc]; {access}
      ld.param.u64 %p, [po]; mad.wide.u32 %p, %t, {size}, %p; {stores}
      ret; }}"""


def _operation(name, kind):
    return name + ("" if kind == "f32" else ".noftz")


@pytest.mark.parametrize("kind", TYPES)
def test_vectors_give_old_values_and_take_new_ones(run, kind):
    """For vectors of each length, sums, minima and maxima return the old values; f32 vectors have sums only."""
    for count in LENGTHS[_bits(kind)]:
        lanes = count * (2 if kind.endswith("x2") else 1)
        x, cell = (RNG.integers(-60, 60, lanes).astype(np.float32) / 4 for _ in range(2))
        for name, function in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
            if kind == "f32" and name != "add":
                continue
            ptx = _kernel(_operation(name, kind), kind, count)
            given, before = _encode(x, kind), _encode(cell, kind)
            _, after, old = run(ptx, "k", 1, 1, given, before, np.zeros_like(before))
            assert np.array_equal(old, before)
            assert np.array_equal(after, _encode(function(cell, x), kind))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("count", [1, 4])
def test_sums_of_many_threads(run, kind, count):
    """Sums by red from many thread blocks on two cores are exact integers, whatever their order."""
    lanes = count * (2 if kind.endswith("x2") else 1)
    x = RNG.integers(-2, 3, (64, lanes)).astype(np.float32)
    ptx = _kernel(_operation("add", kind), kind, count, returns=False)
    cell = np.zeros(lanes, np.float32)
    found = run(ptx, "k", 1, 64, _encode(x, kind), _encode(cell, kind), np.zeros(4, np.uint8))[1]
    assert np.array_equal(found, _encode(x.sum(0), kind))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_subnormal_sums_are_kept(run, kind):
    """Subnormal sums of halves are kept by .noftz, which is the only form that PTX has for them."""
    for pair in ("", "x2"):
        count = 2 if pair else 1
        cell, x = np.full(count, 3, np.uint16), np.full(count, 4, np.uint16)
        given = [item.view(np.uint32) if pair else item for item in (x, cell)]
        ptx = _kernel("add.noftz", kind + pair, 1)
        assert (run(ptx, "k", 1, 1, *given, np.zeros(4, np.uint8))[1].view(np.uint16) == 7).all()


@pytest.mark.parametrize(
    "form",
    [
        "atom.global.v2.f32.add _, [%cell], {%x0, %x1};",
        "red.global.L2::cache_hint.v2.f32.add [%cell], {%x0, %x1}, %p;",
        "atom.relaxed.gpu.global.L2::cache_hint.v2.f32.add {%o0, _}, [%cell], {%x0, %x1}, %p;",
    ],
)
def test_the_old_values_may_be_dropped(run, form):
    """In an atomic, `_` may replace the destination or a part of it, and a cache policy may follow the operands."""
    ptx = _kernel("add", "f32", 2, returns=False)
    ptx = ptx.replace("red.global.add.v2.f32 [%cell], {%x0, %x1};", form)
    out = run(ptx, "k", 1, 1, np.array([1, 2], np.float32), np.array([5, 6], np.float32), np.zeros(2, np.uint32))[1]
    assert list(out) == [6, 8]
