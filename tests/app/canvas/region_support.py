"""A patch with a region, and where its boxes lie, for the tests of regions on the canvas."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from tests.app.canvas.canvas_support import Hand


def box(hand: Hand, region: str) -> QRectF:
    """Return where a region's box lies."""
    return QRectF(hand.scene.regions.rect_of(region))


def place(hand: Hand, node: str) -> QRectF:
    """Return where a node lies on the screen."""
    found: QRectF = hand.scene.nodes[node].place
    return found
