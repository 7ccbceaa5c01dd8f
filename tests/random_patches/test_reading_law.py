"""Any port, after any frame, has the contents that it has without fusion and without shared memory.

The first engine is also watched by samples, which show the same contents and change none.

Unlike the test of all block types, this one has blocks that are fused and regions around them, runs many frames between
edits, some of them on the engine's own thread, and reads ports meanwhile.
"""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.random_patches.comparing import Contents, KeptKernels, Side, differences, errors, filled
from tests.random_patches.materials import Lent, Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.runtime.update.update_support import outputs
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import SetRunning
from warploom.engine.protocol.sampling import ObservePorts, Sampling
from warploom.engine.types import to_bf16

#: Blocks that are fused, blocks that use whole buffers, and blocks that change buffers in place.
TYPES = (
    *("math.add", "math.multiply", "math.scale_offset", "math.saxpy", "math.compare", "math.compare"),
    *("reduce.sum", "reduce.count", "reduce.largest", "reduce.smallest", "reduce.sum"),
    *("buffer.copy", "buffer.constant", "buffer.convert", "buffer.assign", "buffer.slice", "buffer.frame_delay"),
    *("kernel.expression", "image.noise", "image.tone", "image.mix", "random.uniform", "buffer.fill", "buffer.state"),
)
ROUNDS = 4


class _Played(Side):
    """An engine that runs several frames at once."""

    def play(self, lent: list[Lent], frames: int, ports: list[PortRef], *, by_hand: bool) -> None:
        """Run frames by hand, or on the engine's own thread while ports are read."""
        with self.lent(lent):
            if by_hand:
                for _ in range(frames):
                    self.engine.step()
            else:
                self._run(frames, ports)

    def sampled(self, patch: Patch, ports: list[PortRef]) -> Contents:
        """Return the contents in the samples of the last step; a port without contents has none."""
        found: Contents = {}
        for port in ports:
            sample = self.engine.take_sample(str(port))
            assert sample is not None, port
            if sample.data is not None:
                found[port] = to_bf16(sample.data) if sample.dtype.startswith("bf") else sample.data
        return filled(patch, found)

    def _run(self, frames: int, ports: list[PortRef]) -> None:
        engine: Engine = self.engine
        engine.post(SetRunning(True, frames))
        engine.start(rate=None, deterministic=True)
        held = self.read(ports)
        assert not [text for text in held.values() if isinstance(text, str)], held
        until(lambda: not engine.core.inbox and not engine.core.player.running)
        engine.stop()
        engine.post(SetRunning(True))


@pytest.mark.parametrize("seed", seeds(5))
def test_any_port_can_be_read_after_any_frame(
    device: Device, kernels: KeptKernels, materials: Materials, tmp_path: Path, seed: int
) -> None:
    """Reads and saved files equal the plain engine's, whether regions run not at all, once or several times."""
    made = RandomPatch(seed, materials, wanted=[REGIONS[seed % 4], REGIONS[seed // 4 % 4], "reduce.sum"], types=TYPES)
    try:
        with ExitStack() as closing:
            closing.callback(made.close)
            sides = [_Played(made.patch, device), _Played(made.patch, device, share=False)]
            for side in sides:
                closing.callback(side.engine.close)
            for number in range(ROUNDS):
                edits = [made.edit() for _ in range(made.any_of((1, 2, 3)) if number else 0)]
                for side in sides:
                    for message in (message for _, said in edits for message in said):
                        side.engine.post(message)
                where = f"seed {seed}, round {number} after {', '.join(name for name, _ in edits)}"
                watched = sorted(outputs(made.patch), key=str)
                sides[0].engine.post(ObservePorts({str(port): Sampling(port) for port in watched}))
                told = [errors(side.step(materials.lent)) for side in sides]
                assert told[0] == told[1], where
                held = filled(made.patch, sides[0].read(watched))
                shown = sides[0].sampled(made.patch, watched)
                assert not (wrong := differences(shown, {port: held[port] for port in shown})), where
                assert all(isinstance(held[port], str) for port in held.keys() - shown.keys()), where
                for frames in (0, made.any_of((0, 1, 2, 40))):
                    ports = sorted(outputs(made.patch), key=str)
                    chosen = made.chance.sample(ports, min(6, len(ports))) if number < ROUNDS - 1 else ports
                    if frames:
                        sides[0].play(materials.lent, frames, chosen, by_hand=made.maybe(0.4))
                        sides[1].play(materials.lent, frames, chosen, by_hand=True)
                    found = [filled(made.patch, side.read(chosen)) for side in sides]
                    assert not (wrong := differences(*found)), "\n".join([f"{where}, {frames} frames", *wrong])
            for folder, side, held in zip(("one", "other"), sides, found, strict=True):
                for saved in side.engine.save_outputs(tmp_path / folder):
                    port = PortRef(saved.node, saved.port)
                    if port in held and saved.path is not None and saved.path.endswith(".npy"):
                        assert not differences({port: np.load(saved.path)}, {port: held[port]}), where
    finally:
        materials.take_back()
        kernels.shrink()
