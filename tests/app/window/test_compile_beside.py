"""Kernels are compiled beside the window, which stays responsive."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from tests.app.window.window_support import patch_of
from warploom.app.inspector.code_editor import CodeEditor
from warploom.app.window.main_window import MainWindow
from warploom.blocks.kernel.cuda import CudaKernel
from warploom.engine.kernel_blocks.kernel_block import KernelBlock

CODE = 'extern "C" __global__ void blend(const float* {}, float* out, int n) {{ out[0] = {}[0]; }}\n'


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event that compilations wait for; in the UI's thread they fail instead."""
    may_end, ui = threading.Event(), threading.current_thread()
    interface = vars(KernelBlock)["interface"].__func__

    def slow(cls: Any, values: Any) -> Any:
        assert threading.current_thread() is not ui, "a kernel must not be compiled in the UI's thread"
        may_end.wait()
        return interface(cls, values)

    monkeypatch.setattr(KernelBlock, "interface", classmethod(slow))
    yield may_end
    may_end.set()


@pytest.mark.feature("never_blocks")
def test_a_dropped_kernel_is_compiled_beside_the_window(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, held: threading.Event
) -> None:
    """While a dropped kernel is compiled, the status bar says so; the block appears when it is done."""
    file = tmp_path / "blend.cu"
    file.write_text(CODE.format("first", "first"))
    window.files.new()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    window.canvas.incoming.take(data, QPointF(0, 0))
    assert not patch_of(window).nodes
    qtbot.waitUntil(lambda: window.statusBar().currentMessage() == "Reading blend.cu …")
    held.set()
    qtbot.waitUntil(lambda: bool(patch_of(window).nodes))
    (node,) = patch_of(window).nodes
    assert ("first", True) in window.canvas.scene.nodes[node].ports
    assert window.canvas.selected() == [node]
    assert window.statusBar().currentMessage() == ""


def test_code_that_is_entered_is_compiled_beside_the_window(window: MainWindow, qtbot: QtBot) -> None:
    """Entered code keeps the node's old ports until it is compiled; if the block was removed, the result is dropped."""
    window.files.new()
    patch = patch_of(window)
    node = patch.add("kernel.cuda").id
    window.canvas.select([node])
    code = CODE.format("second", "second")
    window.inspector.editor("code").edited.emit(code)
    assert patch.value(node, "code") == CudaKernel.parameters["code"].default
    qtbot.waitUntil(lambda: patch.value(node, "code") == code)
    assert ("second", True) in window.canvas.scene.nodes[node].ports
    window.inspector.editor("code").edited.emit(CODE.format("third", "third"))
    patch.remove(node)
    done: list[None] = []
    window.beside.run("", lambda: None, lambda _: done.append(None))
    qtbot.waitUntil(lambda: bool(done))
    assert not patch.nodes


@pytest.mark.feature("progress")
def test_the_compile_of_typed_code_is_cancelled(window: MainWindow, qtbot: QtBot, held: threading.Event) -> None:
    """Cancel keeps the typed text in its field, not applied; Ctrl+Enter then tries again."""
    held.set()
    window.files.new()
    patch, done = patch_of(window), list[None]()
    window.beside.run("", lambda: patch.add("kernel.cuda", node_id="kernel"), lambda _: done.append(None))
    qtbot.waitUntil(lambda: bool(done))
    held.clear()
    window.canvas.select(["kernel"])
    before, code = patch.value("kernel", "code"), CODE.format("second", "second").strip()
    editor = window.inspector.editor("code")
    assert isinstance(editor, CodeEditor)
    editor.text.setFocus()
    editor.text.selectAll()
    editor.text.insertPlainText(code)
    QTest.keyClick(editor.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    buttons = window.statusBar().findChildren(QPushButton)
    cancel = next(each for each in buttons if each.text() == "Cancel")
    qtbot.waitUntil(cancel.isVisible)
    QTest.mouseClick(cancel, Qt.MouseButton.LeftButton)
    assert patch.value("kernel", "code") == before and editor.text.toPlainText() == code
    assert "Ctrl+Enter" in window.statusBar().currentMessage()
    held.set()
    QTest.keyClick(editor.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: patch.value("kernel", "code") == code)
