"""Polygons of mesh files: dents, faces of different lengths, strips, and colours of each type."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image

from warploom.blocks.geometry.files.polygons import cut_polygons
from warploom.blocks.geometry.files.shape_files import CLOUDS, Shape, load_shape
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
KINDS = {"float": "f4", "uchar": "u1", "ushort": "u2", "int": "i4"}
#: A square, an arrow whose second corner is a dent, an L, and a triangle.
POINTS = [
    (0, 0),
    (2, 0),
    (2, 2),
    (0, 2),
    (3, 0),
    (4, 1),
    (5, 0),
    (4, 3),
    (6, 0),
    (9, 0),
    (9, 1),
    (7, 1),
    (7, 3),
    (6, 3),
]
FACES = [[0, 1, 2, 3], [4, 5, 6, 7], [9, 10, 11, 12, 13, 8], [0, 7, 2]]
AREAS = [4, 2, 5, 1]


def outline(rng: np.random.Generator, count: int) -> Array:
    """Return a polygon around the origin with dents at random, counter-clockwise."""
    turns = np.sort(rng.choice(4 * count, count, replace=False)) * (np.pi / 2 / count)
    return np.stack([np.cos(turns), np.sin(turns)], axis=1) * rng.uniform(0.2, 1, (count, 1))


def area(flat: Array) -> Any:
    """Return the area of polygons by the shoelace formula, negative for clockwise ones; shape [..., corners, 2]."""
    x, y = flat[..., 0], flat[..., 1]
    return (x * np.roll(y, -1, axis=-1) - np.roll(x, -1, axis=-1) * y).sum(axis=-1) / 2


@pytest.mark.parametrize("seed", range(30))
def test_triangles_cover_a_polygon_once(seed: int) -> None:
    """No triangle is turned over and the areas add up, in any plane, from any corner, in both directions."""
    rng = np.random.default_rng(seed)
    shapes = [outline(rng, int(count)) for count in rng.integers(3, 15, 5)]
    shapes = [np.roll(shape, int(rng.integers(9)), axis=0)[:: int(rng.choice([1, -1]))] for shape in shapes]
    flat = np.concatenate(shapes)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    counts = np.array([len(shape) for shape in shapes])
    triangles, of = cut_polygons(flat @ axes + rng.normal(size=3), counts, np.arange(len(flat)))
    assert np.array_equal(np.bincount(of), counts - 2) and (np.diff(of) >= 0).all()
    areas = area(flat[triangles])
    for place, shape in enumerate(shapes):
        whole = area(shape)
        assert (areas[of == place] * np.sign(whole) > -1e-9).all()
        np.testing.assert_allclose(areas[of == place].sum(), whole, rtol=1e-6, atol=1e-9)


#: A pinch, repeated corners, a spike outwards, a notch that reaches a corner, and a hole that touches one.
TOUCHING = [
    [(0, 0), (2, 2), (4, 0), (4, 4), (2, 2), (0, 4)],
    [(0, 0), (4, 0), (4, 0), (4, 4), (2, 1), (2, 1), (2, 1), (0, 4), (0, 0)],
    [(0, 0), (3, 0), (3, 2), (3, 2), (2, 2), (2, 2), (1, 2), (1, 1), (1, 1), (0, 1)],
    [(0, 0), (4, 0), (4, 4), (2, 4), (2, 6), (2, 4), (0, 4)],
    [(0, 0), (2, 0), (4, 0), (4, 4), (3, 4), (2, 0), (1, 4), (0, 4)],
    [(0, 0), (1, 3), (3, 3), (3, 1), (0, 0), (6, 0), (6, 6), (0, 6)],
]


@pytest.mark.parametrize("shape", TOUCHING)
def test_polygons_may_touch_themselves(shape: list[tuple[int, int]]) -> None:
    """Triangles cover a polygon once whose corners lie at one place, from any corner, in both directions."""
    for start, way in product(range(len(shape)), (1, -1)):
        flat = np.roll(np.array(shape, float), start, axis=0)[::way]
        triangles, _ = cut_polygons(np.pad(flat, ((0, 0), (0, 1))), np.array([len(flat)]), np.arange(len(flat)))
        areas = area(flat[triangles]) * way * np.sign(area(np.array(shape, float)))
        assert (areas >= 0).all() and np.isclose(areas.sum(), abs(area(flat)))


def ply(form: str, elements: list[tuple[str, list[tuple[str, ...]], list[tuple[Any, ...]]]]) -> bytes:
    """Return a PLY file; a property is a type and a name, or the types of a list's length and of its numbers."""
    head, body, order = ["ply", f"format {form} 1.0"], b"", ORDERS[form]
    for name, kinds, rows in elements:
        head += [f"element {name} {len(rows)}", *(f"property {' '.join(kind)}" for kind in kinds)]
        for row in rows:
            parts = list[tuple[str, Any]]()
            for kind, value in zip(kinds, row, strict=True):
                parts += [(kind[1], len(value)), (kind[2], value)] if kind[0] == "list" else [(kind[0], value)]
            if order:
                body += b"".join(np.array(value, order + KINDS[kind]).tobytes() for kind, value in parts)
            else:
                body += (" ".join(str(each) for _, value in parts for each in np.ravel(value)) + "\n").encode()
    return "\n".join([*head, "end_header", ""]).encode() + body


