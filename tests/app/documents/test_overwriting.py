"""The editor asks before a save overwrites a file that the patch has not written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from warploom import Patch
from warploom.engine.diagnostics import error
from warploom.engine.patch.files import save_patch


@pytest.mark.parametrize("allows", [True, False])
def test_outputs_that_are_there_are_overwritten_after_a_question(
    real_window: Any, qtbot: QtBot, tmp_path: Path, allows: bool
) -> None:
    """One banner names all files; its buttons keep them, or save all outputs again. Nothing is asked twice."""
    patch = Patch()
    image = patch.add("io.image_array", data=np.ones((2, 2, 4), np.float32))
    files = [tmp_path / name for name in ("a.png", "b.png", "c.png")]
    for file in files:
        patch.connect(image["out"], patch.add("io.save_image", node_id=file.stem, file=file.name)["image"])
    save_patch(patch, tmp_path / "p.loom")
    for file in files[:2]:
        file.write_bytes(b"theirs")
    banner, noted = real_window.save_banner, list[str]()
    real_window.log.noted.connect(noted.append)

    def save() -> None:
        noted.clear()
        real_window.actions_by_id["save_outputs"].trigger()
        qtbot.waitUntil(lambda: len(noted) == 3)

    assert real_window.files.open_path(tmp_path / "p.loom")
    save()
    assert banner.text.startswith("Overwrite 2 files that this patch has not written")
    assert set(banner.notice.lines) == {f"a: {files[0]}", f"b: {files[1]}"}
    assert files[0].read_bytes() == files[1].read_bytes() == b"theirs" != files[2].read_bytes()
    noted.clear()
    banner.buttons[allows].click()
    assert banner.isHidden()
    if allows:
        qtbot.waitUntil(lambda: len(noted) == 3)
        assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    assert real_window.files.open_path(tmp_path / "p.loom")
    save()
    assert banner.isHidden() == allows
    real_window.bridge.failed.emit(error("something else"))
    assert banner.isHidden() == allows
    real_window.files.close()
    assert banner.isHidden()
