"""Floating-point opcodes against numpy, over zeros, subnormals, infinities and NaN."""

import itertools

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate

VALUES = {
    "f32": np.array(
        [0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.14159, 1e-45, -1e-40, 1.17549435e-38, 1e30, -1e38, 3.4e38, 16777217,
         1e-20, 7, 1 / 3, np.inf, -np.inf, np.nan],
        np.float32,
    ),
    "f64": np.array(
        [0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.14159, 5e-324, -1e-310, 2.2e-308, 1e300, -1e308, 1.7e308, 2.0**53 + 2,
         1e-200, 7, 1 / 3, np.inf, -np.inf, np.nan]
    ),
}  # fmt: skip


def pairs(kind):
    """Return every pair of edge values, as two arrays."""
    return tuple(np.ascontiguousarray(x) for x in np.array(list(itertools.product(VALUES[kind], repeat=2))).T)


def same(found, expected):
    """Assert equal bits, with all NaNs equal."""
    expected = np.asarray(expected, found.dtype)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    integer = f"u{found.itemsize}"
    assert np.array_equal(found.view(integer)[~nan], expected.view(integer)[~nan])


def flush(x):
    """Return f32 values with subnormals replaced by signed zeros."""
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x).astype(np.float32)


@pytest.mark.parametrize(("form", "rule"), [("add.ftz", np.add), ("mul.ftz", np.multiply), ("sub.ftz", np.subtract)])
def test_flush_to_zero(apply, form, rule):
    """.ftz replaces subnormal operands and results by zeros of the same sign."""
    a, b = pairs("f32")
    with np.errstate(all="ignore"):
        same(apply(f"{form}.f32 %d, %a, %b;", "f32", "f32", "f32", a, b), flush(rule(flush(a), flush(b))))


def test_saturation_to_the_unit_interval(apply):
    """.sat clamps to [0, 1] and turns NaN into +0."""
    a = VALUES["f32"]
    found = apply("add.sat.f32 %d, %a, 0f00000000;", "f32", "f32", a)
    same(found, np.where(np.isnan(a), 0, np.clip(a, 0, 1)) + np.float32(0))


