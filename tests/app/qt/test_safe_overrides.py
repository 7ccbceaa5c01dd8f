"""An error in a method that Qt calls does not end the program."""

import importlib
import pkgutil
import subprocess
import sys
from types import FunctionType

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QGraphicsItem

from warploom.app.qt.safe_overrides import protect_overrides

_QT = (QObject, QGraphicsItem)
_CRASH = """
import sys
from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from warploom.app.qt.safe_overrides import protect_overrides

class Clumsy(QWidget):
    def customEvent(self, event):
        [].remove(1)

protect_overrides()
app = QApplication([])
sys.excepthook = lambda kind, problem, trace: print("heard", kind.__name__)
widget = Clumsy()
QApplication.postEvent(widget, QEvent(QEvent.Type.User))
QTimer.singleShot(50, app.quit)
app.exec()
print("alive")
"""


def test_an_error_from_c_code_in_an_override_is_reported() -> None:
    """An error that C code raises in an override reaches the excepthook, and the process continues."""
    result = subprocess.run([sys.executable, "-c", _CRASH], capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["heard", "ValueError", "alive"], result.stderr


def test_every_class_that_qt_calls_is_safe() -> None:
    """Every override of a Qt method in the editor is protected."""
    from warploom import app

    called = {"paint", "itemChange", "shape", "boundingRect", "sizeHint", "eventFilter", "data", "rowCount", "validate"}
    names = [
        info.name
        for info in pkgutil.walk_packages(app.__path__, "warploom.app.")
        if info.name != "warploom.app.__main__"
    ]
    modules = [importlib.import_module(name) for name in names]
    protect_overrides()
    found = 0
    for module in modules:
        for cls in vars(module).values():
            if not isinstance(cls, type) or cls.__module__ != module.__name__ or not issubclass(cls, _QT):
                continue
            for name, method in vars(cls).items():
                # Qt's own methods, which replace overrides here, run no Python code.
                if (name in called or name.endswith("Event")) and isinstance(method, FunctionType):
                    found += 1
                    assert hasattr(method, "__wrapped__"), f"{module.__name__}: {cls.__name__}.{name}"
    assert found > 30


def test_an_override_keeps_its_keywords() -> None:
    """A method of the same name as one of Qt's, as pyqtgraph has them, may take keywords."""

    class Curve(QObject):
        def setProperty(self, *, pen: str) -> str:
            return pen

    protect_overrides()
    assert Curve().setProperty(pen="red") == "red"