XYZ = [("float", axis) for axis in "xyz"]
CORNERS = ("list", "uchar", "int", "vertex_indices")


def loaded(folder: Path, name: str, held: bytes | str) -> Shape:
    """Return what is read from a file."""
    (folder / name).write_bytes(held if isinstance(held, bytes) else held.encode())
    return load_shape(folder / name, "as stored", CLOUDS)


def areas_of(shape: Shape) -> Any:
    """Return the areas of a mesh's triangles, which lie in the plane of x and y."""
    return area(shape.points[shape.faces][..., :2].astype(np.float64))


def check_faces(shape: Shape) -> None:
    """Check that a mesh has the triangles of FACES."""
    found, ends = areas_of(shape), np.cumsum([len(face) - 2 for face in FACES])
    assert (found > 0).all()
    np.testing.assert_allclose(np.add.reduceat(found, [0, *ends[:-1]]), AREAS)


@pytest.mark.parametrize("form", ORDERS)
def test_faces_of_a_ply_file_may_have_any_lengths(tmp_path: Path, form: str) -> None:
    """Squares, dents and triangles lie in one file, with other numbers and elements around them."""
    points = ("vertex", XYZ, [(*point, 0) for point in POINTS])
    sides = ("edge", [("int", "vertex1"), ("int", "vertex2")], [(0, 1)])
    kinds = [("uchar", "count"), CORNERS, ("list", "uchar", "float", "texcoord"), ("float", "quality")]
    rows = [(k, face, [0.5] * 2 * len(face), k / 2) for k, face in enumerate(FACES)]
    check_faces(loaded(tmp_path, "a.ply", ply(form, [points, ("face", kinds, rows), sides])))
    check_faces(loaded(tmp_path, "b.ply", ply(form, [points, ("face", [CORNERS], [(face,) for face in FACES])])))
    strips = ("tristrips", [("list", "int", "int", "vertex_indices")], [([0, 1, 3, 2, -1, 8, 9, 10],)])
    assert areas_of(loaded(tmp_path, "c.ply", ply(form, [points, strips]))).tolist() == [2, 2, 1.5]


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize(
    ("kind", "full"), [("uchar", 255), ("ushort", 65535), ("ushort", 255), ("int", 255), ("float", 1)]
)
def test_colours_of_a_ply_file_have_any_type(tmp_path: Path, form: str, kind: str, full: int) -> None:
    """Whole numbers have 8 or 16 bits, whatever their type; some programs call them diffuse."""
    shares = np.array([(1, 0.5, 0), (0.25, 1, 0.75), (0, 0, 0.125)])
    stored = shares if kind == "float" else np.rint(shares * full).astype(int)
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    for prefix, faces in (("", []), ("diffuse_", [("face", [CORNERS], [([0, 1, 2],)])])):
        names = [(kind, prefix + name) for name in ("red", "green", "blue")]
        points = [(k, k * k, 0, *row) for k, row in enumerate(stored.tolist())]
        shape = loaded(tmp_path, f"{kind}.ply", ply(form, [("vertex", XYZ + names, points), *faces]))
        np.testing.assert_allclose(shape.colours[:, :3], linear, atol=6e-3)
        np.testing.assert_array_equal(shape.attributes["green"], stored[:, 1].astype(np.float32))
        assert sorted(shape.attributes) == ["blue", "green", "red", "x", "y", "z"]


