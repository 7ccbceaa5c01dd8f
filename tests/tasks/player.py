"""Plays gestures, a line each, as a person who looks first: a gesture waits until its thing can be seen.

    key Tab                                  press and release keys
    type gaussian blur                       type a text and nothing else
    enter gaussian blur                      type a text, then Enter
    click block "Noise"                      also `right-click` and `double-click`
    click block "Noise" with Shift           with a key held
    point canvas "30% 50%"                   move the pointer
    drag output "Noise.out" -> input "Mix.b" press, move over all places, release
    scroll text "Render Points" 5            turn the wheel down, so many steps
    see "No problems"                        wait for a text; `see no "error"` until it is gone
    picture music                            keep a picture of the screen for the book, if it is being made

`places.py` lists the kinds of things. `{folder}` is the folder of the test. Lines that start with # are comments.
"""

import os
import re
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from subprocess import CalledProcessError

from PySide6.QtCore import QEventLoop, QPoint, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from tests.tasks.hands import Hand
from tests.tasks.places import Screen

_THING = re.compile(r'(\w+) "([^"]+)"')
_SEEN = re.compile(r'see( no)? "(.+)"')
#: Time without what a gesture needs, in seconds, after which the person is stuck. A loaded machine needs much less.
_STUCK_S = float(os.environ.get("STUCK", "90"))
#: The steps from one look at the screen to the next, since a look takes as long as some frames.
_LOOK = 10
#: The steps before a picture, in which the patch moves on and tooltips fade.
_SETTLE = 60
_BUTTONS = {"click": (1, 1), "double-click": (1, 2), "right-click": (3, 1)}
#: A folder for a picture of the screen after each gesture.
_PICTURES = os.environ.get("WARPLOOM_TASK_PICTURES", "")


@dataclass
class Score:
    """The number of gestures and the time of a task."""

    gestures: int = 0
    seconds: float = 0.0


class Player:
    """Plays scripts in a window."""

    def __init__(self, screen: Screen, hand: Hand, folder: Path, pictures: Path | None = None) -> None:
        self._screen, self._hand, self._folder, self._pictures = screen, hand, folder, pictures
        self._line = ""
        self._pixel = ""  # the pixel that the last gesture pointed at
        self.score = Score()

    def play(self, name: str, script: str) -> None:
        """Play a script; raise AssertionError with the line at which the person is stuck."""
        begun, loop, errors = time.monotonic(), QEventLoop(), list[Exception]()
        steps = self._steps(name, script)

        def step() -> None:
            try:
                next(steps)
            except StopIteration:
                loop.quit()
            except (AssertionError, RuntimeError, OSError, CalledProcessError) as error:  # raised again below
                errors.append(error)
                timer.stop()
                loop.quit()
                while (modal := QApplication.activeModalWidget()) is not None:
                    modal.close()

        timer = QTimer(interval=max(self._hand.delay_ms, 2))
        timer.timeout.connect(step)
        timer.start()
        loop.exec()
        timer.stop()
        self.score.seconds += time.monotonic() - begun
        if errors:
            raise errors[0]

    def _steps(self, name: str, script: str) -> Iterator[None]:
        for number, line in enumerate(script.splitlines(), 1):
            if not (line := line.strip().replace("{folder}", str(self._folder))) or line.startswith("#"):
                continue
            self._line = f"{name}:{number}: {line}"
            yield from self._gesture(line)
            yield
            if _PICTURES:
                for _ in range(8):
                    yield
                self._photograph(Path(_PICTURES, f"{name}_{number:03}.png"))

    def _gesture(self, line: str) -> Iterator[None]:
        verb, _, rest = line.partition(" ")
        if seen := _SEEN.fullmatch(line):
            begun = time.monotonic()
            while self._screen.reads(seen[2]) is not (seen[1] is None):
                yield from self._wait_since(begun)
                if self._pixel:  # the picture has moved under the pointer, so a person points again
                    self._hand.move((yield from self._find(self._pixel)) + QPoint(1, 0))
                    yield
                    self._hand.move((yield from self._find(self._pixel)))
            return
        if verb == "picture":
            if self._pictures is not None:
                yield from repeat(None, _SETTLE)
                self._photograph(self._pictures / f"{rest}.png")
            return
        self.score.gestures += 1
        self._pixel = rest if verb == "point" and rest.startswith("pixel") else ""
        match verb:
            case "key":
                self._hand.key(rest)
            case "type" | "enter":
                self._hand.type(rest)
                if verb == "enter":
                    yield
                    self._hand.key("Return")
            case "point":
                self._hand.move((yield from self._find(rest)))
            case "scroll":
                thing, steps = rest.rsplit(" ", 1)
                self._hand.move((yield from self._find(thing)))
                self._hand.scroll(int(steps))
            case "drag":
                yield from self._drag([thing[0] for thing in _THING.finditer(rest)])
            case "click" | "double-click" | "right-click":
                yield from self._click(verb, rest)
            case _:
                raise AssertionError(f"{self._line}: a gesture must be known, got {verb}")

    def _click(self, verb: str, rest: str) -> Iterator[None]:
        thing, _, held = rest.partition(" with ")
        self._hand.move((yield from self._find(thing)))
        yield
        if held:
            self._hand.hold(held, True)
        button, times = _BUTTONS[verb]
        self._hand.click(button, times)
        if held:
            self._hand.hold(held, False)

    def _drag(self, things: list[str]) -> Iterator[None]:
        at: QPoint | None = None
        for thing in things:
            to = yield from self._find(thing)
            if at is None:
                self._hand.move(to)
                self._hand.press()
            else:
                for share in (0.3, 0.7, 1.0):
                    self._hand.move(at + (to - at) * share)
                    yield
            at = to
            yield
        self._hand.release()

    def _find(self, thing: str) -> Generator[None, None, QPoint]:
        named = _THING.fullmatch(thing.strip())
        assert named is not None, f'{self._line}: a thing must be like block "Noise", got {thing}'
        place: QPoint | None = None
        begun = time.monotonic()
        while (place := self._screen.find(named[1], named[2])) is None:
            yield from self._wait_since(begun)
        return place

    def _wait_since(self, begun: float) -> Iterator[None]:
        for _ in range(_LOOK):
            yield
        if time.monotonic() - begun > _STUCK_S:
            if _PICTURES:
                self._photograph(Path(_PICTURES, "stuck.png"))
            raise AssertionError(f"stuck at {self._line}")

    def _photograph(self, path: Path) -> None:
        if QGuiApplication.platformName() == "xcb":
            picture = QGuiApplication.primaryScreen().grabWindow(0)
        else:
            picture = (QApplication.activeModalWidget() or self._screen.window).grab()
        picture.save(str(path))
