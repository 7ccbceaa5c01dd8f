"""The editor asks before it runs block files, and then shows each node as its file defines it now."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.conftest import Asked
from tests.catalogue.block_texts import BlockFolder, block_text
from warploom import Patch
from warploom.app.docks.help import Help
from warploom.app.documents import dialogs
from warploom.app.documents.trust.changes_dialog import ChangesDialog
from warploom.app.documents.trust.trust import Trust, TrustedPaths
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import default_catalogue, folder_beside
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import save_patch
from warploom.engine.patch.trust import refuse_file
from warploom.engine.protocol.messages import SetTrust


class Project:
    """A patch with block files beside it."""

    def __init__(self, path: Path) -> None:
        self.blocks = BlockFolder(path / "blocks")
        self.blocks.write("scale.py", block_text())
        self.path = path / "p.loom"
        block_folders.add(self.blocks.path).result()
        patch = Patch()
        x = patch.add("io.array", data=np.ones(3, np.float32))
        scale = patch.add("live.scale", gain=2.0)
        after = patch.add("math.scale_offset")
        patch.connect(x["out"], scale["x"])
        patch.connect(scale["out"], after["x"])
        save_patch(patch, self.path)
        block_folders.remove(self.blocks.path)
        block_folders.reload([]).result()

    def save(self, text: str) -> None:
        """Save the block's file and wait until it is loaded."""
        block_folders.reload([self.blocks.write("scale.py", text)]).result()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project whose patch has not been opened."""
    made = Project(tmp_path / "project")
    yield made
    block_folders.remove(made.blocks.path)
    block_folders.reload([]).result()


def model(window: Any, node: str) -> Any:
    """Return the canvas's view model of a node."""
    return window.canvas.scene.nodes[node].model


@pytest.mark.parametrize(("answer", "is_missing"), [(Trust.NO, True), (Trust.ONCE, False), (Trust.ALWAYS, False)])
def test_opening_a_patch_asks_once_about_its_blocks(
    window: Any, qtbot: QtBot, asked: Asked, project: Project, answer: Trust, is_missing: bool
) -> None:
    """Opening a patch asks once about its blocks, which are placeholders unless trusted; the answer is remembered."""
    asked.trust = answer
    for _ in range(2):
        assert window.files.open_path(project.path)
        qtbot.waitUntil(lambda: model(window, "scale").missing == is_missing)
    assert asked.shown == [str(project.blocks.path)]
    window.files.close()
    block_folders.reload([]).result()
    assert default_catalogue().get("live.scale") is None


@pytest.mark.parametrize(("index", "is_missing"), [(0, True), (1, False), (2, False)])
def test_a_banner_asks_about_blocks_that_appear_beside_the_open_patch(
    window: Any, qtbot: QtBot, asked: Asked, project: Project, index: int, is_missing: bool
) -> None:
    """A banner asks once about blocks that appear beside the open patch, and not about those of other patches."""
    away = project.blocks.path.rename(project.path.with_name("away"))
    assert window.files.open_path(project.path)
    banner = window.blocks_banner
    window.trust.look_for_blocks()
    assert banner.isHidden()
    away.rename(project.blocks.path)
    qtbot.waitUntil(lambda: not banner.isHidden())
    assert banner.notice.lines == (str(project.blocks.path / "scale.py"),)
    window.files.new()
    window.trust.look_for_blocks()
    assert banner.isHidden()
    project.blocks.path.rename(away)
    window.files.open_path(project.path)
    away.rename(project.blocks.path)
    qtbot.waitUntil(lambda: not banner.isHidden())
    qtbot.mouseClick(banner.buttons[index], Qt.MouseButton.LeftButton)
    assert banner.isHidden()
    qtbot.waitUntil(lambda: model(window, "scale").missing == is_missing)
    window.trust.look_for_blocks()
    assert banner.isHidden()
    assert asked.shown == []