BOUNDED = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out, .param .f32 bound) {
  .reg .b64 %from, %to, %step; .reg .b32 %i; .reg .f32 %a, %b, %d;
  ld.param.u64 %from, [x]; ld.param.u64 %to, [out]; ld.param.f32 %b, [bound];
  mov.u32 %i, %tid.x; mul.wide.u32 %step, %i, 4; add.u64 %from, %from, %step;
  ld.global.f32 %a, [%from]; mad.wide.u32 %to, %i, 16, %to;
""" + "".join(
    f"  {name}.f32 %d, {sources}; st.global.f32 [%to+{4 * at}], %d;\n"
    for at, (name, sources) in enumerate(itertools.product(("min", "max"), ("%a, %b", "%b, %a")))
) + "  ret; }"  # fmt: skip


@pytest.mark.parametrize("is_optimised", [False, True])
def test_minimum_and_maximum_with_a_parameter(quick_host, optimised_host, is_optimised):
    """Minima and maxima of edge values have a GPU's bits if one operand is a parameter, the same for all threads."""
    device = optimised_host if is_optimised else quick_host
    a = np.tile(np.concatenate([VALUES["f32"], np.array([0x7F800001, 0xFFC12345], np.uint32).view("f4")]), 3)
    kernel = device.load_module(BOUNDED).kernel("k")
    x, out = device.upload(a), device.upload(np.empty((a.size, 4), "f4"))
    for b in a[: a.size // 3]:
        device.launch(kernel, (1,), (a.size,), [x, out, b])
        # A number wins over NaN, but fmin and fmax keep a signalling NaN.
        kept, other = np.where(np.isnan(a), b, a), np.where(np.isnan(b), a, b)
        zeros = (a == 0) & (b == 0)
        least = np.where(zeros, np.where(np.signbit(a) | np.signbit(b), -0.0, 0.0), np.minimum(kept, other))
        most = np.where(zeros, np.where(np.signbit(a) & np.signbit(b), -0.0, 0.0), np.maximum(kept, other))
        expected = np.stack([least, least, most, most], axis=1).astype("f4")
        found = out.download().view("u4")
        np.testing.assert_array_equal(found, np.where(np.isnan(expected), 0x7FFFFFFF, expected.view("u4")))
    x.free()
    out.free()


LOADED = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 out) {
  .reg .b64 %from, %other, %to, %step; .reg .b32 %i; .reg .KIND %a, %b, %d, %e, %f, %g;
  ld.param.u64 %from, [x]; ld.param.u64 %other, [y]; ld.param.u64 %to, [out]; mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %ctaid.x, 61, %i; mul.wide.u32 %step, %i, SIZE; add.u64 %from, %from, %step;
  add.u64 %other, %other, %step; ld.global.KIND %a, [%from]; ld.global.KIND %b, [%other];
  mad.wide.u32 %to, %i, 4 * SIZE, %to;
  min.KIND %d, %a, %b; max.KIND %e, %b, %a; min.KIND %f, %e, %a; mul.KIND %g, %a, 0ONE; max.KIND %g, %g, %d;
  st.global.KIND [%to], %d; st.global.KIND [%to + SIZE], %e; st.global.KIND [%to + 2 * SIZE], %f;
  st.global.KIND [%to + 3 * SIZE], %g; ret; }"""


@pytest.mark.parametrize(("kind", "one"), [("f32", "f3F800000"), ("f64", "d3FF0000000000000")])
def test_minimum_and_maximum_of_many_numbers(optimised_host, kind, one):
    """In optimised code, a number wins over any NaN, also one that signals, and minima of minima follow the rules."""
    whole, size = (np.uint32, 4) if kind == "f32" else (np.uint64, 8)
    more = [0x7F800001, 0xFFA00000] if kind == "f32" else [0x7FF0000000000001, 0xFFF4000000000000]
    values = np.concatenate([VALUES[kind].view(whole), np.array(more, whole)])
    a, b = (each.ravel()[: values.size**2 // 61 * 61] for each in np.meshgrid(values, values))

    def chosen(x, y, is_max):
        keys = [np.where(each >> (8 * size - 1) == 1, ~each, each | whole(1 << (8 * size - 1))) for each in (x, y)]
        floats = [each.view(f"f{size}") for each in (x, y)]
        first = (keys[0] > keys[1]) if is_max else (keys[0] < keys[1])
        first = np.where(np.isnan(floats[1]), True, np.where(np.isnan(floats[0]), False, first))
        return np.where(first, x, y)

    least, most = chosen(a, b, is_max=False), chosen(a, b, is_max=True)
    expected = np.stack([least, most, chosen(most, a, is_max=False), chosen(a, least, is_max=True)], axis=1)
    text = LOADED.replace("KIND", kind).replace("SIZE", str(size)).replace("ONE", one)
    arrays = [optimised_host.upload(each) for each in (a, b, np.zeros((a.size, 4), whole))]
    optimised_host.launch(optimised_host.load_module(text).kernel("k"), (a.size // 61,), (61,), arrays)
    found = arrays[2].download()
    is_nan = np.isnan(expected.view(f"f{size}"))
    np.testing.assert_array_equal(np.isnan(found.view(f"f{size}")), is_nan)
    np.testing.assert_array_equal(found[~is_nan], expected[~is_nan])
    for each in arrays:
        each.free()


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_minimum_and_maximum(apply, kind):
    """A number wins over NaN, and -0 is less than +0; the .NaN form returns the NaN."""
    a, b = pairs(kind)
    zeros = (a == 0) & (b == 0)
    negative = np.signbit(a) | np.signbit(b)
    same(apply(f"min.{kind} %d, %a, %b;", kind, kind, kind, a, b),
         np.where(zeros, np.where(negative, -0.0, 0.0), np.fmin(a, b)))  # fmt: skip
    both = np.signbit(a) & np.signbit(b)
    same(apply(f"max.{kind} %d, %a, %b;", kind, kind, kind, a, b),
         np.where(zeros, np.where(both, -0.0, 0.0), np.fmax(a, b)))  # fmt: skip
    if kind == "f32":
        found = apply("max.NaN.f32 %d, %a, %b;", kind, kind, kind, a, b)
        same(found, np.where(zeros, np.where(both, -0.0, 0.0), np.maximum(a, b)))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_ordered_and_unordered_comparisons(host, kind):
    """Ordered comparisons are false for NaN, unordered ones true."""
    a, b = pairs(kind)
    n = np.isnan(a) | np.isnan(b)
    rules = {
        "eq": (a == b) & ~n, "ne": (a != b) & ~n, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
        "equ": (a == b) | n, "neu": (a != b) | n, "ltu": (a < b) | n, "leu": (a <= b) | n, "gtu": (a > b) | n,
        "geu": (a >= b) | n, "num": ~n, "nan": n,
    }  # fmt: skip
    forms = [f"setp.{test}.{kind} %p, %a, %b; selp.u32 %d, 1, 0, %p;" for test in rules]
    found = evaluate(host, forms, "u32", (kind, kind), a, b)
    for (test, expected), values in zip(rules.items(), found.values(), strict=True):
        assert np.array_equal(values, expected), test


def test_conversions_between_floats_and_from_integers(apply):
    """Widening is exact; narrowing and conversion from integers round to nearest."""
    a = VALUES["f64"]
    with np.errstate(all="ignore"):
        same(apply("cvt.rn.f32.f64 %d, %a;", "f32", "f64", a), a.astype(np.float32))
    b = VALUES["f32"]
    same(apply("cvt.f64.f32 %d, %a;", "f64", "f32", b), b.astype(np.float64))
    same(apply("cvt.rni.f32.f32 %d, %a;", "f32", "f32", b), np.rint(b))
    same(apply("cvt.rn.f16.f32 %d, %a;\n", "f16", "f32", np.array([1, 0.1, -2, 6e4], np.float32)),
         np.array([1, 0.1, -2, 6e4], np.float16))  # fmt: skip
    integers = np.array([0, 1, 16777217, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32)
    same(apply("cvt.rn.f32.u32 %d, %a;", "f32", "u32", integers), integers.astype(np.float32))
    same(apply("cvt.rn.f32.s32 %d, %a;", "f32", "s32", integers.view(np.int32)), integers.view(np.int32).astype("f4"))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_sign_operations(apply, kind):
    """abs, neg and copysign match numpy, also for zeros and infinities; the sign is that of copysign's first source."""
    a, b = pairs(kind)
    number = ~np.isnan(a)
    same(apply(f"abs.{kind} %d, %a;", kind, kind, a), np.abs(a))
    same(apply(f"neg.{kind} %d, %a;", kind, kind, a), -a)
    found = apply(f"copysign.{kind} %d, %a, %b;", kind, kind, kind, a, b)
    same(found[number], np.copysign(b, a)[number])


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan]
X = np.concatenate([np.linspace(-20, 20, 500), np.logspace(-40, 38, 400), SPECIAL]).astype(np.float32)


