"""An error in a method that Qt calls does not end the program."""

from __future__ import annotations

import subprocess
import sys

_CRASH = """
import sys
from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from app.safe_overrides import safe_overrides

@safe_overrides
class Clumsy(QWidget):
    def customEvent(self, event):
        [].remove(1)

app = QApplication([])
sys.excepthook = lambda kind, problem, trace: print("heard", kind.__name__)
widget = Clumsy()
QApplication.postEvent(widget, QEvent(QEvent.Type.User))
QTimer.singleShot(50, app.quit)
app.exec()
print("alive")
"""


def test_an_error_from_c_code_in_an_override_is_reported() -> None:
    """The child process goes on and its excepthook hears of the error."""
    result = subprocess.run([sys.executable, "-c", _CRASH], capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout.split() == ["heard", "ValueError", "alive"], result.stderr


def test_every_class_of_the_canvas_that_qt_calls_is_safe() -> None:
    """No override was forgotten."""
    from app.canvas import canvas, graph_scene, nodegraph_adapter, search_popup, view

    for module in (canvas, graph_scene, nodegraph_adapter, search_popup, view):
        for cls in vars(module).values():
            if isinstance(cls, type) and cls.__module__ == module.__name__:
                for name, method in vars(cls).items():
                    if name.endswith("Event") or name in ("paint", "itemChange", "shape", "boundingRect"):
                        assert hasattr(method, "__wrapped__"), f"{cls.__name__}.{name}"
