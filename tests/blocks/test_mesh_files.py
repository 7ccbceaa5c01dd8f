"""Meshes and clouds as different programs write them, compared with what the formats define."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.blocks.geometry.files.shape_files import CLOUDS, MESHES, Shape, load_shape
from warploom.engine.diagnostics import PatchError

FACET = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet\n"
KINDS = {"i1": 5120, "u1": 5121, "<i2": 5122, "<u2": 5123, "<u4": 5125, "<f4": 5126}


class Model:
    """A glTF model that is made of accessors."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.held = rng, b""
        self.tree: dict[str, Any] = {"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}]}
        self.tree |= {"accessors": [], "bufferViews": [], "meshes": [{"primitives": []}]}

    def view(self, rows: Any, gap: int = 0) -> int:
        """Add the bytes of rows with a gap behind each, and return the place of their view."""
        stored = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
        stored = np.pad(stored, ((0, 0), (0, gap)), constant_values=99)
        view = {"buffer": 0, "byteOffset": len(self.held), "byteLength": stored.size}
        if gap:
            view["byteStride"] = stored.shape[1]
        self.held += stored.tobytes() + bytes(self.rng.integers(0, 8))
        self.tree["bufferViews"].append(view)
        return len(self.tree["bufferViews"]) - 1

    def accessor(self, rows: Any, *, scaled: bool = False, sparse: bool = False) -> int:
        """Add rows of numbers, stored in one of the ways that the format has, and return their place."""
        width, kind = rows.shape[1], rows.dtype.str.replace("|", "")
        made: dict[str, Any] = {"componentType": KINDS[kind], "count": len(rows), "normalized": scaled}
        made["type"] = "SCALAR" if width == 1 else f"VEC{width}"
        dense = rows
        if sparse:
            changed = np.flatnonzero(self.rng.random(len(rows)) < 0.5)
            if self.rng.random() < 0.5:
                changed = np.flatnonzero(rows.any(axis=1))  # the others are zeros that no bytes hold
            elif len(changed):
                dense = rows.copy()
                dense[changed] = 77
            if len(changed):
                made["sparse"] = {"count": len(changed), "values": {"bufferView": self.view(rows[changed])}}
                places = changed[:, np.newaxis].astype("<u2")
                made["sparse"]["indices"] = {"bufferView": self.view(places), "componentType": 5123}
        if "sparse" not in made or (dense is not rows):
            made["bufferView"] = self.view(dense, int(self.rng.choice([0, 4])))
        self.tree["accessors"].append(made)
        return len(self.tree["accessors"]) - 1

    def write(self, path: Path, *, binary: bool) -> None:
        tree, held = dict(self.tree), self.held
        tree["buffers"] = [{"byteLength": len(held)}]
        if not binary:
            tree["buffers"][0]["uri"] = "data:;base64," + base64.b64encode(held).decode()
        text = json.dumps(tree).encode()
        if not binary:
            path.write_bytes(text)
            return
        parts = (text, b"JSON"), (held, b"BIN\0")
        body = b"".join(len(part).to_bytes(4, "little") + kind + part for part, kind in parts)
        path.write_bytes(b"glTF" + (2).to_bytes(4, "little") + (12 + len(body)).to_bytes(4, "little") + body)


@pytest.mark.parametrize("seed", range(8))
def test_numbers_of_a_gltf_model_may_be_stored_in_any_way(tmp_path: Path, seed: int) -> None:
    """Sparse, scaled, apart or whole numbers give the same points, colours and triangles, and factors keep digits."""
    rng = np.random.default_rng(seed)
    model = Model(rng)
    expected = list[tuple[Any, Any, Any]]()
    factor = rng.random(4).round(6)
    model.tree["materials"] = [{}, {"pbrMetallicRoughness": {"baseColorFactor": factor.tolist()}}]
    for _ in range(2):
        count, sparse = int(rng.integers(3, 9)), bool(rng.random() < 0.5)
        kind = rng.choice(["<f4", "i1", "u1", "<i2", "<u2"])
        scaled = kind != "<f4" and bool(rng.random() < 0.7)
        full = np.iinfo(kind).max if kind != "<f4" else 1
        low = -full if kind in ("i1", "<i2", "<f4") else 0
        points = (rng.uniform(low, full, (count, 3)) * (rng.random((count, 1)) < 0.8)).astype(kind)
        shade = str(rng.choice(["u1", "<u2", "<f4"]))
        most = np.iinfo(shade).max if shade != "<f4" else 1
        colours = (rng.random((count, 4)) * most).astype(shade)
        corners, mode = rng.integers(0, count, 3 * int(rng.integers(1, 4))), int(rng.choice([4, 6]))
        part: dict[str, Any] = {"mode": mode, "material": int(rng.integers(2))}
        part["attributes"] = {
            "POSITION": model.accessor(points, scaled=scaled, sparse=sparse),
            "COLOR_0": model.accessor(colours, scaled=bool(rng.random() < 0.5), sparse=sparse),
        }
        part["indices"] = model.accessor(corners.astype(rng.choice(["u1", "<u2", "<u4"]))[:, np.newaxis])
        model.tree["meshes"][0]["primitives"].append(part)
        triangles = corners.reshape(-1, 3)
        if mode == 6:
            triangles = np.array([(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)])
        expected.append(
            (
                (points / full if scaled else points)[triangles],
                (colours / most * (factor if part["material"] else 1))[triangles],
                triangles,
            )
        )
    name = tmp_path / ("a.glb" if seed % 2 else "a.gltf")
    model.write(name, binary=seed % 2 == 1)
    shape = load_shape(name, "as stored", MESHES)
    found = shape.points[shape.faces][..., :3], shape.colours[shape.faces]
    assert len(shape.faces) == sum(len(triangles) for _, _, triangles in expected)
    for k in (0, 1):
        wanted = np.concatenate([part[k] for part in expected])
        np.testing.assert_allclose(found[k], wanted, rtol=1e-6, atol=1e-6)


def test_a_wrong_number_of_a_gltf_model_is_named(tmp_path: Path) -> None:
    """Each number of a model is replaced by a wrong one: what is refused says where, in the words of the format."""
    model = Model(np.random.default_rng(2))
    points, corners = np.eye(3, dtype="<f4"), np.arange(3, dtype="<u2")[:, np.newaxis]
    model.tree["meshes"][0]["primitives"] = [
        {"attributes": {"POSITION": model.accessor(points)}, "indices": model.accessor(corners), "material": 0}
    ]
    model.tree["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": [0.5, 1, 1, 1]}}]
    model.tree["nodes"] = [{"children": [1]}, {"mesh": 0, "translation": [1, 2, 3]}]
    refused = 0
    for owner, key in _places(model.tree):
        right = owner[key]
        for wrong in (-3, 10**9, 2.5, "x", None, [0], {}):
            owner[key] = wrong
            model.write(tmp_path / "a.gltf", binary=False)
            try:
                shape = load_shape(tmp_path / "a.gltf", "as stored", MESHES)
            except PatchError as problem:
                refused += 1
                text = str(problem).partition("got: ")[2]
                assert text and not any(word in text for word in ("index out of", "cannot reshape", "Error")), text
            else:
                assert len(shape.points) == 3
        owner[key] = right
    assert refused > 50


