"""Kills editors with signal 9 while they edit and save, and prints what was lost and what was left behind.

    python -m tests.app.documents.kill_editors FOLDER KILLS SEED [ENGINES]

Each editor is a forked process with the real session, file commands and recovery. It renames a block to the number of
each edit, and sometimes saves. The next editor continues from what was saved or recovered. The first `ENGINES` editors
run the patch in a process of its own, which is killed first, and which they start again. The program prints one JSON
object for each editor. The loss is counted in edits of `EDIT_MS` each, so that it does not depend on how busy the
machine is; `lost_clock_s` is the time from the first lost edit to the kill.
"""

import fcntl
import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget

from tests.app.app_support import FakeEngine
from tests.protocol.engine_process import COMMAND
from warploom.app.documents.bridge import Bridge
from warploom.app.documents.editor_state import UserState
from warploom.app.documents.file_commands import FileCommands
from warploom.app.documents.recovery import RecoverySlot, find_left_behind
from warploom.app.documents.session import Session
from warploom.app.documents.trust.questions import TrustQuestions
from warploom.app.documents.trust.trust import TrustedPaths
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, load_patch, save_patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.pipe import connect

EDIT_MS = 10
#: The longest life of an editor, and the longest time between two saves.
LIFE_S, SAVE_S = 3.0, 4.0
BLOCKS = 100
#: The longest time in which processes end whose parent was killed; on a busy machine, an engine starts for long.
ORPHANS_S = 120.0


def make_engine(patch: Patch, profiling: ProfilingLevel) -> Client:
    """Run a patch by an engine in a child process, as the editor does."""
    return connect(patch, COMMAND, "host", profiling=profiling, waits=False)


def run_editor(folder: Path, log: int, rng: random.Random, *, has_engine: bool) -> None:
    """Edit and save until killed, and append the number and time of each edit to `log`."""
    app = QApplication(["editor"])
    window = QWidget()
    session = Session(make_engine if has_engine else FakeEngine)  # type: ignore[arg-type]  # replaces Engine
    bridge = Bridge()
    session.engine_changed.connect(bridge.set_engine)
    bridge.failed.connect(lambda _: QTimer.singleShot(rng.randint(0, 300), session.restart_engine))
    trust = TrustQuestions(session, TrustedPaths(folder / "state"), window)
    files = FileCommands(session, UserState(), RecoverySlot(folder / "state"), trust, window)
    assert files.open_path(folder / "p.loom")
    patch = session.patch
    assert patch is not None
    number, parent = int(patch.nodes["n"].title), os.getppid()

    def edit() -> None:
        nonlocal number
        if os.getppid() != parent:
            os._exit(1)
        number += 1
        patch.rename("n", str(number))
        os.write(log, f"{number} {time.monotonic()}\n".encode())

    def save() -> None:
        assert files.save()
        QTimer.singleShot(rng.randint(0, round(1000 * SAVE_S)), save)

    editing = QTimer(interval=EDIT_MS)
    editing.timeout.connect(edit)
    editing.start()
    QTimer.singleShot(rng.randint(0, round(1000 * SAVE_S)), save)
    app.exec()


def descendants(process: int) -> list[int]:
    """Return the processes that a process has started, and those that these have started."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def alive(processes: list[int]) -> list[str]:
    """Return the commands of those of these processes that run."""
    found = []
    for process in processes:
        with suppress(OSError):  # a zombie has no command
            if command := Path(f"/proc/{process}/cmdline").read_text().replace("\0", " "):
                found.append(f"{process} {command}")
    return found


def kill_engine(editor: int, rng: random.Random) -> tuple[list[int], float]:
    """Kill the editor's engine at a random moment; return the processes that must end, and the time of the kill."""
    while not descendants(editor):
        time.sleep(0.01)
    time.sleep(rng.uniform(0, LIFE_S))
    engine, *others = descendants(editor)
    os.kill(engine, signal.SIGKILL)
    killed_s = time.monotonic()
    time.sleep(rng.uniform(0, LIFE_S))
    return [engine, *others], killed_s


def is_known(file: Path) -> bool:
    """True for the patch, the folder of recovery, and an empty lock, which goes after some seconds."""
    is_lock = file.suffix == ".lock" and not file.stat().st_size
    return is_lock or file.name in ("p.loom", "state")


def kill_one(folder: Path, template: str, rng: random.Random, *, has_engine: bool) -> dict[str, Any]:
    """Run an editor, kill it, recover and save its work, and return what was lost or left behind."""
    path = folder / "p.loom"
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)  # it is read at the end
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            run_editor(folder, writer, rng, has_engine=has_engine)
        finally:
            os._exit(1)
    os.close(writer)
    processes, engine_killed_s = kill_engine(child, rng) if has_engine else ([], 0.0)
    time.sleep(rng.uniform(0, LIFE_S))
    processes += descendants(child)
    os.kill(child, signal.SIGKILL)
    killed_s = time.monotonic()
    died_by = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    while alive(processes) and time.monotonic() < killed_s + ORPHANS_S:
        time.sleep(0.01)
    with os.fdopen(reader) as log:
        times = {int(number): float(time_s) for number, time_s in map(str.split, log)}
    done = list(times)
    text = path.read_text()
    saved = int(load_patch(path).nodes["n"].title)
    parts = [str(part.relative_to(folder)) for part in folder.rglob("*.part")]
    found = find_left_behind(folder / "state")
    assert len(found) <= 1
    kept, offered = saved, False
    for copy in found:
        offered = bool(copy.differences())
        work = copy.open()
        if offered:
            kept = int(work.nodes["n"].title)
            save_patch(work, path)
        copy.discard()
    save_patch(load_patch(path), path)
    return {
        "killed": died_by == -signal.SIGKILL,
        "edits": len(done),
        "after_engine": sum(time_s > engine_killed_s for time_s in times.values()) if has_engine else None,
        "orphans": alive(processes),
        "lost_clock_s": killed_s - min((at for n, at in times.items() if n > kept), default=killed_s),
        "whole": text == template.replace("@", str(saved)),
        "lost_s": max(0, done[-1] - kept) * EDIT_MS / 1000 if done else 0.0,
        "older_offered": kept < saved,
        "offered": offered,
        "parts": len(parts),
        "left": [str(file.relative_to(folder)) for file in folder.rglob("*") if not is_known(file)],
    }


def main(folder: Path, kills: int, seed: int, engines: int = 0) -> None:
    """Kill a number of editors in sequence."""
    rng = random.Random(seed)
    patch = Patch()
    patch.add("test_app.picture", node_id="n", title="@")
    for index in range(BLOCKS):
        patch.add("test_app.every_parameter", node_id=f"b{index}", label=f"block {index}")
    folder.mkdir(parents=True, exist_ok=True)
    template = dump_patch(patch)
    patch.rename("n", "0")
    save_patch(patch, folder / "p.loom")
    for number in range(kills):
        found = kill_one(folder, template, random.Random(rng.random()), has_engine=number < engines)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
