"""Library calls in a running patch: between kernels, in regions, and the cost of each change."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime import small_blocks
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.engine.device.device import Device
from warploom.engine.device.host.graph.executable import HostExecutable
from warploom.engine.diagnostics import DeviceError
from warploom.engine.libraries import images
from warploom.engine.patch.document import NodeRef
from warploom.engine.types import Array

HOT, RECAPTURE, COLD = UpdateLevel.HOT, UpdateLevel.RECAPTURE, UpdateLevel.COLD
RNG = np.random.default_rng(16)
FILL = Kernel(str(Path(small_blocks.__file__).with_suffix(".cu")), "make")


class Either(Block, id="test_run.either"):
    """Resizes an image with a library call, or fills one with a kernel."""

    image: In[f32] = port(rank=2, doc="Image.")
    out: Out[f32] = port(shape="[2, 2]", doc="Means, or the value.")
    calls: bool = param(True, structural=True, doc="Whether to call the library.")
    value: float = param(0.0, doc="Fills the result.")

    def describe(self, build: BlockBuilder) -> None:
        if self.calls:
            build.capture(images.Resize(2, 2).on(image=self.image, out=self.out))
        else:
            build.launch(FILL, num_threads=self.out.size, args=(self.out, self.value, self.out.size))


@pytest.fixture(autouse=True)
def has_libraries(request: pytest.FixtureRequest) -> None:
    """Skip the GPU's tests where NVIDIA's libraries are not installed."""
    if "device" in request.fixturenames and request.getfixturevalue("device").info.name != "host":
        pytest.importorskip("nvmath", reason="NVIDIA's libraries are not installed")


@pytest.fixture
def captured(device: Device, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of captured calls, in order."""
    labels: list[str] = []
    capture = type(device).capture

    def counted(self: Any, label: str, issue: Any) -> Any:
        labels.append(label)
        return capture(self, label, issue)

    monkeypatch.setattr(type(device), "capture", counted)
    return labels


def matrix(rows: int, columns: int) -> Array:
    return RNG.standard_normal((rows, columns)).astype(np.float32)


def multiply(patch: Patch, a: Any, b: Any, **values: Any) -> NodeRef:
    """Place a product of two outputs."""
    node = patch.add("linalg.multiply", **values)
    patch.connect(a, node["a"])
    patch.connect(b, node["b"])
    return node


def close(found: Array, expected: Array) -> bool:
    return bool(np.allclose(found, expected, rtol=1e-4, atol=1e-4))


def test_kernels_and_library_calls_take_turns(device: Device) -> None:
    """Kernels and calls alternate: each follows the one before, and precedes the one that overwrites its input."""
    a, b = matrix(7, 7), matrix(7, 7)
    patch = Patch()
    first, second = patch.add("io.array", data=a), patch.add("io.array", data=b)
    scale = patch.add("math.scale_offset", scale=2.0, offset=1.0)
    patch.connect(first["out"], scale["x"])
    product = multiply(patch, scale["out"], second["out"], alpha=0.5)
    shift = patch.add("math.scale_offset", scale=-1.0, offset=3.0)
    patch.connect(product["out"], shift["x"])
    last = multiply(patch, shift["out"], product["out"], transpose_b=True)
    with Engine(patch, device) as engine:
        for scale_by in (2.0, 4.0):
            patch.set(scale, scale=scale_by)
            engine.step()
            inner = 0.5 * (scale_by * a + 1) @ b
            assert close(engine.read(last["out"]), (3 - inner) @ inner.T)


def test_numbers_are_hot_and_options_are_recaptured(device: Device, captured: list[str]) -> None:
    """Another alpha in every frame captures nothing; another option captures only its own call again."""
    a, b = matrix(9, 9), matrix(9, 9)
    patch = Patch()
    first, second = patch.add("io.array", data=a), patch.add("io.array", data=b)
    product = multiply(patch, first["out"], second["out"])
    others = [multiply(patch, product["out"], second["out"]) for _ in range(3)]
    with Engine(patch, device) as engine:
        assert engine.step().update_level is COLD and len(captured) == 4
        captured.clear()
        for alpha in np.linspace(-3, 3, 7):
            patch.set(product, alpha=float(alpha))
            assert engine.step().update_level is HOT
            assert close(engine.read(product["out"]), alpha * a @ b)
        assert not captured
        patch.set(product, transpose_a=True)
        report = engine.step()
        assert report.update_level in (RECAPTURE, COLD)  # COLD if the library then runs other kernels
        assert captured == ["gemm"]
        assert close(engine.read(product["out"]), 3 * a.T @ b)
        for other in others:
            assert close(engine.read(other["out"]), 3 * a.T @ b @ b)


def test_other_sizes_are_recaptured_or_rebuilt(device: Device, captured: list[str]) -> None:
    """A new size is one update; sizes that don't fit leave the last graph running, with a message at the port."""
    b = matrix(5, 3)
    patch = Patch()
    first, second = patch.add("io.array", data=matrix(4, 5)), patch.add("io.array", data=b)
    product = multiply(patch, first["out"], second["out"])
    with Engine(patch, device) as engine:
        engine.step()
        for rows in (1, 40, 7, 1027):
            a = matrix(rows, 5)
            captured.clear()
            patch.set(first, data=a)
            assert engine.step().update_level >= RECAPTURE
            assert captured in (["gemm"], ["gemm"] * 2)  # twice if the device refused to change the node
            assert close(engine.read(product["out"]), a @ b)
        patch.set(first, data=matrix(4, 6))
        (problem,) = engine.step().diagnostics
        assert problem.port == "b" and "must have 6 rows to be multiplied with a" in problem.message
        assert close(engine.read(product["out"]), a @ b)
        a = matrix(3, 5)
        patch.set(first, data=a)
        assert not engine.step().diagnostics
        assert close(engine.read(product["out"]), a @ b)


