"""The differential tests' own code, on the host alone: forms, comparison, and reports of wrong results."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.gpu.differential import run_programs
from tests.gpu.differential.compare import Count, compare, run_both, start_zones, table
from tests.gpu.differential.execute import Runner
from tests.gpu.differential.form import Family, Form
from tests.gpu.differential.kinds import KINDS, decode, encode
from tests.gpu.differential.programs import generate
from tests.gpu.differential.recording import LANES, THREADS, read, write
from tests.gpu.differential.rules import EXACT, NUMBER, Approximate
from tests.gpu.differential.samples import inputs
from tests.gpu.differential.tables import FORMS
from warploom.engine.device.host.device import HostDevice

BY_NAME = {form.name: form for form in FORMS}


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _prmt(a: int, b: int, selector: int) -> int:
    given, result = (b << 32 | a).to_bytes(8, "little"), 0
    for index in range(4):
        choice = selector >> (4 * index) & 15
        byte = given[choice & 7]
        result |= (255 * (byte >> 7) if choice & 8 else byte) << (8 * index)
    return result


def _bfe(a: int, position: int, length: int) -> int:
    return (a >> (position & 255)) & ((1 << (length & 255)) - 1)


def _bfi(a: int, b: int, position: int, length: int) -> int:
    # 64-bit fields use all bits of position and length, as on an H200; Python's shifts need bounds.
    position, mask = min(position, 64), (1 << min(length, 64)) - 1
    return b & ~(mask << position) | (a & mask) << position


def _sat(value: int) -> int:
    return max(-(1 << 31), min((1 << 31) - 1, value))


def _divide(a: int, b: int) -> int:
    b = b or 1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


REFERENCES: dict[str, Callable[..., int]] = {
    "add.u16": lambda a, b: a + b,
    "sub.u64": lambda a, b: a - b,
    "mul.lo.s64": lambda a, b: _signed(a, 64) * _signed(b, 64),
    "mul.hi.u32": lambda a, b: a * b >> 32,
    "mul.hi.s64": lambda a, b: _signed(a, 64) * _signed(b, 64) >> 64,
    "mul.wide.s32": lambda a, b: _signed(a, 32) * _signed(b, 32),
    "mad.hi.s32": lambda a, b, c: (_signed(a, 32) * _signed(b, 32) >> 32) + c,
    "mad.wide.u16": lambda a, b, c: a * b + c,
    "div.s32": lambda a, b: _divide(_signed(a, 32), _signed(b, 32)),
    "rem.u64": lambda a, b: a % (b or 1),
    "min.s16": lambda a, b: min(_signed(a, 16), _signed(b, 16)),
    "abs.s64": lambda a: abs(_signed(a, 64)),
    "sad.s32": lambda a, b, c: abs(_signed(a, 32) - _signed(b, 32)) + c,
    "add.sat.s32": lambda a, b: _sat(_signed(a, 32) + _signed(b, 32)),
    "and.b64": lambda a, b: a & b,
    "cnot.b16": lambda a: int(a == 0),
    "shl.b32": lambda a, b: a << min(b, 32),
    "shr.s64": lambda a, b: _signed(a, 64) >> min(b, 64),
    "popc.b64": lambda a: a.bit_count(),
    "clz.b32": lambda a: 32 - a.bit_length(),
    "brev.b64": lambda a: int(f"{a:064b}"[::-1], 2),
    "bfe.u32": _bfe,
    "bfi.b64": _bfi,
    "shf.l.wrap.b32": lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32,
    "shf.r.clamp.b32": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "prmt.b32": _prmt,
    "lop3.b32 0x96": lambda a, b, c: a ^ b ^ c,
    "selp.b32": lambda a, b, c: a if c else b,
    "setp.lt.s16": lambda a, b: int(_signed(a, 16) < _signed(b, 16)),
    "setp.hi.u64": lambda a, b: int(a > b),
    "cvt.s8.u32": lambda a: _signed(a & 255, 8) & 255,
    "cvt.sat.u8.s32": lambda a: max(0, min(255, _signed(a, 32))),
    "cvt.s64.s16": lambda a: _signed(a, 16),
}


def _some(step: int = 40) -> list[Form]:
    """Return a few forms of each family."""
    chosen = []
    for family in dict.fromkeys(form.family for form in FORMS):
        of = [form for form in FORMS if form.family == family]
        chosen += of[::step][:12]
    return chosen


@pytest.fixture(scope="module")
def runner(host: HostDevice) -> Runner:
    """A runner of forms on the host."""
    return Runner(host, LANES, THREADS, vectorised=False)


def test_forms_have_names_of_their_own() -> None:
    """Form names are unique, and there are thousands of forms."""
    assert len(BY_NAME) == len(FORMS) > 1500


def test_integer_forms_give_what_whole_numbers_give(host: HostDevice) -> None:
    """Integer forms compute what Python's integers compute, for edge cases and random values."""
    forms = [BY_NAME[name] for name in REFERENCES]
    given = {form.name: inputs(form, 128, 3) for form in forms}
    results = Runner(host, 128, vectorised=False).run(forms, given, {})
    for form in forms:
        mask = (1 << form.outputs[0].bits) - 1
        expected = [REFERENCES[form.name](*(int(value) for value in lane)) & mask for lane in given[form.name].T]
        np.testing.assert_array_equal(results.values[form.name][0], np.array(expected, np.uint64), err_msg=form.name)


