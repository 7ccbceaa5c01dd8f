"""A device that works late, a picture, and smaller versions of pictures."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from msgspec.structs import replace

from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, In, Out, port, uchar4
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.events import HostEvent, HostStream
from warploom.engine.device.protocol import Event, Memory, PinnedArray
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol.sampling import Sample

WIDTH, HEIGHT = 31, 17
PICTURE = np.random.default_rng(4).integers(0, 256, (HEIGHT, WIDTH, 4)).astype(np.float32)


class LateEvent(HostEvent):
    """An event that is reached when its device decides."""

    def __init__(self, device: LateDevice) -> None:
        super().__init__()
        self._device = device

    @property
    def is_reached(self) -> bool:
        return not self._device.is_late

    def synchronize(self) -> None:
        self._device.log.append("event wait")


class LoggedStream(HostStream):
    """A stream that records its work."""

    def __init__(self, device: LateDevice) -> None:
        self._log = device.log

    def record(self, event: Event) -> None:
        self._log.append("record")
        super().record(event)

    def wait(self, event: Event) -> None:
        self._log.append("wait")
        super().wait(event)

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        self._log.append(f"copy {size_bytes}")
        super().copy(target, source, size_bytes)


class LateDevice(HostDevice):
    """A host device that behaves like a GPU: its memory is separate, and its work is done later."""

    def __init__(self) -> None:
        super().__init__(cores=2)
        self.info = replace(self.info, has_own_memory=True)
        self.is_late = False
        self.log: list[str] = []
        self.refuses_memory = False

    def create_event(self, *, timed: bool = True) -> LateEvent:
        return LateEvent(self)

    def create_stream(self) -> LoggedStream:
        return LoggedStream(self)

    def pinned(self, array: np.ndarray[Any, Any]) -> Any:
        if self.refuses_memory:
            raise DeviceError("no memory is left")
        return super().pinned(array)


def area_means(picture: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the root mean square of each area, in double precision; for alpha, the mean."""

    def weights(many: int, few: int) -> np.ndarray:
        edges = np.arange(few + 1) * many / few
        pixels = np.arange(many)
        return np.clip(np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels), 0, None)

    down, across = weights(picture.shape[0], height), weights(picture.shape[1], width)
    values = picture.astype(np.float64)
    values[..., :3] **= 2
    means = np.einsum("hv,vuc,wu->hwc", down, values, across) * (width * height) / (picture.shape[0] * picture.shape[1])
    means[..., :3] **= 0.5
    return means


def next_preview(engine: Engine) -> Sample:
    """Return the viewer's next picture."""
    while (preview := engine.take_sample("show")) is None:
        time.sleep(0.002)
    return preview


def picture_patch() -> Patch:
    """One viewer, `show`, of a picture of random bytes."""
    patch = Patch()
    image = patch.add("io.image_array", node_id="image", data=PICTURE)
    patch.connect(image["out"], patch.add("test_run.show", node_id="show")["image"])
    return patch


def gapped_patch(view: str = "transpose") -> Patch:
    """One viewer, `show`, of a view of the picture: transposed, or every second row."""
    picture = PICTURE.astype(np.uint8)

    class Pixels(Block, id="test_run.pixels"):
        """Outputs the picture."""

        out: Out[uchar4] = port(shape="[17, 31]", doc="Pixels.")

        def describe(self, build: BlockBuilder) -> None:
            build.provide(self.out, picture)

    class Look(Block, id="test_run.look"):
        """Shows its input with the input's strides."""

        x: In[uchar4] = port(rank=2, strided=True, doc="Pixels.")

        def describe(self, build: BlockBuilder) -> None:
            build.show(self.x)

    patch = Patch()
    pixels, look = patch.add("test_run.pixels"), patch.add("test_run.look", node_id="show")
    made = patch.add(f"buffer.{view}", **({"axis": 0, "step": 2} if view == "slice" else {}))
    patch.connect(pixels["out"], made["x"])
    patch.connect(made["out"], look["x"])
    return patch