def test_changes_of_a_trusted_folder_are_asked_about_unless_it_was_open(
    window: Any, qtbot: QtBot, asked: Asked, project: Project
) -> None:
    """What changes while the patch is open stays trusted; what changes while it is closed waits for a new answer.

    The banner counts the changed files, and its first button shows them.
    """
    asked.trust, text = Trust.ALWAYS, block_text()
    assert window.files.open_path(project.path)
    qtbot.waitUntil(lambda: not model(window, "scale").missing)
    project.save(f"# mine\n{text}")
    project.blocks.write("helper.cu", "// mine")
    window.files.close()
    assert window.files.open_path(project.path)
    assert not model(window, "scale").missing
    window.files.close()
    block_folders.reload([]).result()
    ran = project.blocks.path / "ran"
    project.blocks.write("scale.py", f"from pathlib import Path\nPath({str(ran)!r}).touch()\n{text}")
    assert window.files.open_path(project.path)
    banner = window.blocks_banner
    assert model(window, "scale").missing and not ran.exists()
    assert "1 file has changed since you trusted them" in banner.text
    assert banner.notice.lines == ("changed: scale.py",)
    shown: list[str] = []

    def read(dialog: ChangesDialog) -> int:
        assert dialog.diff.isReadOnly()
        shown.append(dialog.diff.toPlainText())
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChangesDialog, "exec", read)
        banner.buttons[0].click()
    assert "-# mine\n+from pathlib import Path\n" in shown[0]
    assert [button.text() for button in banner.buttons[1:]] == [text for text, _ in BUTTONS]
    banner.buttons[2].click()
    qtbot.waitUntil(lambda: not model(window, "scale").missing)
    assert ran.exists() and banner.isHidden()
    assert asked.shown == [str(project.blocks.path)]


def test_trust_can_be_given_later(window: Any, qtbot: QtBot, asked: Asked, project: Project) -> None:
    """Trust can be given and withdrawn in the menu; nodes keep their places and become placeholders without trust."""
    window.files.open_path(project.path)
    assert model(window, "scale").missing
    asked.trust = Trust.ONCE
    window.actions_by_id["trust"].trigger()
    qtbot.waitUntil(lambda: not model(window, "scale").missing)
    assert [port.dangling for port in model(window, "scale").inputs] == [False]
    assert not window.session.is_modified
    asked.trust = Trust.NO
    window.trust.ask_again()
    qtbot.waitUntil(lambda: model(window, "scale").missing)


def test_saving_elsewhere_says_where_the_blocks_are(
    window: Any, asked: Asked, project: Project, tmp_path: Path
) -> None:
    """After saving elsewhere, a message says that the blocks are beside the original file."""
    asked.trust = Trust.ONCE
    window.files.open_path(project.path)
    noted: list[str] = []
    window.files.noted.connect(noted.append)
    asked.path = project.path.with_name("q.loom")
    assert window.files.save_as()
    asked.path = tmp_path / "r.loom"
    assert window.files.save_as()
    assert noted[0] == f"Saved {project.path.with_name('q.loom')}"
    assert noted[1].startswith(
        f"Saved {tmp_path / 'r.loom'}. Its blocks stay in {project.blocks.path}: File > Collect "
    )


def test_patches_with_the_same_blocks_follow_each_other(window: Any, asked: Asked, project: Project) -> None:
    """Each patch uses the blocks beside it, even with equal ids; opening an invalid file changes nothing."""
    other = Project(project.path.parent.parent / "other")
    asked.trust = Trust.ONCE
    for one in (project, other, project):
        assert window.files.open_path(one.path)
        block_folders.reload([]).result()
        assert block_folders.problems() == []
        assert default_catalogue().require("live.scale").source_folder() == one.blocks.path
    other.path.write_text("no patch")
    assert not window.files.open_path(other.path)
    block_folders.reload([]).result()
    assert default_catalogue().require("live.scale").source_folder() == project.blocks.path
    assert window.session.blocks == project.blocks.path


def test_a_patch_without_blocks_asks_nothing(window: Any, asked: Asked, tmp_path: Path) -> None:
    """A patch without blocks asks nothing, even with an empty blocks folder."""
    path = tmp_path / "p.loom"
    save_patch(Patch(), path)
    assert window.files.open_path(path)
    (tmp_path / "blocks").mkdir()
    assert window.files.open_path(path)
    assert folder_beside(tmp_path) is not None
    assert asked.shown == []
    window.trust.ask_again()
    assert asked.shown == []