def test_forms_do_not_depend_on_cores_and_thread_blocks(host: HostDevice) -> None:
    """One core with thread blocks of 32 and two with 64 agree, within bounds for approximate forms."""
    single = HostDevice(cores=1)
    forms = [form for form in _some() if form.is_exact] + [BY_NAME["ex2.approx.f32"], BY_NAME["rcp.approx.ftz.f32"]]
    sides = Runner(host, 64, 64, vectorised=False), Runner(single, 64, 32, vectorised=False)
    counts = run_both(forms, *sides, [5])
    single.close()
    assert len(counts) + len(sides[0].refused) + len(sides[0].failed) == len(forms)
    assert len(counts) > 30
    assert sum(count.mismatches for count in counts.values()) == 0, table(counts, *sides)
    assert 0 < counts["ex2.approx.f32"].host_error < 1


def test_the_same_seed_gives_the_same_inputs() -> None:
    """A seed always yields the same inputs, so a failure can be reproduced; another seed yields others."""
    form = BY_NAME["fma.rn.f32"]
    np.testing.assert_array_equal(inputs(form, 50, 9), inputs(form, 50, 9))
    assert (inputs(form, 50, 9) != inputs(form, 50, 10)).any()


def test_samples_hold_the_edges() -> None:
    """Samples include zeros, subnormals, infinities, NaNs, the greatest number, and the extremes of integers."""
    floats = set(inputs(BY_NAME["add.rn.f32"], 4096, 0)[0].tolist())
    assert {0, 1 << 31, 1, 0x007FFFFF, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x3F800000, 0x7F800001} <= floats
    assert {0, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF} <= set(inputs(BY_NAME["add.u32"], 4096, 0)[0].tolist())


def test_one_wrong_bit_is_found(runner: Runner) -> None:
    """A result with one wrong bit is counted, and reported with its form, its inputs and both values."""
    form = BY_NAME["add.u32"]
    given = inputs(form, LANES, 0)
    right, wrong = (runner.run([form], {form.name: given}, {}) for _ in range(2))
    wrong.values[form.name] = wrong.values[form.name] ^ (np.arange(LANES, dtype=np.uint64) == 17)
    count = Count(form)
    compare(form, given, wrong, right, count)
    assert (count.mismatches, count.equal) == (1, LANES - 1)
    a, b = (int(row[17]) for row in given)
    assert count.examples == [
        f"lane 17: ({a:#x}, {b:#x}) -> result 0: host {(a + b) % 2**32 ^ 1:#x}, device {(a + b) % 2**32:#x}"
    ]
    assert "add.u32: 1 of 64" in table({form.name: count}, runner, runner)


