"""The canvas of Orange with a large workflow: opening a file, zooming, and moving all nodes.

AnyQt 0.2 imports no widgets of PySide6, so this editor needs PyQt6.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO


def works(
    count: int, columns: int, steps: tuple[float, float], size: tuple[int, int]
) -> dict[str, Callable[[], object]]:
    """Return what the editor does with `count` nodes in rows of `columns`, which lie `steps` apart."""
    os.environ["QT_API"] = "pyqt6"
    from orangecanvas.document.schemeedit import SchemeEditWidget
    from orangecanvas.registry import CategoryDescription, InputSignal, OutputSignal, WidgetDescription, WidgetRegistry
    from orangecanvas.registry.qt import QtWidgetRegistry
    from orangecanvas.scheme import Scheme, SchemeLink, SchemeNode
    from orangecanvas.scheme.readwrite import scheme_load, scheme_to_ows_stream
    from PyQt6.QtWidgets import QApplication

    registry = WidgetRegistry()
    registry.register_category(CategoryDescription("bench"))
    saxpy = WidgetDescription(
        "Saxpy", "saxpy", "bench", qualified_name=f"{__name__}.Saxpy",
        inputs=[InputSignal(name, "builtins.object", f"set_{name}") for name in ("x", "y")],
        outputs=[OutputSignal("out", "builtins.object")],
    )  # fmt: skip
    registry.register_widget(saxpy)
    editor = SchemeEditWidget()
    editor.setRegistry(QtWidgetRegistry(registry))
    editor.resize(*size)
    editor.show()
    view, nodes, made, saved = editor.view(), list[SchemeNode](), Scheme(), BytesIO()
    for index in range(count):
        place = (index % columns * steps[0], index // columns * steps[1])
        nodes.append(SchemeNode(saxpy, title=f"Saxpy {index}", position=place))
        made.add_node(nodes[-1])
        if index:
            made.add_link(SchemeLink(nodes[-2], "out", nodes[-1], "x"))
    scheme_to_ows_stream(made, saved)
    is_near = False

    def painted() -> None:
        view.viewport().repaint()
        for _ in range(2):
            QApplication.processEvents()

    def open_file() -> None:
        scheme = Scheme()
        scheme_load(scheme, BytesIO(saved.getvalue()), registry)
        editor.setScheme(scheme)
        painted()

    def zoom_view() -> None:
        nonlocal is_near
        is_near = not is_near
        view.scale(*(2 * (1.25 if is_near else 0.8,)))
        painted()

    def move() -> None:
        for node in editor.scheme().nodes:
            x, y = node.position
            node.position = (x + 10, y)
        painted()

    open_file()
    view.fitInView(editor.scene().itemsBoundingRect())
    editor.selectAll()
    painted()
    return {"open": open_file, "zoom": zoom_view, "move all": move}