def _places(item: Any) -> list[tuple[Any, Any]]:
    """Return the containers and keys of all values of a JSON."""
    pairs = list(item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ())
    return [place for key, value in pairs for place in ((item, key), *_places(value))]


def test_a_node_has_one_parent(tmp_path: Path) -> None:
    """A node below itself would have no place, and its walk no end."""
    model = Model(np.random.default_rng(2))
    model.tree["meshes"][0]["primitives"] = [{"attributes": {"POSITION": model.accessor(np.eye(3, dtype="<f4"))}}]
    model.tree["nodes"] = [{"children": [1]}, {"mesh": 0, "children": [0]}]
    model.write(tmp_path / "a.glb", binary=True)
    with pytest.raises(PatchError, match="node 0 with two parents"):
        load_shape(tmp_path / "a.glb", "as stored", MESHES)


@pytest.mark.parametrize("seed", range(6))
def test_corners_of_an_obj_file_may_differ(tmp_path: Path, seed: int) -> None:
    """Each face, and each corner, may have a texture place, a normal, both or none; points may lack a colour."""
    rng = np.random.default_rng(seed)
    points, coloured = rng.normal(size=(9, 3)).round(3), rng.random(9) < 0.5
    normals = np.eye(3)
    lines = [f"v {' '.join(map(str, p))}{' 0 0 1' * bool(c)}" for p, c in zip(points, coloured, strict=True)]
    lines += [f"vn {' '.join(map(str, row))}" for row in normals] + ["vt 0 0", "vt 0.5 1"]
    faces, wanted = rng.integers(1, 10, (12, 3)), dict[int, Any]()
    faces[:, 1:] = (faces[:, :1] + np.array([1, 3]) - 1) % 9 + 1  # three different points
    for row, face in enumerate(faces):
        kinds = rng.integers(0, 4, 3) if row % 2 else np.full(3, rng.integers(0, 4))
        own = rng.integers(1, 4, 3)
        ends = [("", "/1", f"//{n}", f"/2/{n}")[kind] for kind, n in zip(kinds, own, strict=True)]
        lines.append("f " + " ".join(f"{point}{end}" for point, end in zip(face, ends, strict=True)))
        if (kinds > 1).all():
            wanted[row] = normals[own - 1]
    shape = _loaded(tmp_path / "a.obj", "\n".join(lines))
    np.testing.assert_allclose(shape.points[shape.faces][..., :3], points[faces - 1], atol=1e-6)
    for row, normal in wanted.items():
        np.testing.assert_allclose(shape.normals[shape.faces[row]][:, :3], normal, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.obj", "v 0 0 0\nv 1 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n", "2 numbers instead of 3 for v in line 2"),
        ("a.obj", "v 0 0 0\nv 1 0,5 0\nv 0 1 0\nf 1 2 3\n", "0,5 for a number in line 2"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/2/3/4 2 3\n", "line 4 with 1/2/3/4 for a corner"),
        ("a.xyz", "0 0 0\n1 2\n", "2 numbers in line 2, but 3 in line 1"),
        ("a.xyz", "# points\n0 0 0\n1 2 x\n", "x for a number in line 3"),
        ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 x\n1 1 0\n3 0 1 2\n", "x for a number"),
        ("a.stl", f"solid a\n{FACET.replace('1 1 0', '1 x 0')}endsolid\n", "x for a number in line 6"),
        ("a.stl", f"solid a\n{FACET}", "a text without its end, endsolid"),
    ],
)
def test_a_word_that_is_no_number_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    """A row with too few numbers must not be left out, which would move the corners of all faces behind it."""
    with pytest.raises(PatchError, match=f"{name} must be readable as points or triangles, got: .*{message}"):
        _loaded(tmp_path / name, text)


