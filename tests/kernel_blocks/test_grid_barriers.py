"""The thread blocks of a kernel wait for each other with `cooperative_groups::this_grid().sync()`."""

import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from warploom import Engine, Patch, open_device
from warploom.engine.diagnostics import DeviceError
from warploom.engine.export.runner import fitted_grid
from warploom.engine.export.standalone import exported_graph
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.contents import NodeRef
from warploom.engine.protocol.messages import KernelFilesChanged
from warploom.engine.ptx.grid_barriers import kernels_with_grid_barrier

DEVICES = pytest.mark.parametrize("device", ["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
BARRIER = "cooperative_groups::this_grid().sync();"
MIRRORED = """#include <cooperative_groups.h>
__device__ __noinline__ void wait() { %s }
// Scale numbers, wait, and add the one at the other end, which another thread block scaled.
extern "C" __global__ void mirrored(float* x, float scale, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile float* const seen = x;
    if (i < count) seen[i] = scale * seen[i];
    wait();
    const float other = i < count ? seen[count - 1 - i] : 0.0f;
    wait();
    if (i < count) seen[i] = seen[i] + other;
}
"""
DATA = np.random.default_rng(7).random(3001, dtype=np.float32)


def mirrored(folder: Path, barrier: str, data: np.ndarray = DATA) -> tuple[Patch, NodeRef, Path]:
    """Return a patch with the kernel, its node and its file."""
    file, patch = folder / "mirrored.cu", Patch()
    file.write_text(MIRRORED % barrier)
    node = patch.add("kernel.file", node_id="mirrored", file=str(file))
    copy = patch.add("buffer.copy", node_id="copy")
    patch.connect(patch.add("io.array", node_id="array", data=data)["out"], copy["x"])
    patch.connect(copy["out"], node["x"])
    return patch, node, file


@DEVICES
def test_thread_blocks_read_what_others_wrote_before_the_barrier(tmp_path: Path, device: str) -> None:
    """It holds in each frame, after a live parameter, in a region, with more blocks before and after, and if an edit
    brings the barrier in or takes it out.
    """
    patch, node, file = mirrored(tmp_path, BARRIER)
    after = patch.add("math.saxpy", node_id="after", a=2.0)
    for port in ("x", "y"):
        patch.connect(node["x_out"], after[port])
    with Engine(patch, device=device) as engine:
        for scale in (1.0, 0.5, 3.0):
            patch.set(node, scale=scale)
            assert engine.step().diagnostics == ()
            expected = scale * DATA + scale * DATA[::-1]
            np.testing.assert_allclose(engine.read(PortRef("after", "out")), 3 * expected, rtol=1e-6)
        loop = patch.add("control.for", count=3)
        patch.move_into(("copy", node), loop)
        assert engine.step().diagnostics == ()
        np.testing.assert_allclose(engine.read(PortRef("after", "out")), 3 * expected, rtol=1e-6)
        patch.move_into(("copy", node), "")
        patch.remove(loop)
        for barrier in ("__syncthreads();", BARRIER):
            file.write_text(MIRRORED % barrier)
            engine.post(KernelFilesChanged(frozenset({file})))
            assert engine.step().diagnostics == ()
        np.testing.assert_allclose(engine.read(PortRef("after", "out")), 3 * expected, rtol=1e-6)


@DEVICES
def test_a_grid_that_cannot_run_at_once_is_refused(tmp_path: Path, device: str) -> None:
    """The message says how many thread blocks may wait for each other; the engine goes on with fewer."""
    patch, node, _ = mirrored(tmp_path, BARRIER, np.zeros(1 << 22, np.float32))
    with Engine(patch, device=device) as engine:
        (found,) = engine.step().diagnostics
        assert found.node == node.id
        assert "grid of mirrored must have at most" in found.message
        patch.set("array", data=DATA)
        assert engine.step().diagnostics == ()
        np.testing.assert_allclose(engine.read(node["x_out"]), DATA + DATA[::-1], rtol=1e-6)


@DEVICES
def test_a_single_launch_lets_thread_blocks_wait(tmp_path: Path, device: str) -> None:
    """Thread blocks of a launch outside a graph wait for each other; more than the device runs at once are refused."""
    file = tmp_path / "mirrored.cu"
    file.write_text(MIRRORED % BARRIER)
    # An old version of PTX, which every driver accepts.
    ptx = re.sub(r"\.version .*", ".version 7.5", load_image(file, "compute_75").ptx)
    with closing(open_device(device)) as opened:
        kernel, x = opened.load_module(ptx).kernel("mirrored"), opened.upload(DATA)
        opened.launch(kernel, (12,), (256,), [x, 2.0, len(DATA)])
        opened.synchronize()
        np.testing.assert_allclose(x.download(), 2 * (DATA + DATA[::-1]), rtol=1e-6)
        with pytest.raises(DeviceError, match=r"grid of kernel mirrored must have at most .* got 1000000"):
            opened.launch(kernel, (1_000_000,), (256,), [x, 2.0, len(DATA)])


def test_exported_programs_refuse_a_grid_that_cannot_run_at_once() -> None:
    """A grid over which the kernel loops is made smaller instead."""
    made = {"entry": "k", "grid": [6, 2, 1], "is_counted": False, "is_cooperative": True}
    assert fitted_grid(made, 12) == [6, 2, 1]
    with pytest.raises(RuntimeError, match=r"grid of kernel k must have at most 11 thread blocks on this GPU.* got 12"):
        fitted_grid(made, 11)
    assert fitted_grid({**made, "grid": [6, 1, 1], "is_counted": True}, 4) == [4, 1, 1]


def test_exported_graphs_have_cooperative_launches(tmp_path: Path) -> None:
    """Only launches of kernels with a barrier are cooperative."""
    for barrier in (BARRIER, "__syncthreads();"):
        patch, *_ = mirrored(tmp_path, barrier)
        launches = [made for made in exported_graph(patch).operations if made.node == "mirrored"]
        assert [made.is_cooperative for made in launches] == [barrier == BARRIER]


def test_barriers_are_found_in_called_functions() -> None:
    """A kernel counts if it, or a function that it calls, reads the barrier's address; text in comments doesn't."""
    text = """.version 7.0
.target sm_70
.address_size 64
.func wait() { .reg .b32 %r<2>; mov.u32 %r1, %envreg2; ret; }
.func between() { call wait; ret; }
.entry near() { .reg .b32 %r<2>; mov.u32 %r1, %envreg1; ret; }
.entry far() { call between; ret; }
.entry none() { // %envreg1
    .reg .b32 %r<2>; mov.u32 %r1, %envreg3; ret; }
"""
    assert kernels_with_grid_barrier(text) == {"near", "far"}
    assert kernels_with_grid_barrier("%envreg1 is no PTX") == frozenset()
