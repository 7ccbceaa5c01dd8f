"""New blocks, new kernels and own copies of blocks."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox
from pytestqt.qtbot import QtBot

from tests.app.conftest import Asked
from tests.app.window.window_support import patch_of
from tests.fuzzing import many, seeds
from warploom import Engine
from warploom.app.docks.code.code import Code
from warploom.app.documents import dialogs
from warploom.app.documents.code_files.new_code_dialog import NewCodeDialog
from warploom.app.documents.trust.trust import Trust
from warploom.app.edits.files.new_code import KINDS, exchange, name_of, write_block, write_copy
from warploom.app.window.main_window import MainWindow
from warploom.engine.catalogue.catalogue import default_catalogue, forget_blocks, trust_blocks
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, load_patch, save_patch


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def opened(window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    """A window with a saved patch; the dialog for a new block is answered with the kind that a test names."""
    patch = Patch()
    patch.add("math.saxpy", node_id="saxpy", a=3.0, title="Mine")
    patch.add("io.array", node_id="values", position=(-200, 0))
    patch.add("math.saxpy", node_id="after", position=(200, 0))
    patch.connect(PortRef("values", "out"), PortRef("saxpy", "x"))
    patch.connect(PortRef("saxpy", "out"), PortRef("after", "x"))
    patch.set_sentinel(PortRef("saxpy", "out"))
    save_patch(patch, tmp_path / "demo.loom")
    monkeypatch.setattr(dialogs, "ask_new_code", lambda *_: ("Soft Rings", "Picture in CUDA C++"))
    assert window.files.open_path(tmp_path / "demo.loom")
    window.activateWindow()
    yield window
    window.session.use_blocks(None)


def test_a_new_block_runs_and_is_never_asked_about(opened: MainWindow, asked: Asked, tmp_path: Path) -> None:
    """*New block* writes its files, adds it and shows its kernel; neither now nor later is trust asked for."""
    opened.actions_by_id["new_block"].trigger()
    made, dock = tmp_path / "blocks" / "soft_rings.cu", opened.docks.widget(Code)
    assert patch_of(opened).nodes["soft_rings"].type == "my.soft_rings" and opened.canvas.selected() == ["soft_rings"]
    assert dock.isVisible() and dock.place is not None and dock.place.path == made
    assert not dock.text.isReadOnly() and opened.focusWidget() is dock.text
    opened.trust.look_for_blocks()
    assert not asked.shown and opened.blocks_banner.isHidden()
    opened.actions_by_id["save"].trigger()
    opened.files.new()
    assert opened.files.open_path(tmp_path / "demo.loom") and not asked.shown
    assert patch_of(opened).block_type("soft_rings") is not None
    patch_of(opened).undo()
    (tmp_path / "blocks" / "strange.py").write_text("")
    opened.session.replace(None)
    opened.files.open_path(tmp_path / "demo.loom")
    assert opened.session.blocks is None  # what others put there is asked about


def test_blocks_of_others_are_asked_about_first(opened: MainWindow, asked: Asked, tmp_path: Path) -> None:
    """In a folder with blocks that the person has not decided about, a new block needs an answer."""
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "other.py").write_text("raise SystemExit")
    opened.actions_by_id["new_block"].trigger()
    assert asked.shown == [str(tmp_path / "blocks")] and not (tmp_path / "blocks" / "soft_rings.py").exists()
    assert "soft_rings" not in patch_of(opened).nodes
    asked.trust = Trust.ONCE
    opened.actions_by_id["new_block"].trigger()
    assert "soft_rings" in patch_of(opened).nodes


def test_a_patch_without_a_file_gets_a_folder(
    opened: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a patch that is not saved, the person chooses a folder once, and Save suggests it."""
    monkeypatch.setattr(dialogs, "ask_folder", lambda *_: tmp_path / "work")
    (tmp_path / "work").mkdir()
    opened.files.new()
    opened.actions_by_id["new_kernel"].trigger()
    monkeypatch.setattr(dialogs, "ask_folder", lambda *_: None)
    opened.actions_by_id["new_block"].trigger()
    assert {node.type for node in patch_of(opened).nodes.values()} == {"kernel.file", "my.soft_rings"}
    assert (tmp_path / "work" / "soft_rings.cu").is_file() and opened.files._folder() == tmp_path / "work"


def test_a_copy_takes_the_blocks_place(opened: MainWindow, tmp_path: Path) -> None:
    """*Edit a copy* keeps id, title, values, connections and checks; one undo brings the library's block back."""
    patch, before = patch_of(opened), dump_patch(patch_of(opened))
    own = '"id": "saxpy",\n      "type": "{}.saxpy"'
    opened.canvas.select(["saxpy"])
    opened.actions_by_id["open_code"].trigger()
    QTest.mouseClick(opened.docks.widget(Code).bar.copy, Qt.MouseButton.LeftButton)
    assert dump_patch(patch) == before.replace(own.format("math"), own.format("my"))
    shown = opened.docks.widget(Code).place
    assert shown is not None and shown.path == tmp_path / "blocks" / "saxpy.cu" and not shown.is_read_only
    patch.undo()
    assert dump_patch(patch) == before
    patch.redo()
    opened.actions_by_id["edit_copy"].trigger()
    assert patch.nodes["saxpy"].type == "my.saxpy_2"


