"""`EditSession`: a program that makes random edits of every kind in the editor, as a person would."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer

from tests.benchmarks.stall_meter import StallMeter
from warploom import trust_blocks
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.messages import Reset

_TICK_MS = 16  # a display frame
_COLUMNS, _STEP_X, _STEP_Y = 40, 200.0, 140.0
_VIEWERS = 4
_INPUTS = {"math.saxpy": ("x", "y"), "bench.gain": ("x",)}
_BLOCK = '''
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class Gain(Block, id="bench.gain", version=1, category="Math"):
    """Multiply every element; its kernel is saved again and again."""

    x: In[f32] = port(doc="Operand, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="gain * x.")
    gain: float = param(1.0, min=-2, max=2, doc="Factor.")

    kernel = Kernel("gain.cu", entry="gain")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.out, self.gain, self.out.size))
'''
_KERNEL = """extern "C" __global__ void gain(const float* x, float* out, float gain, int count) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = gain * x[i] * {factor:.6f}f;
}}
"""


class KernelFile:
    """A block type of the session in a folder of blocks, whose kernel file is saved from another thread."""

    def __init__(self, folder: Path) -> None:
        #: The folder, which is trusted.
        self.blocks = folder / "blocks"
        self.blocks.mkdir()
        self._path = self.blocks / "gain.cu"
        # Its thread is there before the window is measured: the start of a thread waits until that has a core.
        self._other = ThreadPoolExecutor(1)
        self._other.submit(int).result()
        self.save(1.0)
        (self.blocks / "gain_block.py").write_text(_BLOCK)
        trust_blocks(self.blocks)

    def save(self, factor: float) -> None:
        """Write the kernel with another factor, as an editor does."""
        self._path.write_text(_KERNEL.format(factor=factor))

    def save_beside(self, factor: float) -> None:
        """Save from another thread, as in practice another program does."""
        self._other.submit(self.save, factor)


def make_patch(kernels: int) -> Patch:
    """Return rows of some `kernels` blocks over 1024 elements, and an image with a viewer."""
    patch = Patch()
    source = patch.add("io.array", data=np.ones(1024, np.float32), position=(-_STEP_X, 0.0))["out"]
    outputs = [source]
    for index in range(kernels):
        position = (index % _COLUMNS * _STEP_X, index // _COLUMNS * _STEP_Y)
        if index % 4 == 3:
            block = patch.add("bench.gain", gain=1.0, position=position)
        else:
            block = patch.add("math.saxpy", a=0.5, position=position)
            patch.connect(outputs[max(0, index - random.Random(index).randint(1, 8))], block["y"])
        patch.connect(outputs[-1], block["x"])
        outputs.append(block["out"])
    picture = patch.add("image.noise", width=320, height=240, position=(0.0, -2 * _STEP_Y))
    viewer = patch.add("io.viewer", position=(_STEP_X, -2 * _STEP_Y))
    patch.connect(picture["out"], viewer["image"])
    return patch.excerpt(patch.nodes)  # the copy has an empty undo history


class EditSession(QObject):
    """Makes random edits in `window`, the same ones for the same `seed`, until `stop`."""

    def __init__(self, window: MainWindow, kernel: KernelFile, meter: StallMeter, seed: int) -> None:
        super().__init__()
        self._window, self._kernel, self._meter = window, kernel, meter
        self._random = random.Random(seed)
        self._most = len(self._patch.nodes)  # the patch stays as large as it is, so memory can be compared
        self._actions: dict[Callable[[], Iterator[None]], int] = {
            self._drag_slider: 10,
            self._add: 6,
            self._remove: 5,
            self._lead_elsewhere: 4,
            self._mend: 8,
            self._resize: 2,
            self._save_kernel: 4,
            self._open_viewer: 2,
            self._close_viewer: 1,
            self._undo: 4,
            self._redo: 2,
            self._drag_block: 3,
            self._look_around: 3,
            self._pause: 1,
            self._profile: 1,
            self._reset: 1,
        }
        self.counts: dict[str, int] = {}
        self._now: Iterator[None] = iter(())
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self.stop = self._timer.stop
        self.start = self._timer.start

    @property
    def _patch(self) -> Patch:
        assert self._window.session.patch is not None
        return self._window.session.patch

    def _tick(self) -> None:
        try:
            next(self._now)
        except StopIteration:
            action = self._random.choices(list(self._actions), list(self._actions.values()))[0]
            name = action.__name__.removeprefix("_")
            self._meter.doing = name
            self.counts[name] = self.counts.get(name, 0) + 1
            self._now = action()
        except PatchError:  # the patch refuses random edits as it refuses a person's
            self._now = iter(())

    # Each action yields once per display frame.

    def _drag_slider(self) -> Iterator[None]:
        node = self._pick("math.saxpy", "bench.gain", "image.noise")
        self._window.canvas.select([node])
        yield
        names = {"math.saxpy": "a", "bench.gain": "gain", "image.noise": "cell"}
        editor = self._window.inspector.editor(names[self._patch.nodes[node].type])
        assert isinstance(editor, NumberEditor) and editor.slider is not None
        slider = editor.slider
        slider.setSliderDown(True)
        for _ in range(self._random.randint(20, 90)):
            slider.setValue(slider.value() + self._random.randint(-60, 60))
            yield
        slider.setSliderDown(False)

    def _add(self) -> Iterator[None]:
        if len(self._patch.nodes) > self._most:
            yield from self._remove()
            return
        patch, target = self._patch, PortRef(self._pick("math.saxpy", "bench.gain"), "x")
        x, y = patch.nodes[target.node].position
        source = patch.source_of(target)
        with patch.edit("Insert block"):
            block = patch.add("bench.gain", position=(x - _STEP_X / 2, y + _STEP_Y / 2))
            if source is not None:
                patch.connect(source, block["x"])
            patch.connect(block["out"], target)
        yield from self._rest()

    def _remove(self) -> Iterator[None]:
        node, patch = self._pick("bench.gain"), self._patch
        source = patch.source_of(PortRef(node, "x"))
        targets = [c.target for c in patch.connections_of(node) if c.source.node == node]
        self._window.canvas.select([node])
        yield from self._rest()
        self._window.canvas.edits.delete()
        yield from self._rest()  # the blocks behind the deleted one briefly lack an input
        for target in targets if source is not None and source.node in patch.nodes else ():
            assert source is not None
            patch.connect(source, target)
        yield from self._rest()

    def _lead_elsewhere(self) -> Iterator[None]:
        source, target = self._pick("math.saxpy", "bench.gain"), self._pick("math.saxpy")
        self._patch.connect(PortRef(source, "out"), PortRef(target, "y"))
        yield from self._rest()

    def _mend(self) -> Iterator[None]:
        """Connect inputs that edits and undo left open, so that most blocks run most of the time."""
        patch = self._patch
        source = PortRef(self._pick("io.array"), "out")
        with patch.edit("Mend"):
            for node in list(patch.nodes.values()):
                for name in _INPUTS.get(node.type, ()):
                    if patch.source_of(PortRef(node.id, name)) is None:
                        patch.connect(source, PortRef(node.id, name))
        yield from self._rest()

    def _resize(self) -> Iterator[None]:
        node = self._pick("image.noise")
        for _ in range(self._random.randint(1, 10)):
            self._patch.set(node, gesture=self, width=self._random.randint(100, 500))
            yield

    def _save_kernel(self) -> Iterator[None]:
        self._kernel.save_beside(self._random.uniform(0.9, 1.1))
        yield from self._rest()

    def _open_viewer(self) -> Iterator[None]:
        patch, viewers = self._patch, [n.id for n in self._patch.nodes.values() if n.type == "io.viewer"]
        if len(viewers) < _VIEWERS:
            viewer = patch.add("io.viewer", position=(self._random.uniform(0, 2000), -3 * _STEP_Y))
            yield from self._rest()
            patch.connect(PortRef(self._pick("image.noise"), "out"), viewer["image"])
        else:
            self._window.viewers.reveal(self._random.choice(viewers))
        yield from self._rest()

    def _close_viewer(self) -> Iterator[None]:
        viewers = [node.id for node in self._patch.nodes.values() if node.type == "io.viewer"]
        if len(viewers) > 1:
            self._patch.remove(self._random.choice(viewers))
        yield from self._rest()

    def _undo(self) -> Iterator[None]:
        for _ in range(self._random.randint(1, 6)):
            self._window.session.undo()
            yield from self._rest(6)

    def _redo(self) -> Iterator[None]:
        for _ in range(self._random.randint(1, 4)):
            self._window.session.redo()
            yield from self._rest(6)

    def _drag_block(self) -> Iterator[None]:
        node, gesture = self._pick("math.saxpy", "bench.gain"), object()
        for _ in range(self._random.randint(10, 40)):
            x, y = self._patch.nodes[node].position
            self._patch.move(node, (x + self._random.uniform(-8, 8), y + self._random.uniform(-8, 8)), gesture=gesture)
            yield

    def _look_around(self) -> Iterator[None]:
        canvas = self._window.canvas
        canvas.view.set_zoom(self._random.uniform(0.1, 1.5))
        yield from self._rest()
        self._window.kernel.go_to(self._pick("math.saxpy"))
        yield from self._rest()
        canvas.fit()
        yield from self._rest()

    def _pause(self) -> Iterator[None]:
        self._window.session.set_running(not self._window.session.running)
        yield from self._rest()
        self._window.session.step()
        yield from self._rest()
        self._window.session.set_running(not self._window.session.running)

    def _profile(self) -> Iterator[None]:
        self._window.session.set_profiling(self._random.choice(list(ProfilingLevel)))
        yield from self._rest()

    def _reset(self) -> Iterator[None]:
        self._window.session.post(Reset())
        yield from self._rest()

    def _rest(self, most: int = 30) -> Iterator[None]:
        for _ in range(self._random.randint(1, most)):
            yield

    def _pick(self, *types: str) -> str:
        found = [node.id for node in self._patch.nodes.values() if node.type in types]
        if not found:
            raise PatchError(f"patch must hold a block of {types}, got none")
        return self._random.choice(found)