def test_the_editor_shows_the_version_that_was_saved(window: Any, qtbot: QtBot, asked: Asked, project: Project) -> None:
    """A saved version of a block is shown on the node, in the inspector, help and search; removed ports dangle."""
    asked.trust = Trust.ONCE
    window.files.open_path(project.path)
    window.canvas.select(["scale"])
    project.save(
        block_text(out="result", extra='more: float = param(3.0, doc="More.")').replace(
            '"""Scale a buffer."""', '"""Wobble a buffer."""'
        )
    )
    qtbot.waitUntil(lambda: len(model(window, "scale").outputs) == 2)
    assert {port.name: port.dangling for port in model(window, "scale").outputs} == {"result": False, "out": True}
    (connection,) = [c for c in window.session.patch.connections if c.source == PortRef("scale", "out")]
    assert window.canvas.scene.connections[connection].is_dangling
    assert window.inspector.editor("more").spec.default == 3.0
    assert window.session.patch.value("scale", "gain") == 2.0
    assert "Wobble a buffer." in window.docks.widget(Help).page.toPlainText()
    assert "live.scale" in {block.id for block in default_catalogue().search("wobble")}
    project.save(block_text())
    qtbot.waitUntil(lambda: not window.canvas.scene.connections[connection].is_dangling)
    assert [port.name for port in model(window, "scale").outputs] == ["out"]


def test_a_dangling_connection_can_be_led_elsewhere_and_deleted(
    window: Any, qtbot: QtBot, asked: Asked, project: Project
) -> None:
    """A dangling connection can be moved and deleted, both with undo, and its port disappears with it."""
    asked.trust = Trust.ONCE
    window.files.open_path(project.path)
    project.save(block_text(out="result"))
    qtbot.waitUntil(lambda: len(model(window, "scale").outputs) == 2)
    patch = window.session.patch
    patch.connect(patch["scale"]["result"], PortRef("scale_offset", "x"))
    assert [port.name for port in model(window, "scale").outputs] == ["result"]
    patch.undo()
    assert [port.dangling for port in model(window, "scale").outputs] == [False, True]
    patch.disconnect(PortRef("scale_offset", "x"))
    assert [port.name for port in model(window, "scale").outputs] == ["result"]
    patch.undo()
    assert [port.dangling for port in model(window, "scale").outputs] == [False, True]


def test_a_type_that_shows_pictures_gets_its_viewer(window: Any, qtbot: QtBot, asked: Asked, project: Project) -> None:
    """A block type that begins to show pictures gets a viewer, which closes when the type shows none."""
    asked.trust = Trust.ONCE
    window.files.open_path(project.path)
    assert "scale" not in window.viewers.docks
    shows = block_text(
        before="from warploom.api import uchar4\n",
        describe='build.show(build.buffer("pixels", uchar4, shape="[2, 2]"))',
    )
    project.save(shows)
    qtbot.waitUntil(lambda: "scale" in window.viewers.docks)
    project.save(block_text())
    qtbot.waitUntil(lambda: "scale" not in window.viewers.docks)


