"""Choices of random edits: block types with their live parameters, sizes, and versions of kernel files."""

from collections.abc import Mapping

import tests.runtime.small_blocks  # noqa: F401 - defines block types
from tests.runtime.conftest import COUNT, SCALE
from warploom import UpdateLevel

NONE, HOT, WARM, RECAPTURE, CODE, COLD = UpdateLevel
Levels = frozenset[UpdateLevel]
STRUCTURE: Levels = frozenset({NONE, COLD})
RESIZED: Levels = frozenset({NONE, WARM, COLD})

#: Live parameters by block type, with their possible values.
LIVE: Mapping[str, tuple[str, ...]] = {
    "math.saxpy": ("a",),
    "math.scale_offset": ("scale", "offset"),
    "test_small.bump": ("amount",),
    "test_small.make": ("value",),
    "test_small.sum3": ("a", "b", "c"),
    "test_run.scale": ("factor",),
    "test_run.count": ("step",),
    "buffer.constant": ("value",),
    "control.for": ("count",),
    "control.every": ("period",),
}
UNARY = (
    *("test_run.scale", "buffer.copy", "test_small.bump", "buffer.slice", "test_small.take", "math.scale_offset"),
    *("test_small.sum3", "buffer.frame_delay", "reduce.sum", "test_run.count"),
)
SIZES = (1, 2, 3, 5, 31, 64, 65, 257)
#: Versions of kernel files that take the same arguments, by name of the file.
SAME = {
    "scale.cu": [SCALE] + [SCALE.replace("* factor", text) for text in ("+ factor", "* factor + 3", "- 2 * factor")],
    "count.cu": [COUNT, COUNT.replace("+= step", "+= 2 * step"), COUNT.replace("+= step", "-= step")],
}
#: A version of scale.cu whose factor takes twice the bytes.
WIDER = SCALE.replace("float factor", "double factor")
