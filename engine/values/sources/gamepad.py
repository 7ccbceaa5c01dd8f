"""Gamepads: sticks, triggers and buttons, by the names that all makers' pads share."""

import os
import threading
from collections import Counter
from typing import Any

from warploom.engine.arguments import checked
from warploom.engine.diagnostics import PatchError
from warploom.engine.values.sources.listening import Listener, Unavailable

_INSTALL = "pip install 'warploom[gamepad]'"
#: Sticks and triggers by the library's names of their axes, then buttons.
AXES = {
    "left stick x": "LEFTX",
    "left stick y": "LEFTY",
    "right stick x": "RIGHTX",
    "right stick y": "RIGHTY",
    "left trigger": "TRIGGERLEFT",
    "right trigger": "TRIGGERRIGHT",
}
BUTTONS = {
    **{name: name.upper() for name in ("a", "b", "x", "y", "back", "guide", "start")},
    "left shoulder": "LEFTSHOULDER",
    "right shoulder": "RIGHTSHOULDER",
    "left stick": "LEFTSTICK",
    "right stick": "RIGHTSTICK",
    "up": "DPAD_UP",
    "down": "DPAD_DOWN",
    "left": "DPAD_LEFT",
    "right": "DPAD_RIGHT",
}
_LARGEST = 32767.0
#: Between two looks at the pads, in seconds: four times a frame of 60 a second.
_LOOK_S = 0.004
_opening = threading.Lock()
#: How many users have a pad open. The library has one object for a pad, and closes it for all of them.
_users: Counter[Any] = Counter()


@checked()
def gamepad_name(control: str, source: str = "") -> str:
    """Return the name of an input; `control` is one of AXES or BUTTONS, followed by "#" for a count of presses."""
    return f"gamepad:{control}" + (f"@{source.removeprefix('gamepad:')}" if source else "")


def gamepads() -> list[str]:
    """Return the names of the pads that are connected now. Raise PatchError without the library."""
    try:
        _, controller = _library()
    except Unavailable as problem:
        raise PatchError(f"{problem}; {problem.remedy}") from problem
    names: dict[str, None] = {}
    for index in filter(controller.is_controller, range(controller.get_count())):
        pad = _open(controller, index)
        names[str(pad.name)] = None
        _close(pad)
    return list(names)


def _open(controller: Any, index: int) -> Any:
    """Return a pad, for one more user."""
    with _opening:
        pad = controller.Controller(index)
        _users[pad] += 1
    return pad


def _close(pad: Any) -> None:
    """Close a pad once its last user has closed it."""
    with _opening:
        _users[pad] -= 1
        if not _users[pad]:
            del _users[pad]
            pad.quit()


def _library() -> tuple[Any, Any]:
    """Return the library and its part for pads, which knows those that are connected now. Raise Unavailable."""
    os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
    with _opening:
        before = os.environ.get("SDL_VIDEODRIVER")
        os.environ["SDL_VIDEODRIVER"] = "dummy"  # the library gives events only with a display
        try:
            import pygame
            from pygame._sdl2 import controller

            pygame.display.init()
        except ImportError as problem:
            text = f"gamepads must have the library pygame-ce, got none ({problem})"
            raise Unavailable(text, _INSTALL) from problem
        finally:
            if before is None:
                del os.environ["SDL_VIDEODRIVER"]
            else:
                os.environ["SDL_VIDEODRIVER"] = before
        controller.init()
        pygame.event.pump()
    return pygame, controller


class GamepadListener(Listener):
    """Listens to one gamepad. A source is "gamepad:NAME", with a part of its name, or "gamepad:" for the first one.

    Sticks go from -1 to 1, with y upwards; triggers from 0 to 1; buttons are 0 or 1. SDL is used without its window.
    """

    def listen(self) -> None:
        """Look at the pad until `close`. Raise Unavailable without the library, or without such a pad."""
        pygame, controller = _library()
        pad = self._find(controller)
        axes = {name: getattr(pygame, f"CONTROLLER_AXIS_{axis}") for name, axis in AXES.items()}
        buttons = {name: getattr(pygame, f"CONTROLLER_BUTTON_{button}") for name, button in BUTTONS.items()}
        self.ready()
        try:
            while not self.stopping.wait(_LOOK_S):
                pygame.event.pump()
                pygame.event.clear()  # else they fill the library's queue
                if not pad.attached():
                    raise Unavailable(f"gamepad {pad.name} must be connected, got it unplugged", "connect it again")
                for name, axis in axes.items():
                    value = max(pad.get_axis(axis) / _LARGEST, -1.0)
                    self._store(name, -value if name.endswith("y") else value)
                for name, button in buttons.items():
                    self._store(name, float(pad.get_button(button)), counts=True)
        finally:
            _close(pad)

    def _find(self, controller: Any) -> Any:
        part = self.source.removeprefix("gamepad:").lower()
        names = []
        for index in range(controller.get_count()):
            if controller.is_controller(index):
                pad = _open(controller, index)
                if part in pad.name.lower():
                    return pad
                names.append(pad.name)
                _close(pad)
        wanted = f"one called {part!r}" if part else "one"
        text = f"gamepads must have {wanted} to listen to, got {', '.join(names) or 'none'}"
        raise Unavailable(text, "connect it; it is then found by itself")

    def _store(self, control: str, value: float, *, counts: bool = False) -> None:
        for source in ("", self.source):
            (self.inputs.post if counts else self.inputs.set)(gamepad_name(control, source), value)
