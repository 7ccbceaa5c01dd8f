"""The launcher: launches the running graph once a frame, and knows which launches are still under way."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.frame import LONGEST_BURST, MOST_BURSTS, FrameUniforms
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Event, Memory, Stream
from warploom.engine.device.releasing import release_all
from warploom.engine.runtime.frame.clock import Clock
from warploom.engine.runtime.frame.live_buffers import LiveBuffers
from warploom.engine.runtime.measure.profiler import FrameProfiler
from warploom.engine.runtime.preview.samples import Samples

#: The frames of a burst take the device about this long at most, since a message may wait as long.
BURST_NS = 40_000
#: After so many launches, the length of a burst is chosen again.
_SAMPLE = 32
_now_ns = time.perf_counter_ns


class Launcher:
    """Launches on a stream of its own. At most `MOST_BURSTS` bursts of launches are `flying`, the oldest first.

    A burst is the launches of one call of the engine's `frame`, which doesn't wait for them; an event follows it. It is
    one launch, or up to `burst` of them where frames are short. Code that changes memory or kernels of launches must
    call `finish` first.
    """

    def __init__(
        self, device: Device, uniforms: FrameUniforms, clock: Clock, profiler: FrameProfiler, samples: Samples
    ) -> None:
        self._device, self._uniforms, self._clock = device, uniforms, clock
        self._profiler, self._samples = profiler, samples
        self._free: list[Event] = []
        #: The events of the bursts that were not seen to end.
        self.flying: deque[Event] = deque()
        self.stream = device.create_stream()
        try:
            for _ in range(MOST_BURSTS):
                self._free.append(device.create_event(timed=False))
        except BaseException:
            self.destroy()
            raise
        #: How many launches the next burst may have.
        self.burst = 1
        # The sample by which `burst` is chosen next: launches before the sample, its begin, and its time of waiting for
        # the device.
        self._sampled = self._sampled_ns = self._waited_ns = 0
        #: How often the graph was launched.
        self.launches = 0
        #: State that the last launch wrote although it redrew a frame: memory, and its contents before.
        self.redrawn: list[tuple[Memory, np.ndarray[Any, Any]]] = []
        #: A frame that is redrawn is the one to come, also for delays, which else show their last one again, as they do
        #: in a frame that the clock repeats.
        self.peeks = False
        self._peeked: tuple[CompiledGraph, int, bool] | None = None
        #: Called instead of a launch of the graph, to run its operations otherwise.
        self.launch_instead: Callable[[CompiledGraph], None] | None = None
        #: The copies for live blocks; None while there is no such block.
        self.live: LiveBuffers | None = None
        #: True when the last launch used the current graph and state.
        self.is_current = False
        #: When the last launch waited for room on the device, and when it began and ended on the host.
        self.room_ns = self.launching_ns = self.launched_ns = 0
        #: When the present wait for the device began; 0 while nothing waits.
        self.waits_since_ns = 0

    def launch(self, compiled: CompiledGraph, advance: bool, by_hand: bool, *, counts: bool = True) -> None:
        """Launch the graph. Without `advance` it redraws a frame, which must not change state.

        Live blocks get the contents of a frame that `counts`.
        """
        if self.redrawn or self._peeked is not None:
            self.restore()
        read, stream = None, self.stream
        if self.flying:
            self.room_ns = _now_ns()
            self.make_room()
            self._uniforms.turn()
        if compiled.uses_frame:
            now, uniforms = self._clock.moment, self._uniforms
            uniforms.pack(now.frame, now.time_s, now.time_step_s)
            read = uniforms.current
        if not advance:
            self.finish()
            if self.peeks and not self._clock.repeats:
                self._peeked = compiled, compiled.phase, compiled.is_launched
                compiled.advance()
            for memory, size in compiled.written_state:
                contents = np.empty(size, np.uint8)
                self._device.read(memory, contents)
                self.redrawn.append((memory, contents))
        if self._samples.reads_graph:
            self._samples.before_launch(stream)
        if self.live is not None:
            self.live.feed(compiled, stream)
        self.launching_ns = begun_ns = _now_ns()
        if self.launch_instead is not None:
            if advance:
                compiled.advance()
            self.launch_instead(compiled)
        elif self._profiler.level and (begun_ns >= self._profiler.quiet_until_ns or by_hand):
            frame = self._clock.moment.frame
            self._profiler.launch(compiled, stream, frame, begun_ns, advance=advance, wait=by_hand)
        else:
            compiled.launch(stream, advance=advance, uniforms=read)
        if self.live is not None and counts:
            self.live.take(compiled, stream, self._clock.moment.frame)
        self.launched_ns = _now_ns()
        if self.flying:
            self._waited_ns += (waited_ns := begun_ns - self.room_ns)
            if waited_ns > 2 * BURST_NS:  # frames have become long
                self.burst = 1
        self.launches += 1
        self.is_current = True

    def restore(self) -> None:
        """Restore the state from before a redrawn frame. Until then, memory holds that frame's results, for readers."""
        if self.redrawn or self._peeked is not None:
            self.is_current = False
        if self._peeked is not None:
            compiled, phase, is_launched = self._peeked
            compiled.go_on(phase, is_launched=is_launched)
            self._peeked = None
        for memory, contents in self.redrawn:
            self._device.write(memory, contents)
        self.redrawn.clear()

    def make_room(self) -> None:
        """Wait for the oldest burst if no further one may be under way."""
        if not self._free:
            oldest = self.flying.popleft()
            self._free.append(oldest)
            self._wait_for(oldest)

    def fly(self) -> None:
        """Count the launches since the last burst as a new burst under way; there must be room for it."""
        if not self.flying:
            self._begin_sample()
        event = self._free.pop()
        self.flying.append(event)
        self.stream.record(event)
        if self.launches - self._sampled >= _SAMPLE:
            self._choose_burst()
            self._begin_sample()

    def synchronize(self) -> None:
        """Wait until everything on the stream has ended, also launches that are not counted."""
        if self.flying:
            self._free += self.flying
            self.flying.clear()
            self.burst = 1
        self._wait_for(self.stream)

    def finish(self) -> None:
        """Wait until all launches have ended."""
        if self.flying:
            self.synchronize()

    def settle(self) -> None:
        """Wait until nothing on the device uses the graph and its memory, which may then be read, changed or freed."""
        self.finish()
        self._samples.before_update()

    def quiesce(self) -> None:
        """Settle, and restore the state from before a redrawn frame."""
        self.settle()
        self.restore()

    def _wait_for(self, work: Event | Stream) -> None:
        self.waits_since_ns = _now_ns()
        try:
            work.synchronize()
        finally:
            self.waits_since_ns = 0

    def _begin_sample(self) -> None:
        self._sampled, self._sampled_ns, self._waited_ns = self.launches, self.launched_ns, 0

    def _choose_burst(self) -> None:
        """Choose a burst's number of launches: more where the device waits for Python, else as `BURST_NS` allows."""
        launches, time_ns = self.launches - self._sampled, self.launched_ns - self._sampled_ns
        wanted = 2 * self.burst if 8 * self._waited_ns < time_ns else BURST_NS * launches // time_ns
        self.burst = min(max(wanted, 1), LONGEST_BURST)

    def destroy(self) -> None:
        """Free all resources, even if some calls fail."""
        release_all(*(event.destroy for event in (*self._free, *self.flying)), self.stream.destroy)
