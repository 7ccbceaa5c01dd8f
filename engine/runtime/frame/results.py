"""What is read after a frame: ports, samples, and outputs that are saved to files."""

import time
from typing import Any

import numpy as np

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.device import Buffer
from warploom.engine.diagnostics import DeviceError, PatchError, WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.side_work import SideKind
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.runtime.frame.launcher import Launcher
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.runtime.preview.copies import PortCopy
from warploom.engine.runtime.preview.outputs import Saver
from warploom.engine.runtime.preview.reading import lasting_place, read_port
from warploom.engine.runtime.preview.samples import Samples
from warploom.engine.runtime.update.updater import Updater

_now_ns = time.perf_counter_ns


class Results:
    """Reads the results of one engine's frames; `saver` writes files."""

    def __init__(
        self, context: CudaContext, updates: Updater, launcher: Launcher, samples: Samples, outbox: Outbox
    ) -> None:
        self._context, self._updates, self._launcher, self._samples = context, updates, launcher, samples
        self.saver = Saver(context.services, outbox)

    @property
    def is_watched(self) -> bool:
        """True if a viewer or a file waits for results."""
        return bool(self.saver.asked) or self._samples.is_watched

    def read(self, port: PortRef) -> np.ndarray[Any, Any]:
        """Return a copy of the contents of a port of the running graph in the last frame."""
        compiled = self._updates.compiled
        assert compiled is not None
        self._launcher.settle()
        services, begun_ns = self._context.services, _now_ns()
        array = read_port(compiled, services, self._updates.values, self._launcher.stream, port)
        services.times.add(SideKind.DOWNLOAD, str(port), _now_ns() - begun_ns, array.nbytes)
        return array

    def lend(self, port: PortRef) -> Buffer:
        """Return the memory of a port of the running graph, kept as long as the buffer.

        Raise PatchError if it does not hold the port's contents after each frame.
        """
        compiled = self._updates.compiled
        assert compiled is not None
        self._launcher.settle()
        plan = compiled.plan
        layout, memory = plan.layouts[plan.inlined.output(port)], lasting_place(compiled, port)
        owner = plan.buffers.places[plan.inlined.output(port)].owner
        if memory is None:
            found = "one that was fused, or whose memory others use too"
        elif owner in plan.buffers.swaps or owner in plan.buffers.swaps.values():
            found = "one that is in another place in each frame"
        elif layout.strides is not None:
            found = "a strided view"
        else:
            element = layout.dtype.numpy
            shape = layout.shape + element.shape
            buffer = Buffer(self._context.services.device, memory, element.base, shape, self._launcher.stream)
            _ = buffer.lent  # from now on, the memory stays
            return buffer
        raise PatchError(
            f"port {port} must have its contents in one place after each frame to be shared, got {found}",
            "read it, which makes a copy, or run it in Engine(patch, share=False)",
        )

    def collect(self, compiled: CompiledGraph | None, frame: int, last: int, *, plays: bool, by_hand: bool) -> None:
        """Take the samples that are visible, and save the requested outputs.

        `frame` is what is shown, and `last` the last frame that has ended; `plays` means that others follow.
        """
        samples = self._samples
        if samples.is_watched:
            if by_hand:
                samples.land()
            copies = self._read_samples(compiled, frame, last, plays=plays, by_hand=by_hand)
            samples.take(compiled, self._launcher.stream, self._launcher.launches, frame, copies, by_hand=by_hand)
            if by_hand:
                samples.finish()
        # Edits made before the request count: a new file name, a new value.
        while self.saver.asked and not self._updates.pending:
            self._launcher.settle()
            place = self._context.save_place(overwrites=self.saver.asked[0].overwrites)
            self.saver.save(compiled, place, wait=by_hand)

    def _read_samples(
        self, compiled: CompiledGraph | None, present: int, last: int, *, plays: bool, by_hand: bool
    ) -> list[PortCopy]:
        """Take the samples that no copy beside the frames can give; return the copies for the others.

        While the engine is paused, the present frame is to come.
        """
        samples, copies = self._samples, []
        for watch in samples.due(self._launcher.launches, last, by_hand=by_hand):
            port, frame = watch.sampling.port, last if watch.sampling.each_frame else present
            if (value := self._context.value_graph.value(port)) is not None:
                samples.take_value(watch, value, frame)
            elif (copy := samples.plan(compiled, watch, frame)) is not None:
                copies.append(copy)
            elif samples.needs_read(watch):
                assert compiled is not None
                if watch.sampling.in_place and plays and not compiled.is_still:
                    samples.miss(watch, frame, f"{port} is not kept after a frame")
                    continue
                begun_ns = _now_ns()
                try:
                    array = self.read(port)
                except (WarploomError, MemoryError) as problem:
                    if isinstance(problem, DeviceError) and not self._context.services.device.is_usable:
                        raise
                    samples.miss(watch, frame, str(problem))
                    continue
                layout = compiled.plan.layouts[compiled.plan.inlined.output(port)]
                samples.take_read(watch, layout, array, frame, _now_ns() - begun_ns)
        return copies
