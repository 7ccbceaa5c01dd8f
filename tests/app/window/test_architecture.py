"""`ARCHITECTURE.md` is true: the files that it names exist, and the code follows its four paths."""

import ast
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.small_examples import small_file
from warploom.engine.patch.document import Patch

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
_STEP = re.compile(r"\[([\w/]+\.py)\]\(([\w/]+\.py)\)\s+→\s+`([\w.]+)`")

Call = tuple[str, str]


def steps(title: str) -> list[Call]:
    """Return the file and the function of each step of a section."""
    (section,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
    return [(file, function) for _, file, function in _STEP.findall(section)]


def functions_of(path: Path) -> set[str]:
    """Return the qualified names of the functions of a module and its classes."""

    def names(body: list[ast.stmt], holder: str = "") -> Iterator[str]:
        for item in body:
            if isinstance(item, ast.FunctionDef):
                yield holder + item.name
            elif isinstance(item, ast.ClassDef):
                yield from names(item.body, f"{holder}{item.name}.")

    return set(names(ast.parse(path.read_text()).body))


def test_every_file_and_function_it_names_exists() -> None:
    """Every step names an existing function, in the file that it links to."""
    found = _STEP.findall(TEXT)
    assert len(found) > 50
    for shown, file, function in found:
        assert shown == file and function in functions_of(ROOT / file), (file, function)


class Walk:
    """Follows the steps of a section through the calls of all threads that start later, among other calls."""

    def __init__(self) -> None:
        self.left: deque[Call] = deque()
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Record a call; Python calls this at each call and return."""
        left = self.left
        if event == "call" and left and left[0][1] == frame.f_code.co_qualname:
            with self._lock:
                if left and frame.f_code.co_filename == str(ROOT / left[0][0]):
                    left.popleft()


@pytest.fixture
def walk() -> Iterator[Walk]:
    """Records the calls in a test, also those of threads that start in it."""
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    yield walk
    sys.setprofile(None)
    threading.setprofile(None)


def test_the_steps_are_taken_in_this_order(walk: Walk, real_window: Any, qtbot: QtBot, tmp_path: Path) -> None:
    """The steps of each section happen in order, in the editor with the engine's process on the host."""

    def follow(title: str, act: Callable[[], object] = lambda: None) -> None:
        """Act repeatedly until all steps of a section have happened."""
        walk.left.extend(steps(title))

        def taken() -> None:
            act()
            assert not walk.left

        qtbot.waitUntil(taken)

    walk.left.extend(steps("One picture"))  # starts when the patch is opened
    assert real_window.files.open_path(small_file("particles", tmp_path))
    qtbot.waitUntil(lambda: not walk.left)
    follow("One frame")
    real_window.canvas.select(["forces"])
    gravity = count(1.0, 0.01)
    follow("One edit", lambda: real_window.inspector.rows["gravity"].editor.edited.emit(next(gravity)))
    patch: Patch = real_window.session.patch
    (connection,) = patch.connections_of("viewer")
    viewer = patch.add(patch.nodes["viewer"].type)
    walk.left.extend(steps("One compile"))
    patch.connect(connection.source, viewer[connection.target.port])
    qtbot.waitUntil(lambda: not walk.left)
