"""An editor lives through many faults of its engine: `python -m tests.gpu.faults_in_editor --device cuda:0`.

Each kind of fault is made several times in one editor. The failed block must be named, and frames must come back.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication

from tests.protocol.faulty_patches import FOLDER, chain, faulty_blocks
from warploom.app.documents.engines import Engines
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import FrameReport, NodeState

NEVER, PATIENCE_S = 1e30, 60.0
#: Kernels that fail, and faults that are no kernel's.
KINDS = ("far", "askew", "endless", "asserting", "memory", "killed")


class Editor:
    """A window with a patch, whose block "bad" fails on request."""

    def __init__(self, device: str, folder: Path) -> None:
        self.engines = Engines(device)
        self.window = MainWindow(self.engines.make, folder, self.engines.make_search)
        self.last: FrameReport | None = None
        self.stopped_s = 0.0
        self.notes: list[str] = []
        self.window.bridge.report.connect(self._take)
        self.window.restarts.noted.connect(self.notes.append)
        self.window.session.use_blocks(FOLDER)
        self.window.session.replace(chain("test_faults.fault", at=NEVER), blocks=FOLDER)

    @property
    def patch(self) -> Patch:
        """The open patch."""
        assert self.window.session.patch is not None
        return self.window.session.patch

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Run the event loop until something holds."""
        end_s = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > end_s:
                nodes = (
                    {node: (each.state, each.message) for node, each in self.last.nodes.items()} if self.last else {}
                )
                raise SystemExit(
                    f"{what} must come within {PATIENCE_S:g} s; the last report has {nodes}, {self.notes[-1:]}"
                )
            QCoreApplication.processEvents()
            time.sleep(0.002)

    def runs(self, bad: NodeState) -> bool:
        """True if frames come in which all other blocks run."""
        report = self.last
        if report is None or report.failed or not report.launches or set(report.nodes) != {"before", "beside", "bad"}:
            return False
        others = {report.nodes["before"].state, report.nodes["beside"].state}
        return others == {NodeState.OK} and report.nodes["bad"].state is bad

    def fail(self, kind: str, *, is_searched: bool) -> tuple[float, float, str]:
        """Let the block fail, mend it, and return the times until the failure was seen and frames were back."""
        patch, engine, is_killed = self.patch, self.window.session.engine, kind == "killed"
        assert engine is not None
        if kind not in ("memory", "killed"):
            patch.set("bad", entry=kind)
        self.until("a sound frame", lambda: self.runs(NodeState.OK) and not (self.last and self.last.preparing))
        time.sleep(0.3)
        self.last, self.stopped_s = None, 0.0
        began_s = time.monotonic()
        if is_killed:
            os.kill(engine.transport._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        elif kind == "memory":
            patch.set("bad", size=1 << 40)
        else:
            patch.set("bad", at=0.0)
        if is_killed:
            self.until("another engine", lambda: self.window.session.engine is not engine)
        self.until(f"frames after {kind}", lambda: self.runs(NodeState.OK if is_killed else NodeState.ERROR))
        back_s = time.monotonic()
        if is_searched:
            self.until("the search's end", lambda: self.window.restarts._search is None)
        told = self.last.nodes["bad"].message if self.last is not None else ""
        if is_searched and kind not in ("memory", "killed"):
            told = self.notes[-1] if self.notes else told
        at = patch.value("bad", "at")
        patch.set("bad", at=NEVER if at != NEVER else 2 * NEVER, size=4)  # an edit, or the fourth kill is left alone
        self.until("the mended frames", lambda: self.runs(NodeState.OK))
        return (self.stopped_s or back_s) - began_s, back_s - (self.stopped_s or back_s), told

    def close(self) -> float:
        """Close the window, and return how long this takes."""
        began_s = time.monotonic()
        self.patch.history.mark_saved()  # nobody is there to answer
        self.window.close()
        self.engines.close()
        return time.monotonic() - began_s

    def _take(self, report: FrameReport) -> None:
        self.last = report
        if report.failed:
            self.stopped_s = time.monotonic()


def main() -> None:
    """Make all faults and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--searched", type=int, default=1, help="how many of them wait for the search")
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    chosen = parser.parse_args()
    application = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder, faulty_blocks():
        editor = Editor(chosen.device, Path(folder))
        print(f"{'fault':10} {'times':>5} {'seen':>8} {'back':>8} {'slowest':>8}   (s)", flush=True)
        for kind in chosen.kinds:
            rounds = [editor.fail(kind, is_searched=number < chosen.searched) for number in range(chosen.times)]
            seen, back, told = zip(*rounds, strict=True)
            times = statistics.median(seen), statistics.median(back), max(back)
            print(f"{kind:10} {len(rounds):5} " + " ".join(f"{each:8.2f}" for each in times), flush=True)
            print("           back: " + " ".join(f"{each:.2f}" for each in back), flush=True)
            print(f"           {told[0][:300]}", flush=True)
        print(f"closed in {editor.close():.2f} s")
    application.quit()


if __name__ == "__main__":
    main()
