"""Many quick saves of kernels of every kind, half of them broken: nothing crashes, and no save is forgotten."""

import importlib.util
import random
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import FACTOR, seeds
from tests.waiting import until
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, CudaFile, CudaOptions, CudaText, In, Kernel, Out, f32, param, port
from warploom.engine.catalogue.saved_files import SavedFiles
from warploom.engine.kernel_sources.python.trust import trusted_folders
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport, KernelFilesChanged, NodeState

#: The saves of one test, and the pause after each: 500 in 10 seconds under `make fuzz`.
SAVES, PAUSE_S = (500 if FACTOR > 1 else 60), 0.02
X = np.array([1, -2, 0.5], np.float32)
CUDA = """extern "C" __global__ void run(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * %s;
}
"""
PTX = """.version 7.5
.target sm_75
.address_size 64
.visible .entry run(.param .u64 x, .param .u64 out, .param .u32 n)
{
    .reg .b64 %%rd<4>;
    .reg .b32 %%r<5>;
    .reg .f32 %%f<3>;
    .reg .pred %%p<2>;
    ld.param.u64 %%rd1, [x];
    ld.param.u64 %%rd2, [out];
    ld.param.u32 %%r4, [n];
    mov.u32 %%r1, %%ctaid.x;
    mov.u32 %%r2, %%ntid.x;
    mov.u32 %%r3, %%tid.x;
    mad.lo.u32 %%r1, %%r1, %%r2, %%r3;
    setp.ge.u32 %%p1, %%r1, %%r4;
    @%%p1 ret;
    mul.wide.u32 %%rd3, %%r1, 4;
    add.s64 %%rd1, %%rd1, %%rd3;
    add.s64 %%rd2, %%rd2, %%rd3;
    ld.global.f32 %%f1, [%%rd1];
    mul.rn.f32 %%f2, %%f1, 0f%s;
    st.global.f32 [%%rd2], %%f2;
    ret;
}
"""
TRITON = """import triton
import triton.language as tl
@triton.jit
def run(x: "*fp32", out: "*fp32", n: "i32"):
    i = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(out + i, tl.load(x + i, mask=i < n) * %s, mask=i < n)
"""
#: The file that is saved when a storm is over.
LAST = "end.py"
WITH_HEADER = f'#include "factor.cuh"\n{CUDA % "FACTOR"}'


class OfFile(Block, id="test_storm.file"):
    """Runs the kernel `run` of a file, with thread blocks of 128."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="same(x)", doc="What the kernel makes of them.")
    file: str = param("", structural=True, doc="The file.")
    factor: int = param(0, structural=True, doc="A constant of the file that is known at compile time, or 0.")

    def describe(self, build: BlockBuilder) -> None:
        options = CudaOptions(defines={"FACTOR": self.factor})
        kernel = Kernel(CudaFile(self.file, options) if self.factor else self.file, "run")
        arguments = (self.x, self.out, self.x.size)
        build.launch(kernel, num_threads=self.x.size, thread_block=128, args=arguments)


class OfText(Block, id="test_storm.text"):
    """Runs the kernel `run` of a text."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="same(x)", doc="What the kernel makes of them.")
    text: str = param("", doc="CUDA C++.")

    def describe(self, build: BlockBuilder) -> None:
        build.launch(Kernel(CudaText(self.text), "run"), num_threads=self.x.size, args=(self.x, self.out, self.x.size))


def written(number: int) -> str:
    return struct.pack(">f", number).hex().upper()


#: How each file takes its number, and how its mistake is written.
TEXTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "plain": ("plain.cu", lambda number: CUDA % f"{number}.0f"),
    "header": ("factor.cuh", lambda number: f"#define FACTOR {number}.0f\n"),
    "ptx": ("run.ptx", lambda number: PTX % written(number)),
}
if importlib.util.find_spec("triton") is not None:
    TEXTS["python"] = ("kernels.py", lambda number: TRITON % f"{number}.0")
