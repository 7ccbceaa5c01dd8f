"""Only the adapter imports NodeGraphQt."""

import ast
import subprocess
import sys
from pathlib import Path

from warploom import app

_IMPORT = """
import sys
from warploom.app.canvas.items.nodegraph_adapter import PipeItem
from PySide6.QtWidgets import QGraphicsPathItem
assert issubclass(PipeItem, QGraphicsPathItem)
assert not {"distutils", "Qt", "NodeGraphQt", "PySide6.QtSvg"} & sys.modules.keys()
"""


def test_it_imports_without_warnings_and_leaves_no_trace() -> None:
    """Importing the adapter raises no warning, imports only a pipe of the library, and removes its stand-ins."""
    result = subprocess.run([sys.executable, "-W", "error", "-c", _IMPORT], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_one_file_imports_nodegraphqt() -> None:
    """One file imports NodeGraphQt, so replacing the library changes one file."""
    folder = Path(app.__file__).parent
    importers = {path.name for path in folder.rglob("*.py") if "NodeGraphQt" in _imported(path)}
    assert importers == {"nodegraph_adapter.py"}


def _imported(path: Path) -> set[str]:
    names = set()
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            names |= {alias.name.split(".")[0] for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            names.add(statement.module.split(".")[0])
    return names
