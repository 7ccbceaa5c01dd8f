"""Attacks the editor with block files that hang or crash, and prints what became of it.

    python -m tests.app.documents.attack_editor FOLDER [NAME...]

The editor has its real window, with the engine and the block files in processes of their own. A patch runs a block of
FOLDER/blocks/attack.py, which is saved with one harmful text after another, those of the names or all, and mended in
between. The program prints one JSON object for each: the problem of the file, the seconds until it was reported, the
longest time in which the window's event loop stood still, the frames that the engine ran meanwhile, and whether it is
still the same engine.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from tests.catalogue.block_texts import BlockFolder, block_text
from warploom.app.documents.engines import Engines
from warploom.app.editor import blocks_apart
from warploom.app.window.main_window import MainWindow
from warploom.engine.catalogue.admission import digest_of
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch
from warploom.engine.protocol.child import liveness
from warploom.engine.protocol.messages import FrameReport

_HARM = "import sys, os, ctypes, signal, threading, time, builtins, random, subprocess, _thread\n"
_ALL_PIPES = "for pipe in range(3, 64):\n    try: {}\n    except OSError: pass\n"
#: Code at the top of the file.
TOP = {
    "hold": "10**10**9",
    "loop": "while True: pass",
    "wait": "time.sleep(1e6)",
    "crash": "ctypes.string_at(0)",
    "exit": "os._exit(0)",
    "raise SystemExit": "raise SystemExit",
    "raise KeyboardInterrupt": "raise KeyboardInterrupt",
    "raise BaseException": "class Own(BaseException): pass\nraise Own",
    "interrupt": "_thread.interrupt_main(); time.sleep(1)",
    "terminate": "os.kill(os.getpid(), signal.SIGTERM)",
    "stop": "os.kill(os.getpid(), signal.SIGSTOP)",
    "take memory": "held = []\nwhile True: held.append(b'1' * (1 << 26))",
    "fork": "os.fork()",
    "leave a fork": "if os.fork(): os._exit(0)\ntime.sleep(60)",
    "close pipes": _ALL_PIPES.format("os.close(pipe)"),
    "fill pipes": _ALL_PIPES.format("os.write(pipe, b'junk')"),
    "begin an answer": _ALL_PIPES.format("os.write(pipe, bytes((128, 5, 149, 255, 255, 0, 0, 0, 0, 0, 0)))"),
    "clear modules": "sys.modules.clear()",
    "replace builtins": "builtins.len = None",
    "change folder and print": "os.chdir('/'); print('printed')",
    "handle signals": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "busy thread": "def spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()",
    "start a program": "subprocess.Popen(['sleep', '60'])",
    "at times": "if random.random() < 0.5: os._exit(1)",
    "by argv": "if sys.argv[-1:] == ['engine']: os._exit(1)",
    "in a window": "if 'PySide6' in sys.modules: 10**10**9",
}
#: Code in `describe`.
DESCRIBE = {"hold in describe": "10**10**9", "loop in describe": "while True: pass", "crash in describe": TOP["crash"]}
#: Code in the body of the class.
BODY = {"hold in declare": "@classmethod\n    def declare(cls): 10**10**9"}


def text_of(name: str) -> str:
    """Return the text of the file for an attack; that of "" is harmless."""
    mark = f"# {name} {time.time()}\n"
    return mark + block_text(
        before=_HARM + TOP.get(name, ""), describe=DESCRIBE.get(name, ""), extra=BODY.get(name, "")
    )


class Watch:
    """Measures how long the event loop stands still."""

    def __init__(self) -> None:
        self._last_s, self._longest_s = time.monotonic(), 0.0
        self._timer = QTimer(interval=10)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def _look(self) -> None:
        now_s = time.monotonic()
        self._longest_s, self._last_s = max(self._longest_s, now_s - self._last_s), now_s

    def take_longest_s(self) -> float:
        """Return the longest time since the last call."""
        self._look()
        longest_s, self._longest_s = self._longest_s, 0.0
        return longest_s


def wait_until(app: QApplication, holds: Callable[[], object], most_s: float) -> bool:
    """Run the event loop until a condition is true; return False if it is not, after `most_s`."""
    end_s = time.monotonic() + most_s
    while not holds():
        if time.monotonic() > end_s:
            return False
        app.processEvents()
        time.sleep(0.002)
    return True


def show(result: dict[str, object]) -> None:
    """Print a result as a line of JSON."""
    sys.stdout.write(f"{json.dumps(result)}\n")
    sys.stdout.flush()


def attack(folder: Path, names: list[str]) -> None:
    """Attack an editor with files in a folder, and print what became of it."""
    blocks = BlockFolder(folder / "blocks")
    path = blocks.write("attack.py", text_of(""))
    save_patch(Patch(), folder / "attacked.loom")
    app = QApplication(["editor"])
    engines = Engines("host")
    window = MainWindow(engines.make, folder / "state", engines.make_search)
    window.show()
    window.files.open_path(folder / "attacked.loom", trust=True)
    session, patch, reports = window.session, window.session.patch, list[FrameReport]()
    window.bridge.report.connect(reports.append)
    wait_until(app, lambda: patch is not None and patch.catalogue.get("live.scale"), 60)
    assert patch is not None
    node = patch.add("live.scale")
    patch.connect(patch.add("io.array", data=np.ones(4, np.float32))["out"], node["x"])

    def runs() -> bool:
        found = [each for each in reports[-1].diagnostics if each.node == node.id] if reports else []
        return bool(reports) and node.id in reports[-1].nodes and not reports[-1].preparing and not found

    def is_tried() -> bool:
        return any(each.path == path and each.digest == digest for each in block_folders.tried() or ())

    watch = Watch()
    for name in names:
        is_ready = wait_until(app, runs, 120)
        engine, frames = session.engine, len(reports)
        watch.take_longest_s()
        blocks.write("attack.py", text_of(name))
        digest, begun_s = digest_of(path.read_bytes()), time.monotonic()
        wait_until(app, is_tried, 120)
        tried_s = time.monotonic() - begun_s
        wait_until(app, lambda: False, 2)
        result = {
            "attack": name,
            "problems": [each.message for each in block_folders.problems(blocks.path)],
            "tried_s": round(tried_s, 2),
            "window_stood_still_s": round(watch.take_longest_s(), 2),
            "frames": len(reports) - frames,
            "same_engine": session.engine is engine,
            "was_ready": is_ready,
        }
        show(result)
        reports.clear()  # the next one tells whether the block runs again
        blocks.write("attack.py", text_of(""))
    show({"mended": wait_until(app, runs, 60)})
    window.session.close()
    engines.close()


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    liveness.HELLO_S = 120.0  # the machine may be busy
    place = Path(sys.argv[1]).resolve()
    with blocks_apart(place / "attacked.loom"):
        attack(place, sys.argv[2:] or [*TOP, *DESCRIBE, *BODY])