def test_calls_run_in_a_loop(device: Device) -> None:
    """A call in a loop runs in each iteration, and continues from the previous iteration's result."""
    start, step = matrix(6, 6), matrix(6, 6) / 3
    patch = Patch()
    first, factor = patch.add("io.array", data=start), patch.add("io.array", data=step)
    state = patch.add("buffer.copy")
    patch.connect(first["out"], state["x"])
    loop = patch.add("control.for", count=4)
    product = multiply(patch, state["out"], factor["out"])
    keep = patch.add("buffer.assign")
    patch.connect(state["out"], keep["target"])
    patch.connect(product["out"], keep["value"])
    patch.move_into([product, keep], loop)
    with Engine(patch, device) as engine:
        engine.step()
        assert close(engine.read(keep["out"]), np.linalg.multi_dot([start, *[step] * 4]))


@pytest.mark.parametrize("taken", [0, 1])
def test_calls_run_in_the_branch_that_is_taken(device: Device, taken: int) -> None:
    """Of two branches with calls, only the one that is taken computes its output."""
    a, b = matrix(6, 6), matrix(6, 6)
    patch = Patch()
    first, second = patch.add("io.array", data=a), patch.add("io.array", data=b)
    flag = patch.add("io.array", data=np.array([taken], np.uint32))
    branch = patch.add("control.if")
    patch.connect(flag["out"], branch["condition"])
    product = multiply(patch, first["out"], second["out"])
    patch.move_into(product, branch)
    after = patch.add("math.scale_offset", scale=2.0)
    patch.connect(product["out"], after["x"])
    with Engine(patch, device) as engine:
        engine.step()
        assert close(engine.read(after["out"]), 2 * taken * a @ b)


def test_a_device_that_refuses_a_recapture_gets_a_new_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the device refuses a recapture, as CUDA does for other kernels, a COLD update gives numpy's product."""

    def refuse(*_: Any) -> None:
        raise DeviceError("the graph has another form")

    a, b = matrix(5, 5), matrix(5, 5)
    patch = Patch()
    first, second = patch.add("io.array", data=a), patch.add("io.array", data=b)
    product = multiply(patch, first["out"], second["out"])
    with Engine(patch, device="host") as engine:
        engine.step()
        monkeypatch.setattr(HostExecutable, "update_captured", refuse)
        patch.set(product, transpose_b=True)
        report = engine.step()
        assert report.update_level is COLD and not report.diagnostics
        assert close(engine.read(product["out"]), a @ b.T)


def test_a_graph_that_was_recaptured_is_cloned_with_what_runs_now(device: Device) -> None:
    """An edit elsewhere clones the running graph, in which the call must keep its new option."""
    a, b = matrix(5, 5), matrix(5, 5)
    patch = Patch()
    first, second = patch.add("io.array", data=a), patch.add("io.array", data=b)
    product = multiply(patch, first["out"], second["out"])
    with Engine(patch, device) as engine:
        engine.step()
        patch.set(product, transpose_b=True)
        engine.step()
        more = patch.add("math.scale_offset", scale=2.0)
        patch.connect(product["out"], more["x"])
        engine.step()
        assert close(engine.read(more["out"]), 2 * a @ b.T)
        assert close(engine.read(product["out"]), a @ b.T)


def test_scratch_memory_is_counted_and_shared(device: Device) -> None:
    """The workspaces of calls that run one after another share memory."""
    patch = Patch()
    node: Any = patch.add("io.array", data=matrix(8, 8))
    factor = patch.add("io.array", data=matrix(8, 8))
    for _ in range(5):
        node = multiply(patch, node["out"], factor["out"])
    with Engine(patch, device) as engine:
        engine.step()
        compiled = engine.core.updates.compiled
        assert compiled is not None
        plan = compiled.plan
        spaces = [owner for owner in plan.buffers.allocations if owner.port.startswith("workspace")]
        assert len(spaces) == 5 and all(owner in plan.placement.offsets for owner in spaces)
        assert len({plan.placement.offsets[owner] for owner in spaces}) < 5


@pytest.mark.parametrize("seed", range(3))
def test_a_call_may_become_a_kernel_and_back(device: Device, seed: int) -> None:
    """A block may change from a library call to a kernel and back, and its live values and times follow."""
    draw, patch = random.Random(seed), Patch()
    numbers = matrix(6, 4)
    source = patch.add("io.array", data=numbers)
    either = patch.add(Either.id)
    patch.connect(source["out"], either["image"])
    with Engine(patch, device, profiling=ProfilingLevel.PER_KERNEL) as engine:
        for turn in range(8):
            calls = turn == 0 or draw.random() < 0.5
            patch.set(either, calls=calls, value=float(turn))
            report = engine.step()
            assert not report.diagnostics and report.nodes[either.id].time_ns > 0
            means = numbers.reshape(2, 3, 2, 2).mean(axis=(1, 3))
            expected = means if calls else np.full((2, 2), turn)
            assert close(engine.read(either["out"]), expected)
            patch.set(either, value=turn + 0.5)
            engine.step()
            assert calls or close(engine.read(either["out"]), np.full((2, 2), turn + 0.5))