def test_rules_tell_nans_and_bounds() -> None:
    """`NUMBER` accepts any NaN for any other; `Approximate` accepts errors up to the bound, and more on a GPU."""
    kind, nans = KINDS["f32"], (np.array([0x7FFFFFFF], np.uint64), np.array([0xFFC00001], np.uint64))
    assert NUMBER.judge(kind, [], *nans).agrees.all()
    assert not EXACT.judge(kind, [], *nans).agrees.any()
    packed = np.array([0x7FFF3C00], np.uint64), np.array([0x7E003C01], np.uint64)
    assert not NUMBER.judge(KINDS["f16x2"], [], *packed).agrees.any()
    rule, x = Approximate(true=np.sqrt, relative=2.0**-20), np.array([[2.0]])
    for off, fits in ((0.5, True), (2.0, False)):
        near = encode(np.sqrt(x[0]) * (1 + off * 2.0**-20), "f32")
        verdict = rule.judge(kind, [x], near, encode(np.sqrt(x[0]), "f32"))
        assert bool(verdict.agrees[0]) is fits
        assert verdict.host_error == pytest.approx(off, abs=0.1)
    for off, fits in ((1.1, True), (1.5, False)):  # a GPU may slightly exceed the manual's bound
        near = encode(np.sqrt(x[0]) * (1 + off * 2.0**-20), "f32")
        assert bool(rule.judge(kind, [x], encode(np.sqrt(x[0]), "f32"), near).agrees[0]) is fits


def test_encoding_is_undone_by_decoding() -> None:
    """Numbers of up to eight digits survive encoding and decoding in every format."""
    values = np.array([0.0, 1.0, -2.5, 96.0, np.inf, 2.0**-10])
    for name in ("f16", "bf16", "f32", "f64"):
        np.testing.assert_array_equal(decode(encode(values, name), name), values)


def test_a_form_that_is_refused_leaves_the_others(runner: Runner) -> None:
    """A refused form is listed with its reason, and the other forms of its kernel still run."""
    family = Family("mixed")
    family.add("add.s64", "s64", "s64 s64")
    family.add("frobnicate.b32", "b32", "b32")
    family.add("sub.s64", "s64", "s64 s64")
    given = {form.name: inputs(form, LANES, 0) for form in family.forms}
    results = runner.run(family.forms, given, {})
    assert set(results.values) == {"add.s64", "sub.s64"}
    assert "frobnicate" in runner.refused["frobnicate.b32"]


def test_programs_are_the_same_for_a_seed_and_name_what_differs(host: HostDevice) -> None:
    """A seed always yields the same program, and a changed value is traced to its statement."""
    forms = [form for form in FORMS if form.family in ("integers", "floats") and "24" not in form.name]
    forms = [form for form in forms if form.name.split(".")[0] in ("add", "sub", "mul", "min", "abs")]
    forms = [form for form in forms if "x2" not in form.name and "abs" not in form.name and "relu" not in form.name]
    program = generate(forms, 6, 20)
    assert program == dataclasses.replace(generate(forms, 6, 20), inputs=program.inputs)
    single = HostDevice(cores=1)
    first, second = run_programs.run(host, program), run_programs.run(single, program)
    single.close()
    assert run_programs.difference(program, first, second) == ""
    second[0][3, 40] ^= np.uint64(1)
    assert f"value 3 ({program.statements[3]}), 1 lanes, first 40" in run_programs.difference(program, first, second)


def test_a_recording_is_read_as_it_was_written(runner: Runner, tmp_path: Path) -> None:
    """A recording is read as it was written, and does not cover forms that changed afterwards."""
    names = ("mad.wide.u32", "setp.lt.s16", "cvt.u8.u64", "red.global.add.u64 %b", "shfl.sync.bfly.b32 c=0x1f")
    forms = [BY_NAME[name] for name in names]
    given, zones = {form.name: inputs(form, LANES, 2) for form in forms}, start_zones(forms, 2)
    results = runner.run(forms, given, zones)
    write(tmp_path / "gpu.npz", forms, results, 2)
    recording = read(tmp_path / "gpu.npz")
    for form in forms:
        assert recording.covers(form)
        assert not recording.covers(dataclasses.replace(form, lines=form.lines + " "))
        np.testing.assert_array_equal(recording.given(form), given[form.name])
        np.testing.assert_array_equal(recording.results.values[form.name], results.values[form.name])
    (changed,) = recording.zones
    np.testing.assert_array_equal(recording.zones[changed], zones[changed])
    np.testing.assert_array_equal(recording.results.zones[changed], results.zones[changed])
