"""Kills editors with signal 9 while they edit and save, and prints what was lost and what was left behind.

    python -m tests.app.documents.kill_editors FOLDER KILLS SEED

Each editor is a forked process with the real session, file commands and recovery. It renames a block to the number of
each edit, and sometimes saves. The next editor continues from what was saved or recovered. The program prints one JSON
object for each kill. The loss is counted in edits of `EDIT_MS` each, so that it does not depend on how busy the machine
is.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget

from app.documents.editor_state import UserState
from app.documents.file_commands import FileCommands
from app.documents.recovery import RecoverySlot, find_left_behind
from app.documents.session import Session
from app.documents.trust import TrustedPaths
from engine.patch.document import Patch
from engine.patch.files import dump_patch, load_patch, save_patch
from tests.app.app_support import FakeEngine

EDIT_MS = 10
#: The longest life of an editor, and the longest time between two saves.
LIFE_S, SAVE_S = 3.0, 4.0
BLOCKS = 100


def run_editor(folder: Path, log: int, rng: random.Random) -> None:
    """Edit and save until killed, and append each edit's number to `log`."""
    app = QApplication(["editor"])
    window = QWidget()
    session = Session(FakeEngine)  # type: ignore[arg-type]  # replaces Engine
    files = FileCommands(session, UserState(), RecoverySlot(folder / "state"), TrustedPaths(folder / "state"), window)
    assert files.open_path(folder / "p.loom")
    patch = session.patch
    assert patch is not None
    number = int(patch.nodes["n"].title)

    def edit() -> None:
        nonlocal number
        number += 1
        patch.rename("n", str(number))
        os.write(log, f"{number}\n".encode())

    def save() -> None:
        assert files.save()
        QTimer.singleShot(rng.randint(0, round(1000 * SAVE_S)), save)

    editing = QTimer(interval=EDIT_MS)
    editing.timeout.connect(edit)
    editing.start()
    QTimer.singleShot(rng.randint(0, round(1000 * SAVE_S)), save)
    app.exec()


def kill_one(folder: Path, template: str, rng: random.Random) -> dict[str, Any]:
    """Run an editor, kill it, recover and save its work, and return what was lost or left behind."""
    path = folder / "p.loom"
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            run_editor(folder, writer, rng)
        finally:
            os._exit(1)
    os.close(writer)
    time.sleep(rng.uniform(0, LIFE_S))
    os.kill(child, signal.SIGKILL)
    died_by = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(reader) as log:
        done = [int(line) for line in log.read().split()]
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
        "whole": text == template.replace("@", str(saved)),
        "lost_s": max(0, done[-1] - kept) * EDIT_MS / 1000 if done else 0.0,
        "older_offered": kept < saved,
        "offered": offered,
        "parts": len(parts),
        "left": [str(file.relative_to(folder)) for file in folder.rglob("*") if file.name not in ("p.loom", "state")],
    }


def main(folder: Path, kills: int, seed: int) -> None:
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
    for _ in range(kills):
        sys.stdout.write(json.dumps(kill_one(folder, template, random.Random(rng.random()))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
