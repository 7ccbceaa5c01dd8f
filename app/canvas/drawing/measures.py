"""The sizes of a patch on the canvas, for edits that know no Qt."""

from collections.abc import Mapping

from PySide6.QtCore import QRectF

from warploom.app.canvas.drawing.node_layout import NodeLayout, layout
from warploom.app.canvas.drawing.region_layout import region_layout
from warploom.app.edits.organise.arrange import Measures
from warploom.app.view_models.node_view_model import NodeViewModel, node_view_model
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch


def measures(patch: Patch) -> Measures:
    """Return the sizes of a patch as it is now; each node is measured once."""
    known: dict[str, tuple[NodeViewModel, NodeLayout]] = {}

    def placed(node: str) -> tuple[NodeViewModel, NodeLayout]:
        if node not in known:
            model = node_view_model(patch, node)
            known[node] = model, layout(model)
        return known[node]

    def size(node: str) -> tuple[float, float]:
        return placed(node)[1].width, placed(node)[1].height

    def port_y(port: PortRef, is_input: bool) -> float:
        model, found = placed(port.node)
        ports, centres = (model.inputs, found.inputs) if is_input else (model.outputs, found.outputs)
        return next((at.y() for each, at in zip(ports, centres, strict=True) if each.name == port.port), 0.0)

    def box(block: Rect, contents: Mapping[str, Rect]) -> Rect:
        branches = {branch: QRectF(*rect) for branch, rect in contents.items()}
        found = region_layout(QRectF(*block), branches).box
        return Rect(found.x(), found.y(), found.width(), found.height())

    return Measures(size, port_y, box)