def test_faces_of_texts_may_have_dents(tmp_path: Path) -> None:
    """OBJ and OFF have the same triangles as PLY; corners keep their normals."""
    points = "".join(f"v {x} {y} 0\n" for x, y in POINTS)
    faces = "".join(f"f {' '.join(f'{corner + 1}//1' for corner in face)}\n" for face in FACES)
    shape = loaded(tmp_path, "a.obj", f"{points}vn 0 0 1\n{faces}")
    check_faces(shape)
    assert (shape.normals[:, 2] == 1).all()
    rows = "".join(f"{x} {y} 0 # a point\n" for x, y in POINTS)
    faces = "".join(f"{len(face)} {' '.join(map(str, face))} 0.5 0.5 0.5\n" for face in FACES)
    check_faces(loaded(tmp_path, "a.off", f"OFF {len(POINTS)} {len(FACES)} 0\n\n{rows}\n{faces}"))


@pytest.mark.parametrize(
    "colours",
    [((255, 0, 0, 255), (0, 0, 255, 51)), ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (("1", "0.", "0"), ("0", "0.", "1"))],
)
def test_an_off_file_has_colours(tmp_path: Path, colours: Any) -> None:
    """They are whole numbers up to 255, or shares, with alpha or without."""
    rows = "".join(f"{x} 0 0 {' '.join(map(str, colour))}\n" for x, colour in enumerate(colours))
    found = loaded(tmp_path, "a.off", f"COFF\n2 0 0\n{rows}").colours
    np.testing.assert_allclose(found, [(1, 0, 0, 1), (0, 0, 1, 0.2 if len(colours[0]) == 4 else 1)], atol=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OFF\n3\n0 0 0\n", "3 points and 0 faces in 1 lines"),
        ("OFF\n2 0 0\n0\n0\n", "a point with 1 numbers instead of 3"),
        ("COFF\n1 0 0\n0 0 0\n", "a point with 3 numbers instead of 6"),
        ("OFF\n3 2 0\n0 0 0\n2 0 0\n2 2 0\n-1 0\n4 0 1 2\n", "a face with fewer corners than it says"),
    ],
)
def test_damage_of_an_off_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    """A file with fewer numbers than it says is refused."""
    with pytest.raises(PatchError, match=f"got: {message}$"):
        loaded(tmp_path, "a.off", text)


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("\n", "\r"), (" ", "\t"), ("\n", "\n \t"), (" 3", " \\\n 3")])
def test_lines_of_an_obj_file_may_have_any_spaces(tmp_path: Path, change: tuple[str, str]) -> None:
    """Tabs, indents, and ends of lines of other systems lose no point."""
    shape = loaded(tmp_path, "a.obj", "v 0 0 0\nv 2 0 0\nv 0 2 0\nf 1 2 3\n".replace(*change))
    assert len(shape.points) == 3 and areas_of(shape).tolist() == [2]


