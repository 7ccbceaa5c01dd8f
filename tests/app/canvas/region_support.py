"""A patch with a region, and where its boxes lie, for the tests of regions on the canvas."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from engine.catalogue.catalogue import default_catalogue
from engine.patch.document import Patch
from tests.app.canvas.canvas_support import Hand

KINDS = ["control.if", "control.if_else", "control.while", "control.for"]


def patch_with_region() -> Patch:
    """Return a patch of a source outside, and a For with a Scale in it; the Scale on the right is free."""
    patch = Patch(default_catalogue())
    patch.add("test_canvas.source", node_id="source", position=(-400, 0))
    loop = patch.add("control.for", node_id="loop", position=(-160, 80))
    patch.add("test_canvas.scale", node_id="inner", position=(-160, -40), region=loop)
    patch.add("test_canvas.scale", node_id="free", position=(200, 0))
    return patch


def box(hand: Hand, region: str) -> QRectF:
    """Return where a region's box lies."""
    return QRectF(hand.scene.regions.rect_of(region))


def place(hand: Hand, node: str) -> QRectF:
    """Return where a node lies on the screen."""
    found: QRectF = hand.scene.nodes[node].place
    return found
