"""The editor with a large patch beside others: opening a file, zooming, and moving all blocks.

    python -m tests.benchmarks.side_by_side.topics.editors NAME COUNT

is a process with one editor. It reads the name of a work from each line, does it, and answers when the view is painted.
Each editor has a process of its own, since both want to be the only one in theirs.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program
from tests.benchmarks.side_by_side.peers import orange_canvas

COUNTS, WORKS = (100, 1000, 5000), ("open", "zoom", "move all")
#: An editor that isn't open by then takes no part. Opening takes others so long that it is measured twice.
OPEN_S, TURNS = 60.0, 2
COLUMNS, STEP_X, STEP_Y, SIZE = 80, 200.0, 140.0, (1280, 800)


def contests(device: Any) -> Iterator[Contest]:
    """Yield the contests, which have no engine, beside those of the host device."""
    if device.info.name != "host":
        return
    for count in COUNTS:
        with ExitStack() as opened:
            editors = {name: Editor(name, count, opened) for name in (OURS, "NodeGraphQt", "orange-canvas")}
            for work in WORKS:
                programs = {name: partial(editor.program, work) for name, editor in editors.items()}
                yield Contest(f"editor with {count} blocks: {work}", programs, turns=TURNS, settles=False)


class Editor:
    """An editor's process, which starts when it is needed."""

    def __init__(self, name: str, count: int, opened: ExitStack) -> None:
        self._name, self._count, self._opened = name, count, opened
        self._process: subprocess.Popen[str] | None = None
        self._problem: str | None = None

    def program(self, work: str, _: ExitStack) -> Program:
        """Return the program that asks for a work."""
        if self._process is None:
            self._start()
        if self._problem is not None:
            raise Missing(self._problem)
        return Program(partial(self._ask, work))

    def _start(self) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.side_by_side.topics.editors", self._name, str(self._count)]
        log = self._opened.enter_context(TemporaryFile("w+"))  # noqa: SIM115 - it is a context manager here
        process = self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1,
            cwd=Path(__file__).parents[4], env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        )  # fmt: skip
        self._opened.callback(process.communicate)  # the end of its input ends it
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], OPEN_S)
        if not ready:
            process.kill()
            self._problem = f"it has not made {self._count} blocks after {OPEN_S:g} s"
        elif process.stdout.readline() != "ready\n":
            log.seek(0)
            self._problem = (log.read().strip().splitlines() or ["it has ended"])[-1]

    def _ask(self, work: str) -> None:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{work}\n")
        if process.stdout.readline() != "done\n":
            raise Missing("it has ended")


def our_works(count: int, opened: ExitStack) -> dict[str, Callable[[], object]]:
    """Return what our editor does."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from tests.benchmarks.gesture_times import make_alike
    from warploom.app.window.main_window import MainWindow
    from warploom.engine.diagnostics import WarploomError
    from warploom.engine.patch.files import save_patch

    def no_engine(*_: object) -> Any:
        raise WarploomError("the editor is measured alone")

    folder = Path(opened.enter_context(TemporaryDirectory()))
    window = MainWindow(no_engine, folder / "state")
    window.resize(*SIZE)
    window.show()
    path, view = folder / "large.loom", window.canvas.view
    save_patch(make_alike(count), path)
    zoom = 0.0

    def painted() -> None:
        for _ in range(2):
            QApplication.processEvents()
        QApplication.sendPostedEvents()  # begins a painting that is still due
        while not view.painting.rest.isEmpty():
            QApplication.processEvents()

    def open_file() -> None:
        window.session.open(path)
        painted()

    def zoom_view() -> None:
        view.set_zoom(view.zoom * (1.25 if view.zoom <= zoom else 0.8))
        painted()

    def move() -> None:
        QTest.keyClick(view, Qt.Key.Key_Right)
        painted()

    open_file()
    window.canvas.fit()
    window.canvas.select_all()
    painted()
    zoom = view.zoom
    return {"open": open_file, "zoom": zoom_view, "move all": move}


def node_graph_works(count: int, opened: ExitStack) -> dict[str, Callable[[], object]]:
    """Return what NodeGraphQt does with nodes of the same ports and places."""
    from NodeGraphQt import BaseNode, NodeGraph
    from PySide6.QtWidgets import QApplication

    class Saxpy(BaseNode):  # type: ignore[misc,unused-ignore]
        __identifier__, NODE_NAME = "bench", "Saxpy"

        def __init__(self) -> None:
            super().__init__()
            self.add_input("x"), self.add_input("y"), self.add_output("out")

    graph = NodeGraph()
    graph.register_node(Saxpy)
    graph.widget.resize(*SIZE)
    graph.widget.show()
    viewer, nodes = graph.viewer(), list[Any]()
    for index in range(count):
        place = (index % COLUMNS * STEP_X, index // COLUMNS * STEP_Y)
        nodes.append(graph.create_node("bench.Saxpy", pos=place, selected=False, push_undo=False))
        if index:
            nodes[-2].output(0).connect_to(nodes[-1].input(0), push_undo=False)
    path = str(Path(opened.enter_context(TemporaryDirectory()), "large.json"))
    graph.save_session(path)
    is_near = False

    def painted() -> None:
        viewer.viewport().repaint()
        for _ in range(2):
            QApplication.processEvents()

    def open_file() -> None:
        graph.clear_session()
        graph.load_session(path)
        painted()

    def zoom_view() -> None:
        nonlocal is_near
        is_near = not is_near
        viewer.scale(*(2 * (1.25 if is_near else 0.8,)))
        painted()

    def move() -> None:
        for node in graph.all_nodes():
            x, y = node.pos()
            node.view.xy_pos = [x + 10, y]
            node.model.pos = [x + 10, y]
        painted()

    graph.select_all()
    graph.fit_to_selection()
    painted()
    return {"open": open_file, "zoom": zoom_view, "move all": move}


def serve(name: str, count: int) -> None:
    """Do what each line of the input names."""
    if name == "orange-canvas":
        from PyQt6.QtWidgets import QApplication
    else:
        from PySide6.QtWidgets import QApplication

    app, answers = QApplication(["editors"]), os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what editors print is no answer
    with ExitStack() as opened:
        if name == "orange-canvas":
            works = orange_canvas.works(count, COLUMNS, (STEP_X, STEP_Y), SIZE)
        else:
            works = {OURS: our_works, "NodeGraphQt": node_graph_works}[name](count, opened)
        answers.write("ready\n")
        for line in sys.stdin:
            works[line.strip()]()
            answers.write("done\n")
    answers.flush()
    del app
    os._exit(0)  # the windows of other editors may wait for answers


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
