"""The numbers of value outputs and driven parameters, as text for the canvas and the inspector."""

import math
from collections.abc import Mapping

import msgspec

from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport

#: At least as wide as any signed number from `number_text`, except very large ones.
WIDEST = "-0000.0"
#: Placeholder for a number that has not been reported.
NOTHING = "–"


class LiveValue(msgspec.Struct, frozen=True, gc=False):
    """A number in the reports: `key` is a value output or a driven parameter, as "node.port".

    `type` is float, int or bool.
    """

    key: str
    type: str

    def text(self, values: Mapping[str, float]) -> str:
        """Return the text of a number in a report."""
        value = values.get(self.key)
        return NOTHING if value is None else number_text(value, self.type)


def frame_text(report: FrameReport, source: PortRef, target: PortRef) -> str:
    """Return the frame whose number drives a parameter: "this frame" or "2 frames old"; "" if it is no buffer's."""
    node = report.nodes.get(target.node)
    if node is not None and target.port in node.this_frame:
        return "this frame"
    age = report.values.get(f"{source.node}.age")
    if age is None or source.port == "age":
        return ""
    return f"{age:.0f} frame{'' if age == 1 else 's'} old"


def number_text(value: float, type: str) -> str:
    """Return a number in few digits; numbers of similar size have equally many digits, so the text does not jitter."""
    if type == "bool":
        return "on" if value else "off"
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size >= 999_999.5:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
    digits = 0 if type == "int" else 3 if size < 9.9995 else 2 if size < 99.995 else 1 if size < 9999.95 else 0
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not any(digit in "123456789" for digit in text) else text
