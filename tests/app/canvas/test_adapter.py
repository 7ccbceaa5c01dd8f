"""Only the adapter imports NodeGraphQt."""

import ast
import subprocess
import sys
from pathlib import Path

import app

_IMPORT = """
import sys
from app.canvas.items.nodegraph_adapter import NodeView
import Qt
assert Qt.__binding__ == "PySide6", Qt.__binding__
assert "distutils" not in sys.modules
"""


def test_it_imports_without_warnings_and_leaves_no_trace() -> None:
    """Importing the adapter raises no warning, removes its stand-in for distutils, and makes Qt.py choose PySide6."""
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
