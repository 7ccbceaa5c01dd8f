"""The editor and block files that hang or die: the window and the engine go on."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from tests.app.conftest import Asked
from tests.app.documents.test_engine_process import make_engine
from tests.catalogue.block_texts import BlockFolder, block_text
from warploom import Patch
from warploom.app.editor import blocks_apart
from warploom.app.window.main_window import MainWindow
from warploom.engine.block_process import client
from warploom.engine.blocktypes.block import block_types
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.patch.files import save_patch
from warploom.engine.protocol.messages import FrameReport, NodeState
from warploom.engine.user_code.limits import FILE


@pytest.fixture
def apart() -> Iterator[None]:
    """Block files run in a process of their own, as in the editor."""
    with blocks_apart(None):
        yield
    assert block_folders.apart is None


def test_a_harmful_file_stops_neither_the_window_nor_the_engine(
    qtbot: QtBot, tmp_path: Path, asked: Asked, apart: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A saved file that holds or ends its process is reported at its node, whose last version runs on. A file that only
    ends the engine is left out by the next one. Both are mended by a right file.
    """
    monkeypatch.setattr(client, "FILE", FILE._replace(total_s=2.0))
    folder = BlockFolder(tmp_path / "blocks")
    folder.write("scale.py", block_text())
    save_patch(Patch(), tmp_path / "demo.loom")
    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        assert window.files.open_path(tmp_path / "demo.loom", trust=True)
        qtbot.waitUntil(lambda: block_types.get("live.scale") is not None)
        patch = window.session.patch
        assert patch is not None
        node = patch.add("live.scale", gain=2.0)
        patch.connect(patch.add("io.array", data=np.ones(4, np.float32))["out"], node["x"])
        reports: list[FrameReport] = []
        window.bridge.report.connect(reports.append)

        def told(text: str) -> bool:
            """Return whether the newest frame ran the block, with this problem; "" for none."""
            if not reports or reports[-1].preparing or node.id not in reports[-1].nodes:
                return False
            found = [each.message for each in reports[-1].diagnostics if each.node == node.id]
            is_running = reports[-1].nodes[node.id].kernels > 0
            return is_running and (any(text in each for each in found) if text else not found)

        qtbot.waitUntil(lambda: told(""))
        engine = window.session.engine
        folder.write("scale.py", block_text(before="10**10**9"))
        qtbot.waitUntil(lambda: told("block file scale.py must finish within 2 s"))
        folder.write("scale.py", block_text(before="import os; os._exit(1)"))
        qtbot.waitUntil(lambda: told("block file scale.py must leave its process running, got exit status 1"))
        assert window.session.engine is engine

        only_there = "import os, sys\nif sys.argv[-1:] == ['engine']: os._exit(1)"  # it passes the trial
        folder.write("scale.py", block_text(before=only_there))
        why = "block file scale.py must let the engine go on, got the end of its process"
        qtbot.waitUntil(lambda: window.session.engine is not engine)
        assert why in window.log.lines[-1].record.text
        qtbot.waitUntil(lambda: any(each.message == why for each in reports[-1].diagnostics))
        folder.write("scale.py", block_text(gain="3.0, min=0, max=5"))
        qtbot.waitUntil(lambda: told(""))
        assert reports[-1].nodes[node.id].state is NodeState.OK
        assert not window.banner.text
        spec = patch.block_type(node.id)
        assert spec is not None and spec.parameters["gain"].maximum == 5
    finally:
        window.close()
        block_folders.remove(folder.path)
        block_folders.reload([]).result()
