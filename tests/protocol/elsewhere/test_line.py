"""A line that is slow or stalls carries pictures at its rate, and nothing waits long behind them."""

import heapq
import random
from collections import deque

import pytest

from tests.fuzzing import seeds
from warploom.engine.protocol.child.encoding import FromEngine, encode, make_decoder
from warploom.engine.protocol.elsewhere.line import Line, Parts, packed, unpacked
from warploom.engine.protocol.elsewhere.messages import Packed, Part

decode = make_decoder(FromEngine).decode


class SimulatedLine:
    """A line with a rate and a delay, in simulated time; it may stall."""

    def __init__(self, rate: float, delay_s: float) -> None:
        self.now_s = 0.0
        self.rate, self.delay_s = rate, delay_s
        self.line = Line(lambda: self.now_s)
        self._free_s = 0.0
        self._events: list[tuple[float, int, bytes]] = []
        self._count = 0
        #: Frames that have arrived, each with its age.
        self.arrived: deque[tuple[bytes, float]] = deque()
        self._sent_s: dict[int, float] = {}

    def send(self, frame: bytes) -> None:
        """Put a frame on the line."""
        self._free_s = max(self._free_s, self.now_s) + len(frame) / self.rate
        self._count += 1
        self._sent_s[self._count] = self.now_s
        heapq.heappush(self._events, (self._free_s + self.delay_s, self._count, frame))

    def stall(self, for_s: float) -> None:
        """Carry nothing for some time."""
        self._free_s = max(self._free_s, self.now_s) + for_s

    def run(self, until_s: float) -> None:
        """Let time pass; the receipts of frames come back after the delay."""
        while self._events and self._events[0][0] + self.delay_s <= until_s:
            at_s, number, frame = heapq.heappop(self._events)
            self.now_s = at_s + self.delay_s
            self.arrived.append((frame, at_s - self._sent_s.pop(number)))
            self.line.receives(len(frame))
            while (part := self.line.part()) is not None:
                self.send(part)
        self.now_s = until_s


@pytest.mark.parametrize(
    ("rate", "delay_s"), [(125e3, 0.02), (125e3, 0.1), (1.25e6, 0.005), (1e7, 0.03), (4e7, 0.0005)]
)
def test_a_busy_line_is_full_and_has_no_queue(rate: float, delay_s: float) -> None:
    """Large frames one after another use most of the rate, and a small one between them comes at most 0.2 s later."""
    simulated = SimulatedLine(rate, delay_s)
    line = simulated.line
    ages, carried = list[float](), 0
    for tick in range(1, 1200):  # 20 s
        if not line.is_sending:
            line.begin(bytes(min(int(rate / 10), 1_000_000)))
            while (part := line.part()) is not None:
                simulated.send(part)
        slider = b"slider" * 10
        line.sends(len(slider))
        simulated.send(slider)
        simulated.run(tick / 60)
        while simulated.arrived:
            frame, age_s = simulated.arrived.popleft()
            if tick > 300:
                carried += len(frame)
                if frame == slider:
                    ages.append(age_s - delay_s)
    assert max(ages) < 0.2
    assert sum(ages) / len(ages) < 0.1
    assert carried > 0.6 * rate * 15
    assert rate / 3 < line.rate < rate * 3


@pytest.mark.parametrize("seed", seeds(6))
def test_stalls_lose_nothing(seed: int) -> None:
    """After any stalls, the line is open again, and large frames arrive whole unless a newer one replaced them."""
    chance = random.Random(seed)
    simulated = SimulatedLine(10 ** chance.uniform(4.5, 8), chance.uniform(0, 0.2))
    line, parts = simulated.line, Parts()
    begun, whole = list[bytes](), list[bytes]()
    for tick in range(400):
        if chance.random() < 0.02:
            simulated.stall(chance.uniform(0, 5))
        if chance.random() < (0.3 if not line.is_sending else 0.02):
            size = chance.choice([0, 1, 1000, 100_000])
            begun.append(len(begun).to_bytes(2) + chance.randbytes(size - 1) if size else b"")  # no two are equal
            line.begin(begun[-1])
        while (part := line.part()) is not None:
            simulated.send(part)
        simulated.run(tick / 20)
    simulated.run(1000)
    for frame, _ in simulated.arrived:
        message = decode(frame)
        assert isinstance(message, Part)
        if (done := parts.take(message)) is not None:
            whole.append(done)
    assert line.is_idle and line.room >= 4096
    assert [each for each in begun if each in whole] == whole  # in order
    assert not begun[-1] or whole[-1] == begun[-1]


@pytest.mark.parametrize("seed", seeds(3))
def test_frames_are_packed_where_that_helps(seed: int) -> None:
    """A packed frame is never longer, and unpacks to the same bytes."""
    chance = random.Random(seed)
    for size in (0, 1, 100, 255, 256, 1000, 100_000):
        for frame in (chance.randbytes(size), bytes(size), encode(["report"] * size)):
            smaller = packed(frame)
            assert len(smaller) <= len(frame)
            if smaller != frame:
                message = decode(smaller)
                assert isinstance(message, Packed) and unpacked(message) == frame