@pytest.mark.feature("hot_reload")
def test_saves_reach_a_real_engine(real_window: Any, qtbot: QtBot, asked: Asked, project: Project) -> None:
    """A saved file reaches a real engine, whose message appears on the node."""
    asked.trust = Trust.ONCE
    window = real_window
    window.files.open_path(project.path)
    seen: list[Any] = []
    window.bridge.report.connect(seen.append)
    qtbot.waitUntil(lambda: bool(seen) and "scale" in seen[-1].nodes and seen[-1].diagnostics == ())
    project.blocks.write("scale.py", "1 / 0")
    qtbot.waitUntil(lambda: bool(seen[-1].diagnostics))
    (problem,) = seen[-1].diagnostics
    assert (problem.node, problem.line) == ("scale", 1)
    project.blocks.write("scale.py", block_text(out="result"))
    qtbot.waitUntil(lambda: len(seen[-1].diagnostics) == 2)
    qtbot.waitUntil(lambda: len(model(window, "scale").outputs) == 2)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_banner_asks_once_about_what_only_a_trusted_patch_may_do(window: Any, tmp_path: Path, index: int) -> None:
    """A banner asks once about actions that only a trusted patch may take; the menu can ask again."""
    path = tmp_path / "p.loom"
    save_patch(Patch(), path)
    assert window.files.open_path(path)
    refused = refuse_file("save", tmp_path.parent / "out.png", tmp_path)
    assert refused is not None
    banner = window.trust_banner

    def report(*diagnostics: Diagnostic) -> None:
        window.bridge.report.emit(make_report(diagnostics=diagnostics))

    report(refused)
    assert not banner.isHidden()
    assert banner.notice.lines == (f"save: {tmp_path.parent / 'out.png'}",)
    assert [button.text() for button in banner.buttons] == ["Don't trust", "Trust", "Always trust this patch"]
    banner.buttons[index].click()
    assert banner.isHidden()
    assert window.session.patch.trusted == (index > 0)
    assert window.session.engine.posted[-1] == SetTrust(index > 0)
    report(refused) if index == 0 else report()
    assert banner.isHidden()
    assert window.files.open_path(path)
    assert window.session.patch.trusted == (index > 0)
    assert TrustedPaths(tmp_path / "state").decision(path) is (True if index == 2 else None)
    if index == 2:  # another program's version needs another answer
        window.files.close()
        path.write_text(path.read_text().replace("}", "\n}", 1))
        assert window.files.open_path(path)
        assert not window.session.patch.trusted
        report(refused)
        assert banner.text.startswith("Do you trust p? It has changed since you trusted it.")
        banner.buttons[3].click()
        assert window.files.save()  # the person's own version needs none
        assert window.files.open_path(path)
        assert window.session.patch.trusted
    window.actions_by_id["trust"].trigger()
    assert not window.session.patch.trusted
    report(refused)
    assert not banner.isHidden()
    window.files.close()
    assert banner.isHidden()


BUTTONS = [("Don't trust", Trust.NO), ("Trust", Trust.ONCE), ("Always trust this folder", Trust.ALWAYS)]


@pytest.mark.parametrize(("text", "answer"), BUTTONS)
def test_the_question_about_trust(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, answer: Trust
) -> None:
    """The question about trust states what would run and where it is; dismissing it keeps the files untrusted."""
    said: list[str] = []

    def press(box: QMessageBox) -> int:
        default = box.defaultButton()
        assert default is not None
        assert default.text() == "Don't trust"
        assert box.escapeButton() is default
        said.append(box.informativeText())
        next(button for button in box.buttons() if button.text() == text).click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", press)
    window = QApplication.activeWindow()
    assert dialogs.ask_to_trust(window, tmp_path, [f"{i}.py" for i in range(8)]) is answer
    assert str(tmp_path) in said[0]
    assert "8 Python files: 0.py, 1.py, 2.py, 3.py, 4.py, 5.py and 2 more." in said[0]


def test_names_of_files_cannot_pass_for_words_of_the_question(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """File names in the question are shown as plain text on one line, without right-to-left tricks."""
    boxes: list[QMessageBox] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: boxes.append(box) or 0)
    names = ["<b>a</b>.py", "b.py.\n\nWarploom has checked them.\n\n.py", "\u202eyp.c"]
    dialogs.ask_to_trust(QApplication.activeWindow(), Path("/f"), names)
    text = boxes[0].informativeText()
    assert "holds 3 Python files: <b>a</b>.py, b.py.\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}Warploom" in text
    assert "\u202e" not in text
    assert all(label.textFormat() is Qt.TextFormat.PlainText for label in boxes[0].findChildren(QLabel) if label.text())


def test_trust_is_asked_only_for_blocks_that_the_patch_uses(
    window: Any, qtbot: QtBot, asked: Asked, project: Project
) -> None:
    """A patch without blocks of the folder opens without a question; a change of the folder asks by a banner."""
    plain = Patch()
    plain.add("value.slider", node_id="a")
    save_patch(plain, project.path.with_name("plain.loom"))
    noted: list[str] = []
    window.files.noted.connect(noted.append)
    assert window.files.open_path(project.path.with_name("plain.loom"))
    window.trust.look_for_blocks()
    assert asked.shown == [] and window.blocks_banner.isHidden()
    assert "File > Trust" in noted[0]
    project.blocks.write("other.py", "# mine")
    window.trust.look_for_blocks()
    assert not window.blocks_banner.isHidden()
