"""Blocks pass pointers for pointers and numbers for numbers, and kernels write only what they may."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Diagnostic, Severity
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.runtime.update import prepare

#: Declared parameters of the kernel of `Passing`, and the block's arguments, in the order of `Passing.order`.
_ARGUMENTS = ("x", "out", "k", "n", "seven")


class Passing(Block, id="tests.passing"):
    """Passes an input, an output, a live parameter, a size and a number in any order, to any kernel."""

    x: In[f32] = port(doc="An input.")
    out: Out[f32] = port(shape="same(x)", doc="An output.")
    k: int = param(3, doc="A live parameter.")
    file: str = param("", doc="The kernel file, which has the kernel `taking`.")
    order: str = param("", doc="What is passed, by name.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch once."""
        known = {"x": self.x, "out": self.out, "k": self.k, "n": self.out.size, "seven": 7}
        build.launch(
            Kernel(self.file, "taking"), num_threads=self.out.size, args=[known[name] for name in self.order.split()]
        )


class InPlace(Block, id="tests.in_place"):
    """Passes an input that the block declares as changed."""

    x: In[f32] = port(doc="An input.")
    out: Out[f32] = port(inplace="x", doc="The same memory.")
    file: str = param("", doc="The kernel file, which has the kernel `taking`.")
    by_input: bool = param(False, structural=True, doc="Pass the input's name.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch once."""
        build.launch(
            Kernel(self.file, "taking"),
            num_threads=self.out.size,
            args=[self.x if self.by_input else self.out, self.out.size],
        )


def _patch(file: Path, code: str, block: str = "tests.passing", **values: object) -> tuple[Patch, str]:
    file.write_text(code)
    patch = Patch()
    node = patch.add(block, node_id="block", file=str(file), **values)
    copy = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=np.arange(5, dtype=np.float32))["out"], copy["x"])
    patch.connect(copy["out"], node["x"])
    return patch, node.id


def _told(patch: Patch, device: Any = "host") -> list[Diagnostic]:
    """Return the errors that `check` and an engine report, which must be the same."""
    checked = [item for item in check_patch(patch) if item.severity is Severity.ERROR]
    with Engine(patch, device=device) as engine:
        ran = [item for item in engine.step().diagnostics if item.severity is Severity.ERROR]
    assert [(i.node, i.port, i.message) for i in checked] == [(i.node, i.port, i.message) for i in ran]
    return checked


@pytest.mark.parametrize("seed", seeds(3))
def test_a_kernel_is_passed_numbers_for_numbers_and_buffers_for_pointers(
    device: Device, tmp_path: Path, seed: int
) -> None:
    """A right signature computes the result, and each wrong argument is reported before anything runs."""
    random = Random(seed)
    numbers = ("int", "unsigned", "long long", "size_t", "double", "float", "short")
    for attempt in range(4):
        kinds = [random.choice(["const float*", "float*", *numbers]) for _ in _ARGUMENTS]
        passed = random.sample(_ARGUMENTS, len(_ARGUMENTS))
        if random.random() < 0.5:  # a right signature: a const pointer for x, another one for out
            kinds = [{"x": "const float*", "out": "float*"}.get(name, random.choice(numbers)) for name in passed]
        used = " ".join(f"use(sink, p{i});" for i in range(len(kinds)))
        declared = ", ".join(f"{kind} p{i}" for i, kind in enumerate(kinds))
        place = passed.index("out")
        store = f"p{place}[threadIdx.x] = 1.0f;" if kinds[place] == "float*" else ""
        code = f"""template <class T> __device__ void use(double& sink, T value) {{ sink += value; }}
template <> __device__ void use(double& sink, float* value) {{ sink += value[0]; }}
template <> __device__ void use(double& sink, const float* value) {{ sink += value[0]; }}
extern "C" __global__ void taking({declared}) {{
    if (threadIdx.x >= 5) return;
    double sink = 0; {used} {store} if (sink == -1.5) __trap();
}}
"""
        patch, node = _patch(tmp_path / f"{attempt}.cu", code, order=" ".join(passed))
        wrong = {
            i for i, (kind, name) in enumerate(zip(kinds, passed, strict=True)) if ("*" in kind) != (name in "x out")
        }
        told = _told(patch, device)
        if wrong:
            assert [item.message.split()[1] for item in told] == [str(index) for index in sorted(wrong)]
            assert all(item.node == node and " must be a " in item.message for item in told)
        else:
            assert {item.port for item in told} == (set() if store else {"out"})