def test_materials_of_an_obj_file_leave_its_points(tmp_path: Path) -> None:
    """Points are not repeated for each material; triangles keep their order, and normals are those of the file."""
    points = "".join(f"v {x} {y} 0\n" for x, y in POINTS)
    text = f"{points}o a\nusemtl one\nf 1 2 4\ng b\nusemtl two\nf 9 10 11\n"
    shape = loaded(tmp_path, "a.obj", text)
    assert len(shape.points) == len(POINTS) and areas_of(shape).tolist() == [2, 1.5]
    (tmp_path / "m.mtl").write_text("newmtl one\nKd 1 0 0\nnewmtl two\nKd 0 0 1\n")
    shape = loaded(tmp_path, "b.obj", f"mtllib m.mtl\n{text}")
    assert len(shape.points) == 6 and areas_of(shape).tolist() == [2, 1.5]
    assert shape.colours[shape.faces][:, 0, :3].tolist() == [[1, 0, 0], [0, 0, 1]]
    text = text.replace("f 1 2 4", "vn 1 0 0\nvn 0 1 0\nf 1//1 2//1 4//1").replace("9 10 11", "9//2 10//2 11//2")
    shape = loaded(tmp_path, "c.obj", f"mtllib m.mtl\n{text}")
    assert shape.normals[shape.faces][:, :, :3].tolist() == [[[1, 0, 0]] * 3, [[0, 1, 0]] * 3]
    shape = loaded(tmp_path, "d.obj", text.replace("9//2 10//2 11//2", "4//2 1//2 2//2"))  # points have two normals
    assert shape.normals[shape.faces][:, :, :3].tolist() == [[[1, 0, 0]] * 3, [[0, 1, 0]] * 3]


def test_a_file_beside_a_mesh_is_read_again(tmp_path: Path) -> None:
    """A mesh whose own text stays has the new colours of its materials, also of those that were missing."""
    text = "mtllib m.mtl\nv 0 0 0\nv 2 0 0\nv 0 2 0\nusemtl one\nf 1 2 3\n"
    found = [loaded(tmp_path, "a.obj", text).colours[0, :3].tolist()]
    for colour in ("1 0 0", "0 0 1"):
        (tmp_path / "m.mtl").write_text(f"newmtl one\nKd {colour}\n")
        found += [loaded(tmp_path, "a.obj", text).colours[0, :3].tolist() for _ in range(2)]
    assert found[1:] == [[1, 0, 0]] * 2 + [[0, 0, 1]] * 2 and found[0] not in found[1:]


@pytest.mark.parametrize("places", [False, True])
def test_a_mesh_without_a_colour_is_white(tmp_path: Path, places: bool) -> None:
    """A material may lack a colour, its texture or itself, with places in a texture or without."""
    face = "vt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n" if places else "f 1 2 3\n"
    text = f"mtllib m.mtl\nv 0 0 0\nv 2 0 0\nv 0 2 0\nusemtl one\n{face}"
    for materials in (None, "newmtl one\nmap_Kd none.png\n", "newmtl two\nKd 1 0 0\n", "newmtl one\nKa 1 0 0\n"):
        if materials is not None:
            (tmp_path / "m.mtl").write_text(materials)
        assert (loaded(tmp_path, "a.obj", text).colours == 1).all()


@pytest.mark.parametrize("suffix", [".glb", ".obj"])
def test_points_have_the_colours_of_their_texture(tmp_path: Path, suffix: str) -> None:
    """A texture is sRGB, and a glTF model's factor is linear."""
    texture = Image.fromarray(np.full((4, 4, 3), (255, 188, 0), np.uint8))
    model = trimesh.creation.box()
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=texture, baseColorFactor=(128, 255, 255, 255))
    if suffix == ".obj":
        material = trimesh.visual.material.SimpleMaterial(image=texture)
    model.visual = trimesh.visual.TextureVisuals(uv=np.full((len(model.vertices), 2), 0.5), material=material)
    held, others = model.export(file_type=suffix[1:]), dict[str, bytes]()
    if suffix == ".obj":
        held, others = trimesh.exchange.obj.export_obj(model, return_texture=True)
    for name, part in others.items():
        (tmp_path / name).write_bytes(part)
    expected = [1 if suffix == ".obj" else 128 / 255, ((188 / 255 + 0.055) / 1.055) ** 2.4, 0, 1]
    found = loaded(tmp_path, f"a{suffix}", held).colours
    np.testing.assert_allclose(found, np.tile(expected, (len(found), 1)), atol=1e-6)
