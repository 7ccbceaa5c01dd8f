"""Helpers for tests of the window."""

from typing import Any

from tests.app.app_support import FakeEngine
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.sampling import ObservePorts, Reduction


def engine_of(window: MainWindow) -> FakeEngine:
    engine: Any = window.session.engine
    assert isinstance(engine, FakeEngine)
    return engine


def patch_of(window: MainWindow) -> Patch:
    assert window.session.patch is not None
    return window.session.patch


def observed(engine: FakeEngine) -> set[str] | None:
    """Return the viewers of the last request to the engine, or None if there was none."""
    told = [message.samplings.values() for message in engine.posted if isinstance(message, ObservePorts)]
    return {each.port.node for each in told[-1] if each.reduction is Reduction.PICTURE} if told else None