BROKEN: tuple[Callable[[str], bytes], ...] = (
    lambda text: text.replace("out", "owt", 1).replace("FACTOR", "#error").encode(),
    lambda text: text[: len(text) // 2].replace("FACTOR", "FACT").encode(),
    lambda text: b"\xff\xfe" + text.encode(),
    lambda text: text.encode() + b"\n}}}}} #error broken\n",
)


class Storm:
    """A patch with a node for each kind of source, and the last save of each: a number, or None for a mistake."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random, self.count = folder, random.Random(seed), 0
        (folder / "with_header.cu").write_text(WITH_HEADER)
        self.last: dict[str, int | None] = {}
        self.reported: set[str] = set()
        for kind in TEXTS:
            self.save(kind, is_broken=False)
        self.patch = Patch()
        data = self.patch.add("io.array", node_id="data", data=X)
        for kind, (name, _) in TEXTS.items():
            file = folder / ("with_header.cu" if kind == "header" else name)
            self.patch.add("test_storm.file", node_id=kind, file=str(file))
        self.patch.add("test_storm.file", node_id="constant", file=str(folder / "constant.cu"), factor=1)
        (folder / "constant.cu").write_text(CUDA % "FACTOR")
        self.patch.add("test_storm.text", node_id="text", text=CUDA % "1.0f")
        self.patch.add("kernel.expression", node_id="formula", expression="x * 1")
        self.last |= {"constant": 1, "text": 1, "formula": 1}
        for kind in self.last:
            self.patch.connect(data["out"], self.patch[kind]["x"])

    def save(self, kind: str, *, is_broken: bool) -> None:
        """Save another number, or a mistake, in one of the ways of editors."""
        self.count += 1
        self.last[kind] = None if is_broken else self.count
        if kind == "constant":
            self.last[kind] = self.count
            self.patch.set(kind, factor=self.count)
        elif kind == "text":
            self.patch.set(kind, text=CUDA % (f"{self.count}.0f" if not is_broken else f"nothing_{self.count}"))
        elif kind == "formula":
            self.patch.set(kind, expression=f"x * {self.count}" if not is_broken else f"x * ({self.count}")
        else:
            name, text = TEXTS[kind]
            data = text(self.count).encode()
            if is_broken:
                data = self.random.choice(BROKEN)(text(self.count))
            self._write(self.folder / name, data)

    def _write(self, path: Path, data: bytes) -> None:
        match self.random.randrange(3):
            case 0:
                path.write_bytes(data)
            case 1:
                beside = path.with_name(f".{path.name}.new")
                beside.write_bytes(data)
                beside.replace(path)
            case _:
                with path.open("wb") as file:
                    file.write(data[:10])
                    file.flush()
                    file.write(data[10:])

    def wrong(self, report: FrameReport, engine: Engine) -> list[str]:
        """Return the nodes with a mistake but without an error, and the nodes without the newest result."""
        found = []
        for kind, number in self.last.items():
            state = report.nodes[kind].state
            if (state is NodeState.ERROR) is not (number is None):
                found.append(f"{kind} {number}: {state}, {report.nodes[kind].message}")
            elif number is not None and not self._is_computed(engine, kind, number):
                found.append(f"{kind} {number}: {engine.read(PortRef(kind, 'out'))}")
        return found

    def _is_computed(self, engine: Engine, kind: str, number: int) -> bool:
        return np.array_equal(engine.read(PortRef(kind, "out")), X * np.float32(number))

    def settle(self, engine: Engine, saved: SavedFiles) -> FrameReport:
        """Wait until every save is reported and followed; return the report of the frame after that.

        Files are reported in the order of their saves. When a last file is reported, the watcher knows of all earlier
        saves; when that file is reported again, all earlier saves have been reported.
        """
        for _ in range(2):
            self.count += 1
            self.reported.discard(LAST)
            (self.folder / LAST).write_text(f"# {self.count}")
            until(lambda: LAST in self.reported)
            until(lambda: not saved._watcher._due_s)
        engine.stop()
        return engine.step()  # finishes the update in progress


@pytest.mark.parametrize("seed", seeds(1)[:1])
def test_a_storm_of_saves_leaves_no_kernel_behind(tmp_path: Path, seed: int) -> None:
    """After a storm of saves, each node runs its newest kernel, or reports the kernel's error."""
    trusted_folders.add(tmp_path)
    try:
        storm = Storm(tmp_path, seed)
        kinds = sorted(storm.last)
        with Engine(storm.patch, device="host") as engine, ExitStack() as closing:

            def follow(files: frozenset[Path]) -> None:
                engine.post(KernelFilesChanged(files))
                storm.reported |= {path.name for path in files}

            context = engine.core.context
            saved = SavedFiles(
                follow,
                lambda: (*context.services.modules.readings(), *context.registry.readings()),
            )
            closing.callback(saved.close)
            saved.watch([tmp_path])
            assert storm.wrong(engine.step(), engine) == []
            engine.start(rate=200)
            for _ in range(SAVES):
                storm.save(storm.random.choice(kinds), is_broken=storm.random.random() < 0.5)
                time.sleep(PAUSE_S)
            assert storm.wrong(storm.settle(engine, saved), engine) == []
            engine.start(rate=200)
            for kind in kinds:
                storm.save(kind, is_broken=False)
            assert storm.wrong(storm.settle(engine, saved), engine) == []
    finally:
        trusted_folders.discard(tmp_path)
