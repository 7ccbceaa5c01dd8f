"""A kernel's textures are inputs of its block, with edges and filters that are live."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from warploom import Engine, Patch, UpdateLevel
from warploom.engine.kernel_sources.cuda.texture_inputs import with_textures
from warploom.engine.patch.changes import PortRef

ZOOM = """#include "warploom/texture.h"
// Look into a picture and into a field.
extern "C" __global__ void zoom(
    const Texture<float> image,  // the picture, from near
    Volume<float> field,        // what moves it
    float* __restrict__ out,
    float scale,                 // [0.1, 10] = 1.7
    int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float moved = field.sample({x * 0.31f, y * 0.27f, (x + y) * 0.1f});
    out[y * width + x] = image.sample(float2{(x + 0.5f) * scale - 3.0f, (y + 0.5f) * scale - 2.0f}) + moved;
}
"""
MODES = {0: "nearest", 1: "grid-wrap", 2: "reflect", 3: "grid-constant"}


def _sampled(data: np.ndarray, at: list[np.ndarray], edge: int, is_linear: bool) -> np.ndarray:
    if not is_linear:
        return ndimage.map_coordinates(data, [np.floor(axis) for axis in at], order=0, mode=MODES[edge])
    return ndimage.map_coordinates(data, [axis - 0.5 for axis in at], order=1, mode=MODES[edge])


@pytest.mark.parametrize("constants", ["", "image_edge, field_filter"])
def test_textures_are_inputs_with_live_edges_and_filters(tmp_path: Path, constants: str) -> None:
    """Samples are those of scipy for each edge and filter, which are set without a compile unless they are pinned."""
    random = np.random.default_rng(4)
    image, field = random.normal(size=(33, 31)).astype(np.float32), random.normal(size=(3, 5, 7)).astype(np.float32)
    file, patch = tmp_path / "zoom.cu", Patch()
    file.write_text(ZOOM)
    zoom = patch.add("kernel.file", node_id="zoom", file=str(file), constants=constants)
    for name, data in (("image", image), ("field", field)):
        patch.connect(patch.add("io.array", data=data)["out"], zoom[name])
    found = patch.block_type("zoom")
    assert found is not None
    assert [(port.name, str(port.dtype), port.doc) for port in found.ports.values() if port.is_input] == [
        ("image", "f32", "The picture, from near"),
        ("field", "f32", "What moves it"),
    ]
    assert (found.parameters["image_edge"].maximum, found.parameters["image_filter"].default) == (3, 1)
    y, x = np.mgrid[0:33, 0:31].astype(np.float32)
    with Engine(patch, device="host") as engine:
        for edge, is_linear in [(0, True), (1, False), (2, True), (3, True)]:
            patch.set(
                zoom, image_edge=edge, image_filter=int(is_linear), field_edge=edge, field_filter=int(not is_linear)
            )
            report = engine.step()
            assert report.diagnostics == ()
            near = _sampled(image, [(y + 0.5) * np.float32(1.7) - 2, (x + 0.5) * np.float32(1.7) - 3], edge, is_linear)
            places = [(x + y) * np.float32(0.1), y * np.float32(0.27), x * np.float32(0.31)]
            moved = _sampled(field, places, edge, not is_linear)
            np.testing.assert_allclose(engine.read(PortRef("zoom", "out")), near + moved, atol=2e-5)
        assert report.update_level is (UpdateLevel.CODE if constants else UpdateLevel.HOT)


@pytest.mark.parametrize(
    ("written", "pixel"),
    [
        ("const Texture<float>& image", "float"),
        ("Texture<float> const &image", "float"),
        ("Texture < unsigned char > const image", "unsigned char"),
        ("Texture<float>image", "float"),
    ],
)
def test_textures_are_found_as_c_writes_them(written: str, pixel: str) -> None:
    """References, spaces and types of two words make the same input."""
    made = with_textures(ZOOM.replace("const Texture<float> image", written))
    assert f"const {pixel}* __restrict__ image," in made
    assert "Texture" not in made


def test_a_text_without_the_header_stays_as_it_is() -> None:
    """A struct of a person's own that is called Texture is none of the header's, and lines keep their numbers."""
    own = ZOOM.replace('#include "warploom/texture.h"', "template <class T> struct Texture { T* p; };")
    assert with_textures(own) == own
    assert with_textures(ZOOM).count("\n") == ZOOM.count("\n")
    assert "filter" not in with_textures(ZOOM.replace("sample", "linear"))
