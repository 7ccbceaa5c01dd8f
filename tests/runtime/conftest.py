"""Blocks with kernels in files of their own, and a patch of them."""

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compiler.support.descriptions import verified_plans
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, uchar4
from warploom.engine.protocol.messages import KernelFilesChanged

COUNT = """extern "C" __global__ void count(float* value, float step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) value[i] += step;
}
"""
SCALE = """extern "C" __global__ void scale(const float* x, float* out, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * factor;
}
"""
SHOW = """extern "C" __global__ void show(const float4* image, uchar4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = make_uchar4(image[i].x, image[i].y, image[i].z, image[i].w);
}
"""
FRAME = """struct Frame { unsigned index; float time, time_step; unsigned seed; };
extern "C" __global__ void tell(const Frame* frame, float* out) {
    out[0] = frame->index; out[1] = frame->time; out[2] = frame->time_step;
}
"""


@dataclass
class Kernels:
    """The kernel files of the test's blocks, for edits."""

    folder: Path

    def write(self, name: str, text: str) -> KernelFilesChanged:
        """Save a kernel file and return the message that reports the save."""
        path = self.folder / name
        path.write_text(text)
        return KernelFilesChanged(frozenset({path.resolve()}))


@pytest.fixture
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """Define the blocks test_run.count, .scale, .show, .save and .tell, and write their kernels.

    The folder has the same path in each test, since a kernel is compiled again where its path is another.
    """
    folder = tmp_path_factory.getbasetemp() / "kernels"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    made = Kernels(folder)
    for name, text in (("count.cu", COUNT), ("scale.cu", SCALE), ("show.cu", SHOW), ("tell.cu", FRAME)):
        made.write(name, text)

    class Count(Block, id="test_run.count"):
        """Counts frames."""

        x: In[f32] = port(doc="Not used.", optional=True, advised=False)
        out: Out[f32] = port(shape="[size]", state=True, doc="How many steps so far.")
        step: float = param(1.0, doc="Added in each frame.")
        size: int = param(3, min=1, structural=True, doc="Elements.")

        def describe(self, build: BlockBuilder) -> None:
            kernel = Kernel(str(folder / "count.cu"), "count")
            build.launch(kernel, num_threads=self.out.size, args=(self.out, self.step, self.out.size))

    class Scale(Block, id="test_run.scale"):
        """Multiplies."""

        x: In[f32] = port(doc="Numbers.")
        out: Out[f32] = port(shape="same(x)", doc="Products.")
        factor: float = param(2.0, doc="Factor.")
        unused: float = param(0.0, doc="Goes nowhere.")

        def describe(self, build: BlockBuilder) -> None:
            kernel = Kernel(str(folder / "scale.cu"), "scale")
            build.launch(kernel, num_threads=self.out.size, args=(self.x, self.out, self.factor, self.out.size))

    class Show(Block, id="test_run.show"):
        """Shows a picture of bytes."""

        image: In[float4] = port(rank=2, doc="Picture.")

        def describe(self, build: BlockBuilder) -> None:
            pixels = build.buffer("pixels", uchar4, "same(image)")
            kernel = Kernel(str(folder / "show.cu"), "show")
            build.launch(kernel, num_threads=self.image.size, args=(self.image, pixels, self.image.size))
            build.show(pixels)

    class Save(Block, id="test_run.save"):
        """Saves numbers."""

        x: In[f32] = port(doc="Numbers.")
        file: Path = param("numbers.npy", files="save array", doc="Where to.")

        def describe(self, build: BlockBuilder) -> None:
            build.save(self.x, str(self.file))

    class Tell(Block, id="test_run.tell"):
        """Shows the frame."""

        out: Out[f32] = port(shape="[3]", doc="Index, time and time step.")

        def describe(self, build: BlockBuilder) -> None:
            kernel = Kernel(str(folder / "tell.cu"), "tell")
            build.launch(kernel, num_threads=1, args=(build.frame, self.out))

    return made


#: Names of threads that serve all engines.
OF_THE_PROGRAM = ("warploom-workers", "ctrl-c")


@pytest.fixture(autouse=True)
def leaves_no_device_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """An engine without a given device opens its own, whose threads must end with the engine."""
    before = set(threading.enumerate())
    yield
    if "device" in request.fixturenames:
        return
    deadline = time.monotonic() + 60
    # The compile processes and the listener for Ctrl+C serve all engines until the program ends.
    while left := [t.name for t in set(threading.enumerate()) - before if not t.name.startswith(OF_THE_PROGRAM)]:
        if time.monotonic() > deadline:
            pytest.fail(f"an engine's device must be closed with it, got {', '.join(sorted(left))}")
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def makes_sound_plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verify each plan when it is made."""
    yield from verified_plans(monkeypatch)
