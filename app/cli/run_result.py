"""`RunResult`: the results of `warploom run`, even if it did not finish."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from warploom.engine.profiling.exports import profile_object

if TYPE_CHECKING:
    from warploom.engine.profiling.profile import Profile
    from warploom.engine.protocol.messages import FrameReport, Saved
    from warploom.engine.runtime.check.pins import PinResult


class RunResult:
    """The outcome of a run so far; `last` is the last frame's report, or that of an engine that failed in a frame."""

    def __init__(self) -> None:
        self.device: str | None = None
        self.last: FrameReport | None = None
        self.profile: Profile | None = None
        self.outputs: list[Saved] = []
        #: The frame that a sentinel froze; it is then the last one.
        self.frozen_frame: int | None = None
        #: The results of the patch's pins, with `--check`.
        self.pins: list[PinResult] = []
        self._times_ns = array("q")  # a run may have millions of frames
        self._levels: Counter[str] = Counter()

    @property
    def frames(self) -> int:
        """The number of frames so far."""
        return len(self._times_ns)

    def add(self, report: FrameReport) -> None:
        """Take the report of the next frame."""
        self.last = report
        self._times_ns.append(report.frame_time_ns)
        self._levels[report.update_level.name] += 1

    def as_json(self) -> dict[str, Any]:
        """Return the object that `run --json` prints; times are None while no frame was run."""
        times_ns = self._times_ns[1:] or self._times_ns  # without the first frame, which compiles
        return {
            "device": self.device,
            "frames": self.frames,
            "frozen_frame": self.frozen_frame,
            "frame_time_ms": {
                name: _milliseconds(np.quantile(times_ns, part, method="inverted_cdf").item()) if times_ns else None
                for name, part in (("median", 0.5), ("p99", 0.99))
            },
            "first_frame_ms": _milliseconds(self._times_ns[0]) if self._times_ns else None,
            "update_levels": dict(self._levels),
            "nodes": [
                {
                    "id": node_id,
                    "type": node.type,
                    "state": str(node.state),
                    "message": node.message,
                    "fused_into": list(node.fused_into),
                    "time_ms": None if node.time_ns is None else _milliseconds(node.time_ns),
                }
                for node_id, node in (self.last.nodes.items() if self.last else ())
            ],
            "profile": None if self.profile is None else profile_object(self.profile),
            "outputs": [
                {"node": o.node, "port": o.port, "dtype": o.dtype, "shape": list(o.shape), "path": o.path}
                for o in self.outputs
            ],
            "pins": msgspec.to_builtins(self.pins),
            "diagnostics": msgspec.to_builtins(self.last.diagnostics) if self.last else [],
        }


def _milliseconds(time_ns: float) -> float:
    return round(time_ns / 1e6, 4)
