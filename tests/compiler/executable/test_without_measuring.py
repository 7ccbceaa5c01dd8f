"""Block times from which the time of measuring is subtracted, for simulated frames whose true times are known."""

import random

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.compiler.executable.clocks import without_measuring


class MadeUp:
    """A simulated frame of nested blocks and loops, with surveys inside regions: its true and its measured times."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.bias_ns = draw, draw.choice([0, 3, 1900])
        self.truth: list[int] = []
        self.busy: list[int] = []
        self.turns: list[int] = []
        self.is_survey: list[bool] = []
        self.inside: dict[int, tuple[list[int], list[int]]] = {}
        self.body((), 1, 0)

    def body(self, around: tuple[int, ...], turns: int, depth: int) -> tuple[int, int]:
        """Add a body that runs `turns` times in all; return its true and its measured time."""
        truth = measured = 0
        for _ in range(self.draw.randint(1, 4)):
            kind = self.draw.choice(["block", "loop", "survey"] if around else ["block", "loop"])
            at = len(self.truth)
            for region in around:
                self.inside[region][kind == "survey"].append(at)
            self.truth.append(0), self.busy.append(0), self.turns.append(turns), self.is_survey.append(kind == "survey")
            if kind == "loop" and depth < 3:
                self.inside[at] = [], []
                took, seemed = self.body((*around, at), turns * self.draw.choice([0, 1, 20]), depth + 1)
                took, seemed = took + 7 * turns, seemed + 7 * turns  # the time of the loop's condition
            else:
                took = seemed = self.draw.randint(1, 10**6) * turns
            self.truth[at], self.busy[at] = took, seemed + self.bias_ns * turns
            truth += 0 if kind == "survey" else took
            measured += self.busy[at]
        return truth, measured


@pytest.mark.parametrize("seed", seeds(30))
def test_a_region_takes_what_it_takes_unmeasured(seed: int) -> None:
    """Subtracting the time of measuring yields the true times, however regions are nested and loops repeat."""
    frame = MadeUp(random.Random(seed))
    order = sorted(frame.inside, reverse=True)  # spans inside a region have higher numbers than the region
    inside = [(region, *frame.inside[region]) for region in order]
    net = without_measuring(np.array(frame.busy), np.array(frame.turns), frame.bias_ns, inside)
    for at, truth in enumerate(frame.truth):
        assert net[at] == truth


@pytest.mark.parametrize("seed", seeds(10))
def test_a_region_takes_no_less_than_what_is_in_it(seed: int) -> None:
    """With any measured times, as of parallel work, a region's net time is at least that of each span inside."""
    draw, frame = np.random.default_rng(seed), MadeUp(random.Random(seed))
    busy, turns = draw.integers(0, 10**6, len(frame.truth)), draw.integers(0, 3, len(frame.truth))
    inside = [(region, *frame.inside[region]) for region in sorted(frame.inside, reverse=True)]
    net = without_measuring(busy, turns, frame.bias_ns, inside)
    assert (net[turns > 0] >= 1).all() and not net[turns == 0].any()
    for region, spans, _ in inside:
        assert not turns[region] or all(net[region] >= net[at] for at in spans)
