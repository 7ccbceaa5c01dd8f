"""The runs of a sweep: the product of its axes, the identity of each run, and the slice of one task of a farm."""

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from warploom.engine.diagnostics import PatchError
from warploom.engine.sweeps.axes import MOST_RUNS, Axis, Value


class Run(msgspec.Struct, frozen=True):
    """One run: values by "NODE.PARAM", and the frames whose times count; those before `first` are run without results.

    The outputs are those of the frame `last`.
    """

    values: dict[str, Value]
    first: int
    last: int

    @property
    def id(self) -> str:
        """The identity: a hash of the values and frames. It does not depend on the order of the axes."""
        values = {target: _plain(value) for target, value in self.values.items()}
        text = json.dumps([values, self.first, self.last], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        values = ", ".join(f"{target}={value}" for target, value in self.values.items())
        return f"{values or 'run'}, frames {self.first}-{self.last}"


def plan_runs(axes: Sequence[Axis], frames: Iterable[range]) -> list[Run]:
    """Return the product of all axes and ranges of frames; the last axis changes first, then the frames.

    Raise PatchError if two axes have the same parameter, or there are too many runs.
    """
    targets, ranges = [axis.target for axis in axes], list(dict.fromkeys(frames))
    for target in targets:
        if targets.count(target) > 1:
            raise PatchError(f"parameter {target} must have one list of values or files, got {targets.count(target)}")
    count = math.prod(len(axis.values) for axis in axes) * len(ranges)
    if count > MOST_RUNS:
        raise PatchError(f"sweep must have at most {MOST_RUNS:,} runs, got {count:,}")
    return [
        Run(dict(zip(targets, values, strict=True)), part.start, part.stop - 1)
        for values in itertools.product(*(axis.values for axis in axes))
        for part in ranges
    ]


class Slice(msgspec.Struct, frozen=True):
    """The part of a sweep that one task of a farm runs: task `number` of `count`, from 1 on."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Slice":
        """Return the slice "K/N". Raise PatchError unless K is from 1 to N."""
        found = re.fullmatch(r"(\d{1,7})/(\d{1,7})", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise PatchError(f"task must be K/N with K from 1 to N, got {text!r}")
        return cls(int(found[1]), int(found[2]))

    def of(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Return every Nth run, beginning with the Kth, so that neighbouring runs of like cost are spread."""
        return runs[self.number - 1 :: self.count]


def _plain(value: Value) -> Value:
    """Return a value so that equal numbers have equal texts: 1 and 1.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
