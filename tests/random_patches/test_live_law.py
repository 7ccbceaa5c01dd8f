"""What a live block takes of a buffer is what a read returns after each frame, whatever was edited before.

What it gives is what its readers see in the same frame.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import FACTOR, seeds
from tests.random_patches.comparing import KeptKernels
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, TYPES, RandomPatch
from warploom import Engine, Patch
from warploom.api import BlockBuilder, In, LiveBlock, Moment, Out, any_type, f32, float4, param, port
from warploom.engine.blocktypes.block import block_types
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError, WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import Reset

#: What live blocks have taken: the block's object, the frame, and the contents.
Log = list[tuple[object, int, np.ndarray[Any, Any]]]
#: Blocks whose patches compile quickly; with more examples, all take part.
_FEW = (
    "buffer.copy",
    "buffer.frame_delay",
    "buffer.slice",
    "buffer.state",
    "buffer.transpose",
    "math.add",
    "math.scale_offset",
    "value.lfo",
)
_TYPES = {"f32": f32, "float4": float4}


@pytest.fixture
def log() -> Iterator[Log]:
    """Define two live blocks, of which one gives numbers of the frame, and the other takes all that it gets."""
    taken: Log = []

    class Give(LiveBlock, id="test_live.give"):
        """Gives numbers in every third frame."""

        out: Out[any_type] = port(shape="[1]", dtype="given", doc="Numbers.")
        dtype: str = param("f32", choices=tuple(_TYPES), doc="Element type.")
        size: int = param(4, min=1, max=9, structural=True, doc="Elements.")
        gain: float = param(1.0, min=-9, max=9, doc="Factor.")

        def describe(self, build: BlockBuilder) -> None:
            build.define(self.out, dtype=_TYPES[self.dtype], shape=f"[{self.size}]")
            build.feed(self.out)

        def update(self, now: Moment) -> None:
            if now.frame % 3 == 0:
                self.give("out", given(now.frame, self.gain, self.size, self.dtype))

    class Look(LiveBlock, id="test_live.look"):
        """Takes what arrives."""

        x: In[any_type] = port(strided=True, doc="Anything.")

        def describe(self, build: BlockBuilder) -> None:
            build.watch(self.x)

        def update(self, now: Moment) -> None:
            assert self.waits
            self._take()

        def close(self) -> None:
            self._take()

        def _take(self) -> None:
            taken.extend((self.node, frame, array.copy()) for frame, array in self.taken("x"))

    yield taken
    block_types.commit({}, [Give.id, Look.id])


def given(frame: int, gain: float, size: int, dtype: str) -> np.ndarray[Any, Any]:
    """Return the numbers that a block gives in a frame."""
    shape = (size,) if dtype == "f32" else (size, 4)
    return (np.arange(np.prod(shape)).reshape(shape) * gain + frame).astype(np.float32)


def sources(engine: Engine) -> dict[str, PortRef]:
    """Return what live blocks watch in the running graph, by node."""
    compiled = engine.core.updates.compiled
    if compiled is None:
        return {}
    description = compiled.plan.description
    return {node: description.source_of[PortRef(node, "x")] for node in description.by_id if node.startswith("look")}


@pytest.mark.parametrize("seed", seeds(2))
def test_watched_contents_are_those_of_reads(
    device: Device, kernels: KeptKernels, materials: Materials, log: Log, seed: int
) -> None:
    """Each block takes, in order, what a read of its input returned after each frame, and nothing twice."""
    types = _FEW if FACTOR == 1 else tuple(TYPES)
    made = RandomPatch(seed, materials, wanted=[REGIONS[seed % 4]], types=types)
    patch = made.patch
    expected: dict[str, list[tuple[int, np.ndarray[Any, Any]]]] = {}
    try:
        with ExitStack() as closing:
            closing.callback(made.close)
            _connect_live(made)
            engine = closing.enter_context(Engine(patch, device=device))
            for _ in range(8):
                try:
                    report = engine.step()
                except WarploomError:
                    break  # the patch can't run
                for node, source in sources(engine).items():
                    expected.setdefault(node, []).append((report.frame, engine.core.results.read(source)))
                if made.maybe(0.6):
                    made.edit()
                elif made.maybe(0.2):
                    _connect_live(made)
                elif made.maybe(0.1):
                    engine.post(Reset())
    finally:
        materials.take_back()
        kernels.shrink()
    assert expected
    for node, wanted in expected.items():
        taken = [(frame, array) for name, frame, array in log if name == node]
        assert [frame for frame, _ in taken] == [frame for frame, _ in wanted], f"seed {seed}: {node}"
        for (frame, array), (_, read) in zip(taken, wanted, strict=True):
            same = array.dtype == read.dtype and array.shape == read.shape and array.tobytes() == read.tobytes()
            assert same, f"seed {seed}: {node} in frame {frame}"
    assert {name for name, _, _ in log} == expected.keys()


def _connect_live(made: RandomPatch) -> None:
    """Add a block that gives, and one that looks at any output."""
    patch = made.patch
    scopes = ["", *(node for node, kind in patch.nodes.items() if kind.type == "control.for")]
    dtype, size = made.any_of(("f32", "float4")), made.any_of((1, 2, 3, 9))
    give = patch.add("test_live.give", region=made.any_of(scopes), dtype=dtype, size=size)
    made._learn()
    for source in (give["out"], *(made.any_of(list(made.layouts)) for _ in range(2))):
        try:
            with patch.edit("look"):
                look = patch.add("test_live.look", node_id=f"look{len(patch.nodes)}", region=made.any_of(scopes))
                patch.connect(source, look["x"])
        except PatchError:
            continue
    made._learn()


def test_given_contents_are_there_in_the_same_frame(device: Device, log: Log) -> None:
    """The frame that begins shows what was given before it; without anything given, the contents stay."""
    patch = Patch()
    give = patch.add("test_live.give", size=3)
    scale = patch.add("math.scale_offset", scale=2.0)
    patch.connect(give["out"], scale["x"])
    with Engine(patch, device=device) as engine:
        for frame in range(7):
            engine.step()
            wanted = given(frame - frame % 3, 1.0, 3, "f32")
            np.testing.assert_array_equal(engine.read(scale["out"]), 2 * wanted)
