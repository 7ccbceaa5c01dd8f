"""Access to the editors of a block with every kind of parameter."""

from warploom.app.inspector.inspector import Inspector
from warploom.app.inspector.parameter_editors import NumberEditor

TYPE = "test_app.every_parameter"


def number(inspector: Inspector, name: str) -> NumberEditor:
    """Return the editor of a numeric parameter."""
    editor = inspector.editor(name)
    assert isinstance(editor, NumberEditor)
    return editor
