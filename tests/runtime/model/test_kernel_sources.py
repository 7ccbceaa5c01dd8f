"""Kernels of every kind of source run in a patch; equal ones are loaded once, and unused ones are unloaded."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.api import (
    Block,
    BlockBuilder,
    CudaFile,
    CudaOptions,
    CudaText,
    In,
    Kernel,
    Out,
    PtxFile,
    f32,
    param,
    port,
)
from warploom.engine.device.device import Device
from warploom.engine.protocol.messages import KernelFilesChanged, NodeState
from warploom.engine.runtime.model.module_cache import KEPT_UNUSED, ModuleCache

CUBE = """extern "C" __global__ void run(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * x[i] * x[i];
}
"""
POWER = """extern "C" __global__ void run(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float product = 1;
#pragma unroll
    for (int k = 0; k < POWER; k++) product *= x[i];
    if (i < n) out[i] = product;
}
"""
SUM = """extern "C" __global__ void run(const float* x, float* out, int n) {
    if (threadIdx.x >= 32) return;
    out[0] = __CUDA_ARCH__;
#if __CUDA_ARCH__ >= 800
    out[1] = __reduce_add_sync(~0u, threadIdx.x);
#else
    out[1] = -1;
#endif
    out[2] = 0;
}
"""
PTX = """.version 7.5
.target sm_75
.address_size 64
.visible .entry run(.param .u64 data)
{
    ret;
}
"""
X = np.array([1, -2, 3.5], np.float32)


class OfText(Block, id="test_sources.text"):
    """Runs the kernel `run` of a text."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="same(x)", doc="What the kernel makes of them.")
    text: str = param(CUBE, doc="CUDA C++.")
    architecture: str = param("", doc="What it is compiled for.")

    def describe(self, build: BlockBuilder) -> None:
        kernel = Kernel(CudaText(self.text, CudaOptions(architecture=self.architecture)), entry="run")
        build.launch(kernel, num_threads=self.x.size, args=(self.x, self.out, self.x.size))


class Specialised(Block, id="test_sources.power"):
    """Runs the kernel `run` of a file, with a constant that is known at compile time."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="same(x)", doc="What the kernel makes of them.")
    file: str = param("", structural=True, doc="The file.")
    power: int = param(2, min=0, max=9, structural=True, doc="The constant.")

    def describe(self, build: BlockBuilder) -> None:
        kernel = Kernel(CudaFile(self.file, CudaOptions(defines={"POWER": self.power})), entry="run")
        build.launch(kernel, num_threads=self.x.size, args=(self.x, self.out, self.x.size))


@pytest.fixture
def patch() -> Patch:
    """An array."""
    patch = Patch()
    patch.add("io.array", node_id="data", data=X)
    return patch


@pytest.fixture
def modules(device: Device) -> Iterator[ModuleCache]:
    """A module cache for one test."""
    device.activate()
    cache = ModuleCache(device)
    yield cache
    cache.close()


def test_a_text_is_a_kernel(patch: Patch, device: Device) -> None:
    """Another text is another kernel; a wrong text is reported with its line, and the last good one runs."""
    node = patch.add("test_sources.text", node_id="cube")
    patch.connect(patch["data"]["out"], node["x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        assert np.array_equal(engine.read(node["out"]), X * X * X)
        patch.set(node, text=CUBE.replace("x[i] * x[i] * x[i]", "x[i] + 1"))
        engine.step()
        assert np.array_equal(engine.read(node["out"]), X + 1)
        patch.set(node, text=CUBE.replace("x[i] * x[i] * x[i]", "y[i]"))
        report = engine.step()
        (problem,) = report.diagnostics
        assert (problem.node, problem.file, problem.line) == ("cube", None, 3)
        assert problem.message.startswith("kernel text must compile, got 1 error:\nkernel text(3): identifier")
        assert problem.remedy == "correct the kernel"
        assert report.nodes["cube"].state is NodeState.ERROR
        assert np.array_equal(engine.read(node["out"]), X + 1)
        patch.set(node, text=CUBE)
        assert engine.step().diagnostics == ()
        assert np.array_equal(engine.read(node["out"]), X * X * X)


def test_a_text_may_choose_its_architecture(patch: Patch, device: Device) -> None:
    """Without a choice, kernels are compiled for compute_90 on the host, and for a GPU's own architecture on a GPU."""
    newest = 900 if device.info.name == "host" else 10 * int(device.info.architecture.removeprefix("sm_"))
    for architecture in ("", "compute_75", "compute_80"):
        node = patch.add("test_sources.text", node_id=f"n{architecture}", text=SUM, architecture=architecture)
        patch.connect(patch["data"]["out"], node["x"])
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        assert engine.read(patch["n"]["out"]).tolist() == [newest, 496, 0]
        assert engine.read(patch["ncompute_75"]["out"]).tolist() == [750, -1, 0]
        assert engine.read(patch["ncompute_80"]["out"]).tolist() == [800, 496, 0]


