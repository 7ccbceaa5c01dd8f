"""How long the engine keeps the UI's thread waiting: `python -m tests.benchmarks.bench_ui --seconds 300`.

A program (`edit_session.py`) edits a large patch at random in the real editor, with an engine in a process of its own
or, with `--in-process`, on a thread. The editor runs on Qt's offscreen platform unless a display is requested.
`stall_meter.py` defines what counts as waiting. `--no-engine` makes the same edits without an engine, which leaves the
waits of the machine and of Qt. `--launch-ms 1` lets the host device of this process sleep for that time in place of
running its kernels, so that they use no core, as on a GPU; the engine does everything else. `--python-collects` leaves
garbage collection to Python, in any thread. The longest waits are reported with what the other threads did right after.
Every `--interval` seconds, the number of blocks, which edits keep about the same, is printed with the memory, threads
and open files of all processes.

On two quiet cores, with 500 blocks for two minutes (86,967 turns), the longest of the thread's own work between two
looks for input was 20 ms, when a block was added, and 99.9 % took less than 9.9 ms. Others held the thread for 27 ms
once, when a kernel was saved, and else for 4.4 ms at most. On busy cores, painting the canvas in slices of 5 ms brought
own work from 31 ms at most to 18, and 99.9 % from 11 to 7.0; slices now take 8 ms.

On a machine that others use as well, `chrt -r 1` before the command keeps them off the cores: a thread that holds the
interpreter's lock and has no core keeps all other threads waiting.

`--gestures` times single gestures instead, at 100, 1000 and 5000 blocks (`gesture_times.py`).
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_NO_GLIB"] = "1"  # the same event loop on every machine

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from tests.benchmarks.edit_session import EditSession, KernelFile, make_patch
from tests.benchmarks.gesture_times import tell_gestures
from tests.benchmarks.stall_meter import StallMeter
from warploom import Patch, ProfilingLevel
from warploom.app.documents import dialogs
from warploom.app.documents.dialogs import UnsavedChoice
from warploom.app.documents.engines import Engines
from warploom.app.qt.faults import install_fault_handler
from warploom.app.window.main_window import MainWindow
from warploom.engine.device.host.events import HostEvent
from warploom.engine.device.host.graph.executable import HostExecutable
from warploom.engine.device.host.graph.program import GraphProgram
from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol.client import Client

_SETTLE_MS = 3000  # starts after the first picture, when windows are laid out and caches filled


def main() -> None:
    """Run the session and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kernels", type=int, default=500)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-process", action="store_true", help="with the engine on a thread of the editor's process")
    parser.add_argument("--no-engine", action="store_true")
    parser.add_argument("--launch-ms", type=float, help="sleep in place of each launch on the host")
    parser.add_argument("--gestures", action="store_true", help="time single gestures at 100 to 5000 blocks instead")
    parser.add_argument("--python-collects", action="store_true", help="without the editor's own garbage collection")
    parser.add_argument("--interval", type=float, default=60.0, help="seconds between reports of memory")
    parser.add_argument("--worst", type=int, default=12, help="how many of the longest waits to tell")
    arguments = parser.parse_args()
    if arguments.launch_ms is not None:
        stand_in_for_launches(arguments.launch_ms / 1000)
    with tempfile.TemporaryDirectory() as folder:
        run(arguments, Path(folder))


def run(arguments: argparse.Namespace, folder: Path) -> None:
    """Open the editor with its state in `folder`, edit for a while, and print the measurements."""
    app = QApplication(["bench_ui"])
    is_here = arguments.in_process or arguments.launch_ms is not None
    engines = Engines(arguments.device, in_process=is_here)

    def make_engine(patch: Patch, profiling: ProfilingLevel) -> Client:
        if arguments.no_engine or arguments.gestures:
            raise WarploomError("this session runs without an engine")
        return engines.make(patch, profiling)

    kernel = KernelFile(folder)
    window = MainWindow(make_engine, folder / "state")
    if arguments.python_collects:
        window.gc_timer.close()
    faults: list[str] = []
    remove_handler = install_fault_handler(faults.append, lambda: "the log")
    window.show()
    if arguments.gestures:
        for count in (100, 1000, 5000):
            tell_gestures(window, count)
    else:
        tell_session(window, kernel, arguments)
    print(f"faults: {faults}" if faults else "no faults")
    dialogs.ask_about_changes = lambda *_: UnsavedChoice.DISCARD  # nobody is there to answer
    window.close()
    engines.close()
    remove_handler()
    del app


