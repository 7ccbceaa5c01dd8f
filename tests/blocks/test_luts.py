"""Tables of colours from .cube files, compared with numpy's interpolation, and what is wrong in them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.blocks.running import problems
from warploom import Engine, Patch
from warploom.blocks.color.cube_files import load_cube
from warploom.blocks.io.colour_spaces import linear_to_srgb, srgb_to_linear
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError


def written(path: Path, table: Any, kind: str, *settings: str) -> Path:
    """Write a table of shape (..., 3) as a file."""
    rows = "\n".join(" ".join(f"{value:.9g}" for value in row) for row in table.reshape(-1, 3))
    path.write_text("\n".join(['TITLE "A # test"', "# a comment", f"LUT_{kind}_SIZE {len(table)}", *settings, rows]))
    return path


def graded(device: Device, image: Any, file: Path, **parameters: Any) -> Any:
    """Return an image after a table."""
    patch = Patch()
    node = patch.add("image.lut", file=file, **parameters)
    patch.connect(patch.add("io.image_array", data=image)["out"], node["image"])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        return engine.read(node["out"])


def random(*shape: int, seed: int = 1) -> Any:
    """Return random colours, some beyond 0 and 1."""
    return (np.random.default_rng(seed).random(shape) * 1.2 - 0.1).astype(np.float32)


def in_tetrahedra(table: Any, color: Any, low: Any, high: Any) -> Any:
    """Return colours between the entries of a cube [blue, green, red]: along the axes, the longest way first."""
    size = len(table)
    at = np.clip((color - low) / (np.subtract(high, low)), 0, 1) * (size - 1)
    cell = np.minimum(at.astype(int), size - 2)
    found = np.zeros(color.shape)
    for index in np.ndindex(color.shape[:-1]):
        corner, way = cell[index].copy(), (at - cell)[index]
        value = table[tuple(corner[::-1])].astype(float)
        for axis in np.argsort(-way, kind="stable"):
            before = table[tuple(corner[::-1])]
            corner[axis] += 1
            value = value + way[axis] * (table[tuple(corner[::-1])] - before)
        found[index] = value
    return found


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (32, 33)])
@pytest.mark.parametrize("size", [2, 5, 17])
def test_cubes_are_interpolated_in_tetrahedra(
    device: Device, tmp_path: Path, shape: tuple[int, int], size: int
) -> None:
    """Red is fastest, the domain is the file's, colours beyond it are its nearest ones, and alpha stays."""
    table, image = random(size, size, size, 3, seed=size), random(*shape, 4)
    low, high = (-0.05, 0.0, 0.1), (1.0, 0.9, 1.05)
    file = written(tmp_path / "a.cube", table, "3D", "DOMAIN_MIN -0.05 0 0.1", "DOMAIN_MAX 1.0 0.9 1.05")
    found = graded(device, image, file, space="linear")
    np.testing.assert_allclose(found[..., :3], in_tetrahedra(table, image[..., :3], low, high), atol=1e-5)
    np.testing.assert_array_equal(found[..., 3], image[..., 3])


def test_curves_are_numpys_interpolation(device: Device, tmp_path: Path) -> None:
    """Each channel has a curve of its own, which is applied to encoded light, and mixed by the amount."""
    table, image = random(9, 3, seed=3), random(6, 11, 4)
    found = graded(device, image, written(tmp_path / "a.cube", table, "1D"), amount=0.75)
    light = image[..., :3].astype(float)
    encoded = np.sign(light) * linear_to_srgb(np.abs(light))
    curves = [np.interp(encoded[..., c], np.linspace(0, 1, 9), table[:, c]) for c in range(3)]
    wanted = np.stack([np.sign(each) * srgb_to_linear(np.abs(each)) for each in curves], -1)
    np.testing.assert_allclose(found[..., :3], light + 0.75 * (wanted - light), atol=2e-5)


@pytest.mark.parametrize("kind", ["1D", "3D"])
def test_a_range_of_all_colours_is_a_domain(tmp_path: Path, kind: str) -> None:
    """DaVinci Resolve writes the range of the three colours in one line."""
    table = load_cube(
        written(
            tmp_path / "a.cube",
            random(*[2] * (3 if kind == "3D" else 1), 3, seed=1),
            kind,
            f"LUT_{kind}_INPUT_RANGE -0.5 2",
        )
    )
    assert (table.low, table.high) == ((-0.5,) * 3, (2.0,) * 3)


def test_a_title_may_be_in_latin_1(tmp_path: Path) -> None:
    """Older programs write names of their makers so; a file that is missing is named."""
    file = tmp_path / "a.cube"
    file.write_bytes('TITLE "caf\xe9"\r\n# \xa9\r\nLUT_1D_SIZE 2\r\n0 0 0\r\n1 .5 1\r\n'.encode("latin-1"))
    np.testing.assert_array_equal(load_cube(file).entries, [[0, 0, 0], [1, 0.5, 1]])
    with pytest.raises(PatchError, match=r"must exist, got .*b\.cube"):
        load_cube(tmp_path / "b.cube")


def test_an_even_table_changes_nothing(device: Device, tmp_path: Path) -> None:
    """The cube in which each entry is its own place leaves colours from 0 to 1 as they are."""
    axis = np.linspace(0, 1, 4)
    blue, green, red = np.meshgrid(axis, axis, axis, indexing="ij")
    file = written(tmp_path / "a.cube", np.stack([red, green, blue], -1), "3D")
    image = np.clip(random(9, 9, 4), 0, 1)
    for space in ("sRGB", "linear"):
        np.testing.assert_allclose(graded(device, image, file, space=space), image, atol=2e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have LUT_3D_SIZE or LUT_1D_SIZE once, got 0"),
        ("LUT_3D_SIZE 2\nLUT_1D_SIZE 2\n", "a cube or curves, got both; export the cube alone"),
        ("LUT_3D_SIZE 1\n0 0 0", "LUT_3D_SIZE of .* must be 2 to 256, got 1"),
        ("LUT_3D_SIZE nan\n0 0 0", "must be 2 to 256, got nan"),
        ("LUT_3D_SIZE 1e9\n0 0 0", "must be 2 to 256"),
        ("LUT_3D_SIZE two\n", "line 1 of .* must be a setting or three numbers, got 'LUT_3D_SIZE two'"),
        ("LUT_1D_SIZE 2\n0 0 0\n1 1\n", "line 3 of .* three numbers, got '1 1'"),
        ("LUT_1D_SIZE 2\n0 0 0\n", "must have 2 rows for its size, got 1"),
        ("LUT_1D_SIZE 2\nDOMAIN_MIN 1 0 0\n0 0 0\n1 1 1", "DOMAIN_MIN of .* must be below DOMAIN_MAX"),
        ("LUT_1D_SIZE 2\nDOMAIN_MAX nan 1 1\n0 0 0\n1 1 1", "must be below DOMAIN_MAX"),
        (b"\xff\xfe\x00", "line 1 of .* must be a setting"),
        ("LUT_1D_SIZE 2\n0 0 0\n-inf 1 1\n", "line 3 of .* three numbers, got '-inf 1 1'"),
    ],
)
def test_wrong_tables_are_named(tmp_path: Path, text: str | bytes, message: str) -> None:
    """A file that is no table of colours gives one message with the file and what is wrong."""
    file = tmp_path / "a.cube"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    patch = Patch()
    node = patch.add("image.lut", file=file)
    patch.connect(patch.add("io.image_array", data=np.zeros((2, 2, 4), np.float32))["out"], node["image"])
    found = problems(patch)
    assert len(found) == 1
    assert re.search(message, found[0][2]), found