def test_each_value_of_a_constant_is_a_kernel_of_its_own(patch: Patch, device: Device, tmp_path: Path) -> None:
    """Each value of a constant has its own kernel, and a saved file replaces all of these that are in use."""
    file = tmp_path / "power.cu"
    file.write_text(POWER)
    for power in (2, 3):
        node = patch.add("test_sources.power", node_id=f"p{power}", file=str(file), power=power)
        patch.connect(patch["data"]["out"], node["x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        patch.set("p2", power=5)
        engine.step()
        assert np.array_equal(engine.read(patch["p2"]["out"]), (((X * X) * X) * X) * X)
        assert np.array_equal(engine.read(patch["p3"]["out"]), (X * X) * X)
        file.write_text(POWER.replace("product = 1", "product = 2"))
        engine.post(KernelFilesChanged(frozenset({file})))
        assert engine.step().update_level is UpdateLevel.CODE
        assert np.array_equal(engine.read(patch["p2"]["out"]), 2 * X * X * X * X * X)
        assert np.array_equal(engine.read(patch["p3"]["out"]), 2 * X * X * X)


def test_equal_sources_share_a_module(modules: ModuleCache, tmp_path: Path) -> None:
    """Equal sources share a loaded kernel, whether they name a file by its name or by its path."""
    (tmp_path / "run.ptx").write_text(PTX)
    names = [Kernel("run.ptx", "run"), Kernel("run", "run"), Kernel(PtxFile(str(tmp_path / "run.ptx")), "run")]
    kernels = [modules.kernel(name, (str(tmp_path),)) for name in names]
    assert kernels[0] is kernels[1] is kernels[2]
    assert modules.kernel(Kernel(CudaText(CUBE), "run")) is modules.kernel(Kernel(CudaText(CUBE), "run"))
    other = Kernel(CudaText(CUBE, CudaOptions(use_fast_math=True)), "run")
    assert modules.kernel(Kernel(CudaText(CUBE), "run")) is not modules.kernel(other)


def test_kernels_that_nothing_uses_are_unloaded(modules: ModuleCache, tmp_path: Path) -> None:
    """Of unused kernels only the newest stay loaded; a kernel in use stays however old it is."""
    files = [tmp_path / f"{index}.ptx" for index in range(KEPT_UNUSED + 9)]
    for file in files:
        file.write_text(PTX)
    used = modules.kernel(Kernel(str(files[0]), "run"))
    for file in files[1:]:
        modules.load([(Kernel(str(file), "run"), ())])
    modules.load([])
    modules.unload_replaced()
    assert set(files) & modules.dependencies() == {files[0], *files[-KEPT_UNUSED:]}
    assert modules.kernel(Kernel(str(files[0]), "run")) is used


def test_a_saved_file_that_nothing_uses_is_not_compiled(modules: ModuleCache, tmp_path: Path) -> None:
    """A saved file that nothing uses is not compiled, and is loaded when it is needed."""
    file = tmp_path / "run.ptx"
    file.write_text(PTX)
    kernel = Kernel(str(file), "run")
    modules.load([(kernel, ())])
    modules.load([])
    file.write_text("wrong")
    modules.reload()
    assert modules.dependencies() == frozenset()
    assert modules.problems == {}
    file.write_text(PTX)
    assert modules.kernel(kernel).kernel.name == "run"