def test_the_messages_name_what_is_passed_and_what_is_taken(tmp_path: Path) -> None:
    """A number in place of a pointer, and a buffer in place of a number, are reported."""
    code = 'extern "C" __global__ void taking(float* out, const float* x, int n) { out[0] = x[0] + n; }'
    patch, _ = _patch(tmp_path / "k.cu", code, order="out k n")
    (told,) = _told(patch)
    file = tmp_path / "k.cu"
    assert told.message == f"argument 1 of kernel {file}:taking must be a buffer (float*), got parameter k"
    assert told.remedy == "make the block's describe and its kernel agree"
    patch, _ = _patch(file, code, order="out x x")
    assert _told(patch)[0].message == f"argument 2 of kernel {file}:taking must be a number (s32), got buffer x"
    patch, _ = _patch(file, code, order="out seven n")
    assert _told(patch)[0].message == f"argument 1 of kernel {file}:taking must be a buffer (float*), got a number"
    patch, _ = _patch(file, code, order="n x out")
    assert _told(patch)[0].message == f"argument 0 of kernel {file}:taking must be a buffer (float*), got a size"


PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry taking(.param .u64 a, .param .u64 b, .param .u32 k)
{
    .reg .b64 %rd<4>; .reg .f32 %f;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
    ld.global.f32 %f, [%rd1]; st.global.f32 [%rd2], %f;
    ret;
}
"""


def test_ptx_tells_what_it_uses_as_an_address(tmp_path: Path) -> None:
    """Without a source, the PTX shows which parameters are addresses, and a wrong argument is reported."""
    patch, _ = _patch(tmp_path / "k.ptx", PTX, order="x out k")
    assert _told(patch) == []
    patch, _ = _patch(tmp_path / "k.ptx", PTX, order="k out k")
    assert "argument 0 of kernel" in _told(patch)[0].message
    patch, _ = _patch(tmp_path / "k.ptx", PTX, order="x out x")
    assert "must be a number of 4 bytes, got buffer x" in _told(patch)[0].message
    patch, _ = _patch(tmp_path / "k.ptx", PTX, order="out x k")
    assert {item.port for item in _told(patch)} == {"x"}


@pytest.mark.parametrize(
    "store",
    [
        "x[i] = 1.0f; out[i] = 0.0f;",
        "atomicAdd(&x[i], 1.0f); out[i] = 0.0f;",
        "put(x, i); out[i] = 0.0f;",
        "float* at = x + 2 * i; if (i == 1) at[-1] = 2.0f; out[i] = 0.0f;",
        "x[i + offset] = 1.0f; out[i] = 0.0f;",
    ],
)
def test_a_kernel_that_stores_through_an_input_is_told_at_the_block(tmp_path: Path, store: str) -> None:
    """A kernel that stores into an input is an error at that input, with `inplace` as the remedy."""
    code = f"""__device__ __noinline__ void put(float* at, int i) {{ at[i] = 3.0f; }}
