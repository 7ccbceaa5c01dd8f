"""Numbers of kernels: a parameter receives the value that is shown, in the parameter's own type."""

import ctypes
import math
import struct
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, Kernel, Out, param, port, u8
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.runtime.check.check_patch import check_patch

#: C types that a parameter may have, in their various spellings, with the ctypes or struct format of each.
INTEGERS: dict[str, type[Any]] = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_byte,
    "signed char": ctypes.c_byte,
    "unsigned char": ctypes.c_ubyte,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "short": ctypes.c_short,
    "unsigned short": ctypes.c_ushort,
    "Small": ctypes.c_short,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "unsigned": ctypes.c_uint,
    "const int": ctypes.c_int,
    "Choice": ctypes.c_uint,
    "long": ctypes.c_int64,
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "size_t": ctypes.c_uint64,
}
FLOATS = {"float": "<f", "double": "<d", "__half": "<e", "Real": "<d"}
HEAD = """#include <stdint.h>
#include <cuda_fp16.h>
typedef short Small;
using Real = double;
enum class Choice : unsigned { none };
typedef const float* Input;
template <class T> __device__ void put(unsigned char* out, int at, T value) {
    for (int i = 0; i < sizeof(T); ++i) out[at + i] = reinterpret_cast<const unsigned char*>(&value)[i];
}
"""


def _range(kind: str) -> tuple[float, float]:
    """Return the smallest and the largest finite number of a C type, from ctypes and the formats of IEEE 754."""
    if kind in FLOATS:
        most = {"<f": (2 - 2.0**-23) * 2.0**127, "<d": (2 - 2.0**-52) * 2.0**1023, "<e": 65504.0}[FLOATS[kind]]
        return -most, most
    ctype = INTEGERS[kind]
    bits = 8 * ctypes.sizeof(ctype)
    is_signed = ctype(-1).value < 0
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)


def _bytes(kind: str, value: float) -> bytes:
    if kind in FLOATS:
        return struct.pack(FLOATS[kind], value)
    return bytes(INTEGERS[kind](value))


def _size(kind: str) -> int:
    return struct.calcsize(FLOATS[kind]) if kind in FLOATS else ctypes.sizeof(INTEGERS[kind])


def _source(kinds: list[str], random: Random) -> str:
    """Return a kernel that copies its parameters' bytes, and that has unused pointers among them."""
    declared = ["unsigned char* out", "const float* unused", *(f"{kind} p{i}" for i, kind in enumerate(kinds))]
    random.shuffle(declared)
    body = "".join(f" put(out, {16 * i}, p{i});" for i in range(len(kinds)))
    return f'{HEAD}extern "C" __global__ void show({", ".join(declared)}) {{{body} }}\n'


def _values(kind: str, random: Random) -> list[tuple[float, bool]]:
    """Return numbers at and around the ends of a type's range, each with whether it is inside."""
    low, high = _range(kind)
    if kind == "bool":
        return [(False, True), (True, True)]
    if kind in FLOATS:
        inside = [low, high, 0.1, -0.0, random.uniform(-1, 1) * high]
        outside = [] if FLOATS[kind] == "<d" else [high * 1.01, low * 1.01, 1e300]
    else:
        inside = [low, high, int(low) + (int(high) - int(low)) * random.randrange(1000) // 1000]
        outside = [int(low) - 1, int(high) + 1, 2 * int(high) + 1, -(2**63) - 1, 2**64]
    return [*((value, True) for value in inside), *((value, False) for value in outside)]


@pytest.mark.parametrize("seed", seeds(3))
def test_what_reaches_a_kernel_is_what_is_shown_or_it_is_refused(device: Device, seed: int) -> None:
    """For random signatures, a kernel receives the bytes that C stores for each value, or the value is refused."""
    random = Random(seed)
    kinds = random.choices([*INTEGERS, *FLOATS], k=random.randrange(1, 9))
    patch = Patch()
    node = patch.add("kernel.cuda", code=_source(kinds, random), shapes=f"out: [{16 * len(kinds)}]", over="out")
    patch.connect(patch.add("io.array", data=np.ones(5, np.float32))["out"], node["unused"])
    passed: dict[int, float] = {}
    with Engine(patch, device=device) as engine:
        for _ in range(6):
            for index, kind in enumerate(kinds):
                value, fits = random.choice(_values(kind, random))
                try:
                    patch.set(node, **{f"p{index}": value})
                    assert fits, (kind, value)
                    passed[index] = value
                except PatchError:
                    assert not fits, (kind, value)
            assert engine.step().diagnostics == ()
            found = engine.read(node["out"]).tobytes()
            for index, value in passed.items():
                expected = _bytes(kinds[index], value)
                assert found[16 * index : 16 * index + len(expected)] == expected, (kinds[index], value)


@pytest.mark.parametrize("seed", seeds(2))
def test_driven_numbers_are_kept_in_the_range_of_their_type(device: Device, seed: int) -> None:
    """A driven number is rounded for an integer, and limited to the range of the parameter's type."""
    random = Random(seed)
    kinds = random.sample([*INTEGERS, *FLOATS], k=6)
    patch = Patch()
    node = patch.add("kernel.cuda", code=_source(kinds, random), shapes=f"out: [{16 * len(kinds)}]", over="out")
    patch.connect(patch.add("io.array", data=np.ones(5, np.float32))["out"], node["unused"])
    sources = [patch.add("value.expression", text="0") for _ in kinds]
    for index, source in enumerate(sources):
        patch.connect(source["value"], node[f"p{index}"])
    with Engine(patch, device=device) as engine:
        for _ in range(3):
            given = []
            for kind, source in zip(kinds, sources, strict=True):
                low, high = _range(kind)
                number = random.choice([0.0, float(low), float(high), 3.0 * float(high) / 2, 1e15, -1e15, 0.75])
                number = number if math.isfinite(number) else 1e300
                patch.set(source, text=repr(number))
                given.append(number)
            found = (engine.step(), engine.read(node["out"]).tobytes())[1]
            for index, (kind, number) in enumerate(zip(kinds, given, strict=True)):
                low, high = _range(kind)
                exact = Fraction(number) if kind in FLOATS else round(number)
                kept = number != 0 if kind == "bool" else min(max(exact, low), high)
                expected = _bytes(kind, float(kept) if kind in FLOATS else int(kept))
                assert found[16 * index : 16 * index + len(expected)] == expected, (kind, number)


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        ("short", 40000, "at most 32767"),
        ("char", 200, "at most 127"),
        ("int", 2**31, "at most 2147483647"),
        ("long long", 2**63, "at most 9223372036854775807"),
        ("unsigned int", -1, "at least 0"),
        ("float", 1e39, "at most 3.40282346638529e+38"),
        ("__half", 70000.0, "at most 65504"),
    ],
)
def test_a_number_beyond_its_type_is_refused(kind: str, value: float, rule: str) -> None:
    """`set` refuses the number and names the range; in a file, the number is replaced by the default."""
    code = f'{HEAD}extern "C" __global__ void show(unsigned char* out, {kind} k) {{ put(out, 0, k); }}'
    patch = Patch()
    node = patch.add("kernel.cuda", code=code)
    with pytest.raises(PatchError, match=f"parameter k must be {rule}".replace("+", r"\+")):
        patch.set(node, k=value)