def test_exponential_and_logarithm(apply):
    """ex2.approx and lg2.approx have an error of at most 2^-22."""
    with np.errstate(all="ignore"):
        found = apply("ex2.approx.f32 %d, %a;", "f32", "f32", X)
        exact = np.exp2(X.astype(np.float64))
        # Near zero, an f32 can't be closer than half of the smallest subnormal.
        np.testing.assert_allclose(found, exact.astype(np.float32), rtol=2.0**-22, atol=1.5e-45)
        found = apply("lg2.approx.f32 %d, %a;", "f32", "f32", X)
        np.testing.assert_allclose(found, np.log2(X.astype(np.float64)), rtol=2.0**-22, atol=2.0**-22.6)


@pytest.mark.parametrize(("name", "rule"), [("sin", np.sin), ("cos", np.cos)])
def test_sine_and_cosine(apply, name, rule):
    """sin.approx and cos.approx have an error of at most 2^-20.5 over one period, and are NaN at infinity."""
    x = np.linspace(-2 * np.pi, 2 * np.pi, 1000).astype(np.float32)
    found = apply(f"{name}.approx.f32 %d, %a;", "f32", "f32", x)
    assert np.abs(found - rule(x.astype(np.float64))).max() < 2.0**-20.5
    assert np.isnan(apply(f"{name}.approx.f32 %d, %a;", "f32", "f32", np.array([np.inf, np.nan], np.float32))).all()


def test_hyperbolic_tangent_roots_and_reciprocals(apply):
    """The relative error is at most 2^-11 for tanh, and at most 2^-22 for roots and reciprocals."""
    x = X[:900]
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        np.testing.assert_allclose(apply("tanh.approx.f32 %d, %a;", "f32", "f32", x), np.tanh(wide), rtol=2.0**-11)
        positive = np.abs(x)
        rules = {"rcp.approx": lambda v: 1 / v, "sqrt.approx": np.sqrt, "rsqrt.approx": lambda v: v**-0.5}
        for form, rule in rules.items():
            expected = rule(positive.astype(np.float64)).astype(np.float32)
            np.testing.assert_allclose(apply(f"{form}.f32 %d, %a;", "f32", "f32", positive), expected, rtol=2.0**-22)