extern "C" __global__ void taking(float* x, float* out, long long offset, int count) {{
    int i = threadIdx.x;
    if (i < count) {{ {store} }}
}}
"""
    patch, node = _patch(tmp_path / "k.cu", code, order="x out k n")
    (told,) = _told(patch)
    assert (told.node, told.port) == (node, "x")
    assert told.message == f"input must not be written, got kernel {tmp_path / 'k.cu'}:taking that stores into x"
    assert "inplace='x'" in told.remedy


def test_a_choice_between_an_input_and_an_output_is_no_error(tmp_path: Path) -> None:
    """A kernel that chooses at run time between an input and an output to write to is no error."""
    code = """extern "C" __global__ void taking(float* x, float* out, int k, int n) {
    float* at = k == 3 ? out : x;
    if (threadIdx.x < n) at[threadIdx.x] = 1.0f;
}
"""
    patch, _ = _patch(tmp_path / "k.cu", code, order="x out k n")
    assert _told(patch) == []


@pytest.mark.parametrize("by_input", [False, True])
def test_a_block_that_works_in_place_may_store(device: Device, tmp_path: Path, by_input: bool) -> None:
    """A block that works in place may pass its input or its output to a kernel that stores."""
    code = 'extern "C" __global__ void taking(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2.0f; }'
    patch, node = _patch(tmp_path / "k.cu", code, "tests.in_place", by_input=by_input)
    assert _told(patch, device) == []
    with Engine(patch, device=device) as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(patch[node]["out"]), 2 * np.arange(5, dtype=np.float32))


def test_an_output_that_nothing_writes_is_told_at_the_block(tmp_path: Path) -> None:
    """An output in which the kernel stores nothing is an error at that port."""
    code = 'extern "C" __global__ void taking(const float* x, float* out, int n) { if (x[0] + out[0] == n) __trap(); }'
    patch, node = _patch(tmp_path / "k.cu", code, order="x out n")
    (told,) = _told(patch)
    assert (told.node, told.port) == (node, "out")
    assert told.message == f"output must be written, got kernel {tmp_path / 'k.cu'}:taking that stores nothing into out"


class LeavesOut(Block, id="tests.leaves_out"):
    """Writes only one of two outputs."""

    out: Out[f32] = port(shape="[3]", doc="Filled.")
    more: Out[f32] = port(shape="[3]", doc="Left out.")

    def describe(self, build: BlockBuilder) -> None:
        """Fill once."""
        build.fill(self.out)


class DoesNothing(Block, id="tests.does_nothing"):
    """Takes a buffer, and does nothing with it."""

    x: In[f32] = port(doc="An input.")

    def describe(self, build: BlockBuilder) -> None:
        """Do nothing."""


class Generator(Block, id="tests.generator"):
    """Has a describe that yields, which never runs."""

    out: Out[f32] = port(shape="[3]", doc="Never filled.")

    def describe(self, build: BlockBuilder) -> Any:
        """Fill once, which is not reached."""
        yield build.fill(self.out)


class Coroutine(Block, id="tests.coroutine"):
    """Has a describe that is a coroutine, which never runs."""

    out: Out[f32] = port(shape="[3]", doc="Never filled.")

    async def describe(self, build: BlockBuilder) -> None:  # type: ignore[override]
        """Fill once, which is not reached."""
        build.fill(self.out)


@pytest.mark.parametrize(
    ("block", "port_name", "message"),
    [
        ("tests.leaves_out", "more", "output 'more' must be filled, got a describe that leaves it out"),
        ("tests.does_nothing", None, "describe must ask for work or show something, got neither"),
        ("tests.generator", None, "describe must be a plain function that returns nothing, got a generator"),
        ("tests.coroutine", None, "describe must be a plain function that returns nothing, got a coroutine"),
    ],
)
def test_a_describe_that_does_not_do_its_work_is_told(block: str, port_name: str | None, message: str) -> None:
    """A describe that leaves out its work is reported on the block by `check` and the engine; other blocks run."""
    patch = Patch()
    node = patch.add(block)
    other = patch.add("buffer.constant", value=3.0)
    if block == "tests.does_nothing":
        patch.connect(other["out"], node["x"])
    told = [item for item in check_patch(patch) if item.severity is Severity.ERROR]
    assert [(item.node, item.port) for item in told] == [(node.id, port_name)]
    assert message in told[0].message
    with Engine(patch, device="host") as engine:
        ran = [item for item in engine.step().diagnostics if item.severity is Severity.ERROR]
        assert [item.message for item in ran] == [item.message for item in told]
        np.testing.assert_array_equal(engine.read(other["out"]), [3])


@pytest.mark.parametrize("shape", ["4294967296", "65536, 65536", "4294967296, 4294967296", str(2**63)])
def test_a_size_that_a_kernel_can_not_count_is_refused_before_anything_is_filled(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A size that a kernel's parameter can't hold is refused by `check` and the engine before any allocation."""

    allocate = prepare.allocate_buffers

    def refuse(plan: Plan, *rest: Any) -> Any:
        assert all(buffer.layout.size_bytes < 1 << 30 for buffer in plan.buffers.allocations.values())
        return allocate(plan, *rest)

    monkeypatch.setattr(prepare, "allocate_buffers", refuse)
    patch = Patch()
    node = patch.add("buffer.constant", shape=shape, dtype="u8")
    (checked,) = check_patch(patch)
    with Engine(patch, device="host") as engine:
        (told,) = engine.step().diagnostics
    assert checked.node == told.node == node.id
    assert " must " in told.message and told.severity is checked.severity is Severity.ERROR