def test_commas_separate_decimals_or_columns(tmp_path: Path) -> None:
    """Where all numbers of an XYZ file have at most one comma between digits, it stands for a point."""
    for text in ("0,5 1,25 -2\n3,5 4 5,75\n", "0,5;1,25;-2\n3,5;4;5,75\n", "0.5,1.25,-2\n3.5,4,5.75\n"):
        found = _loaded(tmp_path / "a.xyz", text).points[:, :3]
        np.testing.assert_array_equal(found, [[0.5, 1.25, -2], [3.5, 4, 5.75]])


def test_a_ply_text_has_all_its_rows(tmp_path: Path) -> None:
    """A text that was cut off is refused, and so is one with more numbers than its header names."""
    head = "ply\nformat ascii 1.0\nelement vertex 3\n" + "".join(f"property float {axis}\n" for axis in "xyz")
    rows = "end_header\n0 0 0\n1 2 3\n4 5 6\n"
    np.testing.assert_array_equal(_loaded(tmp_path / "a.ply", head + rows).points[1], (1, 2, 3, 1))
    for change, message in (
        (("4 5 6\n", ""), "3 rows of vertex in a file that ends before"),
        (("1 2 3", "1 2 3 9"), "10 numbers instead of 9"),
        (("1 2 3", "1 2 ?"), r"\? for a number"),
        (("vertex 3", "vertex -3"), "-3 rows of vertex"),
        (("float y", "real y"), "numbers of the unknown type real in vertex"),
        (("property float z\n", ""), "no points with x, y and z"),
        (("property float z", "property list float z"), "a header with the line property list float z"),
        (("end_header", "end"), "a PLY without the end of its header"),
    ):
        with pytest.raises(PatchError, match=f"got: {message}$"):
            _loaded(tmp_path / "a.ply", (head + rows).replace(*change))


def _loaded(path: Path, text: str) -> Shape:
    path.write_text(text)
    return load_shape(path, "as stored", CLOUDS)
