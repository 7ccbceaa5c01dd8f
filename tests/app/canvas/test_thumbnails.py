"""Thumbnails stay below their blocks, at any zoom."""

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QApplication

from tests.app.app_support import make_report
from tests.app.canvas.canvas_support import Hand, place
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.drawing.node_painter import NEAR
from warploom.app.canvas.drawing.overview_painter import FAR_FROM
from warploom.app.theme import colours
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import BufferReport
from warploom.engine.protocol.sampling import Sample, Sampling
from warploom.engine.runtime.preview.reducing import make_sample
from warploom.engine.types import f32


@pytest.fixture
def asked(canvas: Canvas) -> list[dict[str, Sampling]]:
    """What the thumbnails of a patch with a picture and a number request."""
    found: list[dict[str, Sampling]] = []
    canvas.thumbnails.wanted.connect(found.append)
    buffers = {
        "source.out": BufferReport("float4", (64, 64), 2**16, 2**16),
        "scale.out": BufferReport("f32", (1,), 4, 4),
    }
    canvas.show_report(make_report(buffers=buffers))
    canvas.thumbnails.set_shown(True)
    return found


def test_a_zoomed_out_canvas_has_small_pictures_and_no_numbers(
    canvas: Canvas, asked: list[dict[str, Sampling]]
) -> None:
    """Zoomed out, pictures have fewer pixels and numbers are hidden; farther out, pictures are hidden as well."""
    assert asked[-1].keys() == {"source", "scale"}
    near = asked[-1]["source"].size
    canvas.view.set_zoom(NEAR / 2)
    canvas.thumbnails._ask()
    assert asked[-1].keys() == {"source"}
    assert max(asked[-1]["source"].size) < min(near)
    canvas.view.set_zoom(FAR_FROM / 2)
    canvas.thumbnails._ask()
    assert asked[-1] == {}


def test_a_thumbnail_is_smaller_rather_than_covered(
    canvas: Canvas, hand: Hand, patch: Patch, asked: list[dict[str, Sampling]]
) -> None:
    """A thumbnail ends above a block that is close below it, and is large again when the block goes away."""
    sampling = asked[-1]["source"]
    pixels = np.ones((*sampling.size, 4), np.float32)
    canvas.thumbnails.take("source", Sample("source", sampling, 1, "float4", (64, 64), data=pixels))
    area = canvas.thumbnails._layer.area
    whole = area("source")
    x, low = patch.nodes["source"].position[0], place(hand, "source").bottom()
    patch.move("count", (x, low + 60))
    canvas.thumbnails._ask()
    assert 0 < area("source").height() < 60 < whole.height()
    assert area("source").bottom() < place(hand, "count").top()
    patch.move("count", (x, low + 400))
    canvas.thumbnails._ask()
    assert area("source") == whole


def test_a_buffer_that_is_kept_no_longer_loses_its_thumbnail(canvas: Canvas, asked: list[dict[str, Sampling]]) -> None:
    """An old picture or number below a block would be taken for what it makes now."""
    picture, number = asked[-1]["source"], asked[-1]["scale"]
    pixels = np.ones((*picture.size, 4), np.float32)
    canvas.thumbnails.take("source", Sample("source", picture, 1, "float4", (64, 64), data=pixels))
    canvas.thumbnails.take("scale", Sample("scale", number, 1, "f32", (1,), data=np.ones(1, np.float32)))
    layer = canvas.thumbnails._layer
    assert layer.pictures.keys() == {"source"} and layer.texts == {"scale": "1"}
    canvas.thumbnails.take("source", Sample("source", picture, 2, missing="source.out is not kept after a frame"))
    canvas.thumbnails.take("scale", Sample("scale", number, 2, missing="scale.out is not kept after a frame"))
    assert not layer.pictures and not layer.texts


def test_all_columns_of_a_table_are_drawn(canvas: Canvas) -> None:
    """Each has a colour; with names, each has a range of its own, so that a small one is not flat."""
    canvas.thumbnails.set_shown(True)
    wanted: list[dict[str, Sampling]] = []
    canvas.thumbnails.wanted.connect(wanted.append)
    numbers = np.stack([np.arange(50.0), np.sin(np.arange(50.0)), np.full(50, np.nan)], 1).astype(np.float32)
    for names in ((), ("time", "height", "nothing")):
        buffers = {"source.out": BufferReport("f32", numbers.shape, numbers.nbytes, numbers.nbytes, columns=names)}
        canvas.show_report(make_report(buffers=buffers))
        canvas.thumbnails._ask()
        canvas.thumbnails.take("source", make_sample("source", wanted[-1]["source"], 1, f32, numbers.shape, numbers))
        image = canvas.thumbnails._layer.pictures["source"]
        rows = {
            ink: {
                y for y in range(image.height()) for x in range(image.width()) if image.pixelColor(x, y).name() == ink
            }
            for ink in colours.CURVES[:2]
        }
        assert len(rows[colours.CURVES[0]]) > image.height() / 2
        assert (len(rows[colours.CURVES[1]]) > image.height() / 2) is bool(names) and rows[colours.CURVES[1]]


def test_no_thumbnail_stays_where_its_block_was(
    canvas: Canvas, patch: Patch, asked: list[dict[str, Sampling]], qapp: QApplication
) -> None:
    """The canvas is repainted there when a block moves or goes."""
    sampling = asked[-1]["source"]
    pixels = np.ones((*sampling.size, 4), np.float32)
    canvas.thumbnails.take("source", Sample("source", sampling, 1, "float4", (64, 64), data=pixels))
    changed: list[QRectF] = []
    canvas.scene.changed.connect(changed.extend)
    qapp.processEvents()
    for edit in (lambda: patch.move("source", (-400.0, -400.0)), lambda: patch.remove("source")):
        area = canvas.thumbnails._layer.area("source")
        changed.clear()
        edit()
        qapp.processEvents()
        assert any(rect.contains(area) for rect in changed)