def test_a_range_in_a_comment_ends_where_the_type_does() -> None:
    """A slider's range is limited to that of the parameter's type."""
    code = """extern "C" __global__ void k(int* out, char a,  // [-500, 1e9] = 3
    unsigned b /* [-7, 9] */) { *out = a + b; }"""
    patch = Patch()
    node = patch.add("kernel.cuda", code=code)
    found = patch.block_type(node.id)
    assert found is not None
    a, b = found.parameters["a"], found.parameters["b"]
    assert (a.minimum, a.maximum, a.default, b.minimum, b.maximum) == (-128, 127, 3, 0, 9)


def test_numbers_of_an_op_graph_have_the_range_of_their_type() -> None:
    """A number of an op graph is limited to the range of its type."""
    assert ParameterSpec("k", "int", 0, "", number="s16").bounds == (-32768, 32767)
    assert ParameterSpec("k", "int", 0, "", minimum=-3, number="s16").bounds == (-3, 32767)


class Shorts(Block, id="tests.shorts"):
    """Passes a parameter without a range, and a size, to a kernel with narrower types."""

    out: Out[u8] = port(shape="[300]", doc="The bytes.")
    k: int = param(7, doc="Passed as a short.")
    folder: str = param("", doc="Where the kernel lies.")

    def describe(self, build: BlockBuilder) -> None:
        """One thread."""
        kernel = Kernel(str(Path(self.folder) / "shorts.cu"), "shorts")
        build.launch(kernel, num_threads=1, args=(self.out, self.k, self.out.size))


@pytest.mark.parametrize(("kinds", "fits"), [("short k, int n", 32767), ("unsigned short k, short n", 65535)])
def test_a_block_of_ones_own_passes_what_the_kernel_takes(tmp_path: Path, kinds: str, fits: int) -> None:
    """`check` and the engine report a number or size that doesn't fit in the same words."""
    (tmp_path / "shorts.cu").write_text(
        f'extern "C" __global__ void shorts(unsigned char* out, {kinds}) {{ out[0] = k; out[1] = n; }}'
    )
    patch = Patch()
    node = patch.add("tests.shorts", folder=str(tmp_path), k=fits)
    assert check_patch(patch) == []
    with Engine(patch, device="host") as engine:
        assert engine.step().diagnostics == ()
        patch.set(node, k=fits + 1)
        (reported,) = engine.step().diagnostics
        (checked,) = check_patch(patch)
    kind = "s16" if fits == 32767 else "u16"
    assert f"must fit in {kind}, got {fits + 1}" in reported.message
    assert (checked.node, checked.message) == (node.id, reported.message)
    (tmp_path / "shorts.cu").write_text(
        'extern "C" __global__ void shorts(unsigned char* out, int k, char n) { out[0] = k; out[1] = n; }'
    )
    (checked,) = check_patch(patch)
    with Engine(patch, device="host") as engine:
        assert engine.step().diagnostics[0].message == checked.message
    assert "must fit in s8, got 300" in checked.message


def test_a_pointer_that_the_code_does_not_use_is_still_one() -> None:
    """An unused pointer keeps its port and connection; a const pointer is an input, any other an output."""
    code = """extern "C" __global__ void mix(const float* x, const float* y, float* out, float* more, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = x[i] + y[i];
    more[i] = y[i];
}
"""
    patch = Patch()
    node = patch.add("kernel.cuda", code=code)
    source = patch.add("io.array", data=np.arange(4, dtype=np.float32))
    for name in ("x", "y"):
        patch.connect(source["out"], node[name])
    before = [(p.name, p.direction, p.dtype) for p in _ports(patch, node.id)]
    for old, new in ((" + y[i]", ""), ("    more[i] = y[i];", ""), ("    out[i] = x[i];", "")):
        code = code.replace(old, new)
        patch.set(node, code=code)
        assert [(p.name, p.direction, p.dtype) for p in _ports(patch, node.id)] == before
        assert len(patch.connections) == 2


def _ports(patch: Patch, node: str) -> list[Any]:
    found = patch.block_type(node)
    assert found is not None
    return list(found.ports.values())