def tell_session(window: MainWindow, kernel: KernelFile, arguments: argparse.Namespace) -> None:
    """Make random edits for a while, and print the measurements."""
    window.session.use_blocks(kernel.blocks)
    patch = make_patch(arguments.kernels)
    window.session.replace(patch, blocks=kernel.blocks)
    levels: Counter[str] = Counter()
    window.bridge.updated.connect(lambda record: levels.update([record.level.name]))
    wait(_SETTLE_MS)
    meter = StallMeter()
    session = EditSession(window, kernel, meter, arguments.seed)
    meter.start()
    session.start()
    timer = QTimer(interval=round(arguments.interval * 1000))
    timer.timeout.connect(lambda: tell_resources(patch))
    timer.start()
    tell_resources(patch)
    wait(round(arguments.seconds * 1000))
    session.stop()
    tell_resources(patch)
    meter.stop()
    tell(meter, arguments.worst)
    print(f"edits: {dict(sorted(session.counts.items()))}; updates: {dict(levels)}; {window.badge.label.text()}")


def tell_resources(patch: Patch) -> None:
    """Print the number of blocks, and the memory, threads and files of this process, its engines and a spare."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    found = []
    for process in (str(os.getpid()), *children):
        try:
            status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
            files = len([*Path(f"/proc/{process}/fd").iterdir()])
        except OSError:  # it has just ended
            continue
        if "VmRSS" in status:
            memory = int(status["VmRSS"].split()[0]) / 1024
            found.append(
                f"{status['Name'].strip()} {memory:.0f} MB, {status['Threads'].strip()} threads, {files} files"
            )
    print(f"{len(patch.nodes)} blocks; {'; '.join(found)}", flush=True)


def stand_in_for_launches(time_s: float) -> None:
    """Replace each launch of a graph on the host by a sleep that records its events."""

    def run(executable: HostExecutable, program: GraphProgram) -> None:
        time.sleep(time_s)
        for action in program.actions.values():
            if isinstance(getattr(action, "__self__", None), HostEvent):
                action()

    HostExecutable._run = run  # type: ignore[method-assign]  # the purpose of this option


def wait(time_ms: int) -> None:
    """Let the editor run for a while."""
    loop = QEventLoop()
    QTimer.singleShot(time_ms, loop.quit)
    loop.exec()


def tell(meter: StallMeter, count: int) -> None:
    """Print the figures, then the longest waits with their causes."""
    print(f"{len(meter.own_ms)} turns of the event loop; ms:     worst    p99.9      p99   over 16 ms")
    for name, figures in (
        ("held by others", meter.held_ms),
        ("runnable, but no core was free", meter.no_core_ms),
        ("own work of one turn", meter.own_ms),
        ("own work without input", meter.deaf_ms),
        ("one garbage collection", meter.collections_ms),
    ):
        worst, high, most = map(figures.quantile, (1, 0.999, 0.99))
        print(f"{name:32} {worst:8.2f} {high:8.2f} {most:8.2f} {figures.over(16):6}")
    for own_ms, at_s, doing in meter.longest:
        print(f"without input {own_ms:6.2f} ms at {at_s:6.1f} s, while: {doing}")
    for stall in meter.worst(count):
        print(
            f"held {stall.held_ms:6.2f} ms at {stall.at_s:6.1f} s, while: {stall.doing}; "
            f"no core {stall.no_core_ms:.2f}, collector {stall.collector_ms:.2f}, own work {stall.own_ms:.2f}"
        )
        for other in stall.others:
            print(f"    {other}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
