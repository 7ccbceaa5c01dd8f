"""Notebooks show patches, buffers, reports and profiles, and ports while the patch runs."""

import io
import os
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.waiting import until
from warploom import Engine, Patch, load_patch, open_device
from warploom.engine.diagnostics import WarploomError
from warploom.engine.drawings.notebook import array_bundle
from warploom.engine.patch.files import EXAMPLES_FOLDER
from warploom.engine.protocol import showing


def shown_pixels(bundle: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Decode the picture of a bundle by another library."""
    return np.asarray(Image.open(io.BytesIO(bundle["image/png"])))


@pytest.mark.parametrize("name", ["photo", "nested", "feedback", "music"])
def test_a_patch_is_a_drawing_of_its_blocks(name: str) -> None:
    """The drawing has each block's title, and lies within its own size."""
    patch = load_patch(EXAMPLES_FOLDER / f"{name}.loom")
    root = ElementTree.fromstring(patch._repr_svg_())
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert all(any((text or "").startswith(patch.title(node)[:30]) for text in texts) for node in patch.nodes)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    # The document's size is rounded.
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(box.get("x", 0)) <= width - float(box.get("width", 0)) + 0.6
        assert 0 <= float(box.get("y", 0)) <= height - float(box.get("height", 0)) + 0.6
    assert "<svg" in Patch()._repr_svg_()


def test_a_picture_is_encoded_as_srgb() -> None:
    """Linear floats become sRGB by IEC 61966-2-1; bytes stay as they are; large pictures are thinned out."""
    linear = np.array([[[0, 0.0031308, 0.5, 1], [2, -1, np.nan, 0.5]]], np.float32)
    assert shown_pixels(array_bundle(linear, "")).tolist() == [[[0, 10, 188, 255], [255, 0, 0, 128]]]
    pixels = np.arange(5 * 7 * 4, dtype=np.uint8).reshape(5, 7, 4)
    np.testing.assert_array_equal(shown_pixels(array_bundle(pixels, "")), pixels)
    assert shown_pixels(array_bundle(np.zeros((1025, 3, 4), np.uint8), "")).shape == (342, 1, 4)


@pytest.mark.parametrize(
    "array",
    [
        np.float32(1.5),
        np.zeros(0, np.int32),
        np.arange(33),
        np.arange(200.0).reshape(20, 10),
        np.zeros((2, 0, 4), np.float32),
        np.zeros((2, 3, 5), np.complex64),
        np.array([(1, 2.0)], [("a", int), ("b", float)]),
    ],
)
def test_other_arrays_are_small_tables(array: np.ndarray[Any, Any]) -> None:
    """Any other array is a table of at most 10 rows and 8 columns, with a mark where something is left out."""
    table = ElementTree.fromstring(array_bundle(np.asarray(array), "<x>")["text/html"])
    lines = [[cell.text for cell in row] for row in table.iter("tr")]
    assert len(lines) <= 12
    assert all(len(line) <= 10 for line in lines)
    if np.size(array) == 200:
        assert lines[1] == ["0", *map(str, range(8)), "…"]
        assert lines[-1] == ["…"]


def test_buffers_reports_and_profiles() -> None:
    """A buffer shows its numbers, and a report and a profile their nodes."""
    device = open_device("host")
    assert "<td" in device.upload(np.arange(3.0))._repr_mimebundle_()["text/html"]
    assert shown_pixels(device.upload(np.zeros((2, 2, 4), np.uint8))._repr_mimebundle_()).shape == (2, 2, 4)
    device.close()
    patch = Patch()
    image = patch.add("image.gradient", width=4, height=2)
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert image.id in report._repr_html_()
        assert "measured frames" in engine.profile()._repr_html_()


class Handle:
    """A display of IPython's, which notes what it shows."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []

    def __call__(self, bundle: dict[str, Any], **options: object) -> "Handle":
        assert options == {"raw": True, "display_id": True}
        self.shown.append(bundle)
        return self

    def update(self, bundle: dict[str, Any], *, raw: bool) -> None:
        """Note the bundle."""
        assert raw
        self.shown.append(bundle)


def test_a_port_is_shown_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step brings a new picture of the port, until the view or the engine is closed."""
    handle = Handle()
    monkeypatch.setattr(showing, "_display", lambda: handle)
    patch = Patch()
    image = patch.add("image.gradient", width=4, height=2)
    numbers = patch.add("io.array", data=np.arange(3.0, dtype=np.float32))
    with Engine(patch, device="host") as engine:
        view, other = engine.show(image["out"], rate=60.0), engine.show(numbers["out"], rate=60.0)
        engine.step()
        until(lambda: len(handle.shown) >= 4)
        pictures = [bundle for bundle in handle.shown if "image/png" in bundle]
        assert shown_pixels(pictures[0]).shape == (2, 4, 4)
        assert any("text/html" in bundle for bundle in handle.shown)
        view.close()
        view.close()
        engine.step()
    other.close()


def test_without_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of IPython, `show` says what to do; a test before this one may have made a console in the process."""
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    patch = Patch()
    image = patch.add("image.gradient", width=4, height=2)
    with Engine(patch, device="host") as engine, pytest.raises(WarploomError, match="must be called in a notebook"):
        engine.show(image["out"])


@pytest.mark.timeout(300)
@pytest.mark.skipif("CI" not in os.environ, reason="takes several seconds: CI runs it, and CI=1 does")
def test_a_notebook_runs() -> None:
    """A notebook shows a patch, a buffer and a live port in a kernel of its own."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    cells = [
        "from warploom import Engine, Patch\npatch = Patch()",
        "image = patch.add('image.gradient', width=8, height=4)\npatch",
        "engine = Engine(patch, device='host')\nengine.step()",
        "engine.buffer(image['out'])",
        "import time\nview = engine.show(image['out'], rate=60.0)\nengine.step()\ntime.sleep(1)\nengine.close()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=200).execute()
    outputs = [{kind for output in cell.outputs for kind in output.get("data", ())} for cell in notebook.cells]
    for kind, found in zip(("image/svg+xml", "text/html", "image/png", "image/png"), outputs[1:], strict=True):
        assert kind in found
