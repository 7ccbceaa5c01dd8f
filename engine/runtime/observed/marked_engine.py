"""An engine that shows its frames and updates to an attached profiler."""

from typing import Any

from warploom.engine.profiling.nvtx import Nvtx
from warploom.engine.protocol.messages import FrameReport, UpdateLevel
from warploom.engine.runtime.frame.cuda_engine import CudaEngine


class MarkedEngine(CudaEngine):
    """Frames and updates are ranges of NVTX, and each update above HOT that takes effect is a mark."""

    def __init__(self, nvtx: Nvtx, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._nvtx = nvtx

    def frame(self, **options: Any) -> FrameReport:
        """Run one frame, see `CudaEngine.frame`."""
        with self._nvtx.range(f"frame {self.clock.moment.frame}"):
            report = super().frame(**options)
        for record in report.updates:
            self._nvtx.mark(f"{record.level.name}: {record.cause}")
        return report

    def _update(self, advance: bool, by_hand: bool) -> UpdateLevel:
        with self._nvtx.range("update"):
            return super()._update(advance, by_hand)