def test_a_kernel_file_is_copied_beside_the_patch(opened: MainWindow, tmp_path: Path) -> None:
    """A copy of a block with a kernel file is a file of its own; for code in a parameter there is nothing to copy."""
    patch = patch_of(opened)
    patch.add("kernel.file", node_id="file", file=str(Path("kernels/saxpy.cu").resolve()))
    patch.add("kernel.cuda", node_id="cuda")
    opened.canvas.select(["file"])
    opened.actions_by_id["edit_copy"].trigger()
    assert patch.value("file", "file") == "saxpy.cu" and (tmp_path / "saxpy.cu").is_file()
    opened.canvas.select(["cuda"])
    opened.actions_by_id["edit_copy"].trigger()
    assert "change it as it is" in opened.log.lines[-1].record.text


def test_the_dialog_makes_only_what_has_a_name(qtbot: QtBot, qapp: QApplication) -> None:
    """The button is disabled while the name can't be one of a file; the name in files is shown."""
    dialog = NewCodeDialog(QApplication.activeWindow(), "New block", list(KINDS), name_of)  # type: ignore[arg-type]
    qtbot.addWidget(dialog)
    make = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert dialog.files.text() == "Made as my_block" and make.isEnabled()
    dialog.name.setText("2 rings")
    assert not make.isEnabled() and "letter" in dialog.files.text()
    dialog.name.setText("Soft  Rings!")
    assert dialog.files.text() == "Made as soft_rings" and make.isEnabled()
    with pytest.raises(PatchError):
        name_of("-")


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_new_block_runs(tmp_path: Path, kind: str) -> None:
    """A new block of each kind runs at once, with an input if it needs one."""
    made = write_block(tmp_path / "blocks", f'A "{kind}"', kind)
    assert trust_blocks(tmp_path / "blocks") == []
    patch = Patch()
    node = patch.add(made.type_id)
    if "x" in {port.name for port in default_catalogue().require(made.type_id).inputs()}:
        patch.connect(patch.add("io.array")["out"], node["x"])
    with Engine(patch, device="host") as engine:
        assert not [item for item in engine.step().diagnostics if item.severity == "error"]
    forget_blocks(tmp_path / "blocks")


@pytest.mark.parametrize("seed", seeds(1))
def test_every_block_of_the_library_can_be_copied(tmp_path: Path, seed: int) -> None:
    """A copy of any library block loads, has the same ports and parameters, and takes a node's place until undo."""
    draw, catalogue = random.Random(seed), default_catalogue()
    own = [block for block in catalogue.all() if block.__module__.startswith("warploom.blocks.")]
    chosen = draw.sample(own, min(len(own), many(12)))
    made = {block.id: write_copy(block, tmp_path / "blocks") for block in chosen}
    assert trust_blocks(tmp_path / "blocks") == []
    patch = Patch()
    for block in chosen:
        patch.add(block.id, node_id=block.id.replace(".", "_"))
    before = dump_patch(patch)
    for block in chosen:
        copy: Any = catalogue.require(made[block.id].type_id)
        # As texts, since defaults may be arrays.
        assert str((copy.ports, copy.parameters)) == str((block.ports, block.parameters))
        assert copy.category == block.category
        assert copy.title == f"My {block.title}"
        exchange(patch, block.id.replace(".", "_"), copy.id)
    for _ in chosen:
        patch.undo()
    assert dump_patch(patch) == before
    forget_blocks(tmp_path / "blocks")


def test_a_copy_of_a_region_keeps_its_members(tmp_path: Path) -> None:
    """The blocks inside a region stay inside its copy, in the same branch."""
    patch = Patch()
    region = patch.add("control.if_else", node_id="choice")
    patch.add("math.add", node_id="inside", region=region)
    patch.add("math.add", node_id="other", region="choice.else")
    before = {node.id: node.region for node in patch.nodes.values()}
    block_type = patch.block_type("choice")
    assert block_type is not None
    made = write_copy(block_type, tmp_path / "blocks")
    trust_blocks(tmp_path / "blocks")
    exchange(patch, "choice", made.type_id)
    assert {node.id: node.region for node in patch.nodes.values()} == before
    save_patch(patch, tmp_path / "region.loom")
    assert load_patch(tmp_path / "region.loom").nodes["choice"].type == "my.if_else"
    forget_blocks(tmp_path / "blocks")
