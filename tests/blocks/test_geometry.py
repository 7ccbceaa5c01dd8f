"""Points and meshes: what is loaded from each format, what is saved, and pictures of clouds."""

import base64
import json
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest
import trimesh

from tests.blocks.running import problems, run
from warploom import Engine, Patch
from warploom.blocks.geometry.files.shape_files import CLOUDS, MESHES, encode_points, load_shape
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]
#: A PLY file whose end is missing.
CUT = encode_points(np.ones((2, 3, 4), np.float32), ".ply")[:-9]


def _linear(stored: Array) -> Array:
    """Return the light of sRGB shares by the curve's definition (IEC 61966-2-1)."""
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("suffix", MESHES)
def test_a_mesh_of_each_format_is_the_same(tmp_path: Path, suffix: str) -> None:
    """Triangles have the corners that were written, in their order, and normals of length 1 that point outwards."""
    ball = trimesh.creation.icosphere(1, radius=2.0)
    if suffix == ".gltf":
        for name, part in trimesh.Scene(ball).export(file_type="gltf").items():
            (tmp_path / name.replace("model", "mesh")).write_bytes(part)
    else:
        ball.export(tmp_path / f"mesh{suffix}")
    shape = load_shape(tmp_path / f"mesh{suffix}", "as stored", MESHES)
    assert shape.points.dtype == shape.normals.dtype == np.float32 and shape.faces.dtype == np.int32
    corners = shape.points[shape.faces]
    np.testing.assert_allclose(corners[..., :3], ball.vertices[ball.faces], atol=1e-6)
    assert (corners[..., 3] == 1).all() and not shape.normals[:, 3].any() and (shape.colours == 1).all()
    np.testing.assert_allclose(np.linalg.norm(shape.normals, axis=1), 1, atol=1e-6)
    assert ((shape.normals * shape.points).sum(axis=1) > 1.5).all()
    unit = load_shape(tmp_path / f"mesh{suffix}", "unit size", MESHES)
    np.testing.assert_allclose(unit.points[:, :3], shape.points[:, :3] / 2, atol=1e-6)


def test_objects_of_a_scene_become_one(tmp_path: Path) -> None:
    """Each object keeps its place, size and colour."""
    scene = trimesh.Scene()
    for place, colour in ((0, (255, 0, 0, 255)), (10, (0, 128, 0, 255))):
        box = trimesh.creation.box((1, 2, 3))
        box.visual.vertex_colors = np.tile(np.uint8(colour), (len(box.vertices), 1))
        scene.add_geometry(box, transform=trimesh.transformations.translation_matrix((place, 0, 0)))
    (tmp_path / "a.glb").write_bytes(scene.export(file_type="glb"))
    shape = load_shape(tmp_path / "a.glb", "as stored", MESHES)
    assert len(shape.faces) == 24
    right = shape.points[:, 0] > 5
    np.testing.assert_allclose(shape.points[right][:, :3].mean(axis=0), (10, 0, 0), atol=1e-6)
    np.testing.assert_allclose(shape.colours[~right], np.tile((1, 0, 0, 1), ((~right).sum(), 1)), atol=1e-6)
    np.testing.assert_allclose(shape.colours[right][:, 1], 128 / 255, atol=1e-6)


@pytest.mark.parametrize("kind", ["u1", "u2", "f4"])
@pytest.mark.parametrize("factor", [(1, 1, 1, 1), (0.6, 0.2, 1, 0.4)])
@pytest.mark.parametrize("width", [0, 3, 4])
def test_colours_of_a_gltf_model_are_linear(tmp_path: Path, kind: str, factor: tuple[float, ...], width: int) -> None:
    """Colours of points have any type, and are multiplied by the material's."""
    full = 1 if kind == "f4" else np.iinfo(kind).max
    stored = (np.random.default_rng(1).random((4, width)) * full).astype(kind)
    bodies, attributes = [np.eye(4, 3, dtype="<f4")], {"POSITION": 0}
    accessors = [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}]
    if width:
        bodies.append(np.pad(stored, ((0, 0), (0, 4 - width))) if kind != "f4" else stored)
        attributes["COLOR_0"] = 1
        component = {"u1": 5121, "u2": 5123, "f4": 5126}[kind]
        accessors.append({"bufferView": 1, "componentType": component, "count": 4, "type": f"VEC{width}"})
        accessors[1]["normalized"] = kind != "f4"
    held = b"".join(body.tobytes() for body in bodies)
    views = [
        {"buffer": 0, "byteOffset": 48 * place, "byteLength": body.nbytes}
        | ({"byteStride": body.strides[0]} if place else {})
        for place, body in enumerate(bodies)
    ]
    model = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": attributes, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": factor}}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(held), "uri": "data:;base64," + base64.b64encode(held).decode()}],
    }
    model["meshes"][0]["primitives"][0]["mode"] = 5
    (tmp_path / "a.gltf").write_text(json.dumps(model))
    expected = np.ones((4, 4))
    expected[:, :width] = stored / full
    found = load_shape(tmp_path / "a.gltf", "as stored", MESHES).colours
    np.testing.assert_allclose(found, expected * factor, atol=2.1 / 255)


@pytest.mark.parametrize("scale", [(1, 1, 1), (1, 2, 4), (-1, 3, 1)])
def test_normals_of_a_gltf_model_are_those_of_the_file(tmp_path: Path, scale: tuple[float, ...]) -> None:
    """Objects in other places turn them by the inverse of the transposed matrix."""
    normals = np.random.default_rng(3).normal(size=(3, 3)).astype("<f4")
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    held = np.eye(3, dtype="<f4").tobytes() + normals.tobytes()
    turn = trimesh.transformations.rotation_matrix(0.7, (1, 2, 3))
    matrix = turn @ np.diag((*scale, 1))
    model = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0}, {"mesh": 0, "matrix": matrix.T.ravel().tolist()}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1}}]}],
        "accessors": [{"bufferView": k, "componentType": 5126, "count": 3, "type": "VEC3"} for k in (0, 1)],
        "bufferViews": [{"buffer": 0, "byteOffset": 36 * k, "byteLength": 36} for k in (0, 1)],
        "buffers": [{"byteLength": 72, "uri": "data:;base64," + base64.b64encode(held).decode()}],
    }
    (tmp_path / "a.gltf").write_text(json.dumps(model))
    shape = load_shape(tmp_path / "a.gltf", "as stored", MESHES)
    turned = normals @ np.linalg.inv(matrix[:3, :3])
    for to, lies in ((matrix[:3, :3], turned), (np.eye(3), normals)):
        lies = lies / np.linalg.norm(lies, axis=1, keepdims=True)
        place = np.abs(shape.points[:, np.newaxis, :3] - to.T).max(axis=2).argmin(axis=0)
        np.testing.assert_allclose(shape.points[place, :3], to.T, atol=1e-6)
        np.testing.assert_allclose(shape.normals[place, :3], lies, atol=1e-6)


def test_a_part_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    """A glTF file can't read the person's other files; a part that it holds itself is fine."""
    (tmp_path / "secret.bin").write_bytes(np.zeros(9, "<f4").tobytes())
    (tmp_path / "model").mkdir()
    held = "data:application/octet-stream;base64," + base64.b64encode(np.eye(3, dtype="<f4").tobytes()).decode()
    for uri, is_read in (("../secret.bin", False), (str(tmp_path / "secret.bin"), False), (held, True)):
        model = {
            "asset": {"version": "2.0"},
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}],
            "buffers": [{"uri": uri, "byteLength": 36}],
        }
        path = tmp_path / "model" / "a.gltf"
        path.write_text(json.dumps(model))
        if is_read:
            assert len(load_shape(path, "as stored", MESHES).points) == 3
        else:
            with pytest.raises(PatchError, match="outside its folder"):
                load_shape(path, "as stored", MESHES)


@pytest.mark.parametrize("suffix", [".las", ".laz"])
@pytest.mark.parametrize("largest", [255, 65535])
def test_scans_keep_the_digits_of_a_map(tmp_path: Path, suffix: str, largest: int) -> None:
    """Positions a thousand kilometres from the origin keep millimetres; colours may have 8 or 16 bits."""
    rng = np.random.default_rng(3)
    points = rng.uniform(-50, 50, (501, 3)).round(3) + np.array([1_234_567.0, 5_432_100.0, 300.0])
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.scales, header.offsets = [0.001] * 3, [1_234_000.0, 5_432_000.0, 0.0]
    scan = laspy.LasData(header)
    scan.x, scan.y, scan.z = points.T
    colours = rng.integers(0, largest + 1, (501, 3)).astype(np.uint16)
    colours[0] = largest
    scan.red, scan.green, scan.blue = colours.T
    scan.intensity = np.arange(501, dtype=np.uint16)
    scan.write(tmp_path / f"a{suffix}")
    patch = Patch()
    load = patch.add("geometry.load_points", file=tmp_path / f"a{suffix}", fit="centred", up="z", attribute="intensity")
    found, light, value = run(patch, load["points"], load["colors"], load["value"])
    centred = points - (points.min(axis=0) + points.max(axis=0)) / 2
    np.testing.assert_allclose(found[:, :3], np.stack([centred[:, 0], centred[:, 2], -centred[:, 1]], 1), atol=1e-4)
    np.testing.assert_allclose(light[:, :3], _linear(colours / largest), atol=1e-6)
    np.testing.assert_array_equal(value, np.arange(501))
    patch.set(load, attribute="speed")
    assert "attribute must be one of the file's (" in problems(patch)[0][2]


def test_a_scan_that_names_too_much_is_refused(tmp_path: Path) -> None:
    """A damaged number of points or chunks, for which no memory is enough, doesn't end the process."""
    for version, form in (("1.2", 3), ("1.4", 7)):
        header = laspy.LasHeader(point_format=form, version=version)
        header.scales = [0.001] * 3
        scan = laspy.LasData(header)
        scan.x, scan.y, scan.z = np.random.default_rng(3).uniform(-50, 50, (3, 301))
        for suffix in (".las", ".laz"):
            path = tmp_path / f"a{suffix}"
            scan.write(path)
            held = path.read_bytes()
            begin = int.from_bytes(held[96:100], "little")
            harms = [(107 if version == "1.2" else 247, 4, r"4294967295 points in a file that has room for \d+")]
            if suffix == ".laz":
                table = int.from_bytes(held[begin : begin + 8], "little")
                packing = held.index(b"laszip encoded") + 52  # the record's data come after its header
                harms += [(table + 4, 4, "4294967295 chunks in a file"), (begin, 8, "no table of its chunks")]
                harms += [(packing + 13, 3, "chunk that is too large"), (len(held), 0, "")]
            for at, count, text in harms:
                path.write_bytes(held[:at] + b"\xff" * count + held[at + count :])
                if not text:
                    assert len(load_shape(path, "centred", CLOUDS).points) == 301
                    continue
                for first in (0, 5):
                    with pytest.raises(PatchError, match=text):
                        load_shape(path, "centred", CLOUDS, first)


_TRIANGLE = {
    "a.obj": "# caf\u00e9\no #1\nv 0 0 0\nv 1 0 0 # caf\u00e9\nv 0 2 0\t# 3 4\nf 1 2 3 # 1\n",
    "a.off": "OFF\n# caf\u00e9\n3 1 0\n0 0 0\n1 0 0\n0 2 0\n3 0 1 2\n",
    "a.stl": "solid caf\u00e9\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 2 0\n"
    "endloop\nendfacet\nendsolid\n",
    "a.ply": "ply\nformat ascii 1.0\ncomment caf\u00e9\nelement vertex 3\nproperty float x\nproperty float y\n"
    "property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 2 0\n"
    "3 0 1 2\n",
}


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("name", _TRIANGLE)
def test_meshes_in_texts_of_any_program_are_read(tmp_path: Path, name: str, coding: str) -> None:
    """Comments may be in UTF-8, with or without its mark, or in Latin-1."""
    if coding == "utf-8-sig" and name in ("a.stl", "a.ply"):  # their first bytes tell what they are
        return
    (tmp_path / name).write_bytes(_TRIANGLE[name].encode(coding))
    shape = load_shape(tmp_path / name, "as stored", MESHES)
    np.testing.assert_array_equal(shape.points[shape.faces][0, :, :3], [[0, 0, 0], [1, 0, 0], [0, 2, 0]])


def test_a_cloud_in_a_ply_text_has_its_colours_normals_and_numbers(tmp_path: Path) -> None:
    """Also one that names faces but has none, as some programs write it."""
    kinds = [("float", name) for name in ("x", "y", "z", "nx", "ny", "nz")]
    kinds += [("uchar", name) for name in ("red", "green", "blue")] + [("int", "label")]
    head = "".join(f"property {kind} {name}\n" for kind, name in kinds)
    text = f"ply\nformat ascii 1.0\nelement vertex 2\n{head}element face 0\nproperty list uchar int vertex_indices\n"
    (tmp_path / "a.ply").write_text(f"{text}end_header\n0 0 0 0 0 1 255 0 0 3\n1 2 4 0 1 0 0 0 255 -4\n")
    shape = load_shape(tmp_path / "a.ply", "as stored", CLOUDS)
    np.testing.assert_array_equal(shape.points[:, :3], [[0, 0, 0], [1, 2, 4]])
    np.testing.assert_array_equal(shape.normals[:, :3], [[0, 0, 1], [0, 1, 0]])
    np.testing.assert_allclose(shape.colours[:, :3], [[1, 0, 0], [0, 0, 1]], atol=1e-6)
    np.testing.assert_array_equal(shape.attributes["label"], [3, -4])
    assert not len(shape.faces)


@pytest.mark.parametrize(
    "text", ["1 2 3\n3 4 7\n", "# made by hand\n1,2,3\n3,4,7", "X;Y;Z\n1;2;3\n3;4;7\n", "1\t2\t3\n3 4 7"]
)
def test_rows_of_points_may_have_any_separator_and_a_header(tmp_path: Path, text: str) -> None:
    """XYZ is what programs make of it."""
    (tmp_path / "a.xyz").write_text(text)
    np.testing.assert_array_equal(
        load_shape(tmp_path / "a.xyz", "as stored", CLOUDS).points[:, :3], [[1, 2, 3], [3, 4, 7]]
    )


def test_points_without_a_place_do_not_move_the_others(tmp_path: Path) -> None:
    """NaN and infinity, which depth cameras write where they see nothing, are left out of the bounding box."""
    (tmp_path / "a.xyz").write_text("nan nan nan\n0 0 0\ninf 0 9\n4 2 0\n")
    found = load_shape(tmp_path / "a.xyz", "unit size", CLOUDS).points
    np.testing.assert_allclose(found[[1, 3], :3], [[-1, -0.5, 0], [1, 0.5, 0]], atol=1e-6)
    assert np.isnan(found[0, 0]) and np.isinf(found[2, 0])


def test_faces_of_an_obj_file_may_count_backwards(tmp_path: Path) -> None:
    """A negative index counts from the last point before its line, as exporters of several objects write it."""
    square = "v {x} 0 0\nv {x} 1 0\nv {x} 1 1\nvn 1 0 0\n"
    text = square.format(x=0) + "f -3//-1 -2//-1 \\\n -1//-1\n" + square.format(x=5) + "f -3//-1 -2//-1 -1//-1 # end\n"
    (tmp_path / "a.obj").write_text(f"{text}f 1 +2 6\n")
    shape = load_shape(tmp_path / "a.obj", "as stored", MESHES)
    found = shape.points[shape.faces][..., 0].tolist()
    assert sorted(found) == [[0, 0, 0], [0, 0, 5], [5, 5, 5]]


@pytest.mark.parametrize(
    ("face", "text"),
    [
        ("0 1 2", "a face in line 5 with point 0 of 3; points count from 1"),
        ("1/1 +00/1 2/1", "a face in line 5 with point 0 of 3; points count from 1"),
        ("1 2 4", "a face in line 5 with point 4 of 3; points count from 1"),
        ("1 2 -4", "a face in line 5 with point -4 of 3; points count from 1"),
        ("1 2 x", "a face in line 5 with x for a corner"),
    ],
)
def test_a_face_without_its_point_is_named_by_its_line(tmp_path: Path, face: str, text: str) -> None:
    """OBJ counts from 1, so 0 is no point, and must not become the last or the first one."""
    (tmp_path / "a.obj").write_text(f"# a triangle\nv 0 0 0\nv 1 0 0\nv 0 2 0\nf {face}\nf 1 2 3\n")
    with pytest.raises(PatchError, match=f"a.obj must be readable as points or triangles, got: {text}$"):
        load_shape(tmp_path / "a.obj", "as stored", MESHES)


def test_what_a_mesh_lacks_is_named(tmp_path: Path) -> None:
    """A missing part, a compression that is not read, and sizes that no file has; nothing is allocated for these."""
    plain = {"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}]}
    plain["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0}}]}]
    accessor = {"componentType": 5126, "count": 3, "type": "VEC3"}
    view = {"bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"uri": "part.bin", "byteLength": 36}]}
    models = {
        "no file part.bin beside it": plain | view | {"accessors": [accessor | {"bufferView": 0}]},
        "4000000000 elements without data": plain | {"accessors": [accessor | {"count": 4_000_000_000}]},
        "KHR_draco_mesh_compression; export it without compression": plain
        | {"extensionsRequired": ["KHR_draco_mesh_compression"], "accessors": [accessor]},
    }
    for text, model in models.items():
        held = json.dumps(model).encode()
        (tmp_path / "a.gltf").write_bytes(held)
        head = b"glTF" + (2).to_bytes(4, "little") + (20 + len(held)).to_bytes(4, "little")
        (tmp_path / "a.glb").write_bytes(head + len(held).to_bytes(4, "little") + b"JSON" + held)
        for name in ("a.gltf", "a.glb"):
            with pytest.raises(
                PatchError, match=f"^file .*{name} must be readable as points or triangles, got: .*{text}"
            ):
                load_shape(tmp_path / name, "as stored", MESHES)
    (tmp_path / "a.stl").write_bytes(bytes(80) + (4_000_000_000).to_bytes(4, "little") + bytes(50))
    with pytest.raises(PatchError, match="4000000000 triangles in a file of 134 bytes"):
        load_shape(tmp_path / "a.stl", "as stored", MESHES)


def test_points_are_saved_and_loaded_again(tmp_path: Path) -> None:
    """A PLY file of ours is read by trimesh; colours are sRGB of 8 bits, white without a connection."""
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.normal(size=(33, 3)), np.ones((33, 1))], axis=1).astype(np.float32)
    stored = rng.integers(0, 256, (33, 4))
    light = _linear(stored / 255).astype(np.float32)
    light[:, 3] = stored[:, 3] / 255
    for has_colours in (True, False):
        patch = Patch()
        save = patch.add("geometry.save_points", file=tmp_path / "a.ply")
        patch.connect(_float4(patch, patch.add("io.array", data=points.ravel())), save["points"])
        if has_colours:
            patch.connect(_float4(patch, patch.add("io.array", data=light.ravel())), save["colors"])
        with Engine(patch, device="host") as engine:
            assert not engine.step().diagnostics
            engine.save_outputs(tmp_path)
        cloud = trimesh.load(tmp_path / "a.ply")
        np.testing.assert_array_equal(cloud.vertices, points[:, :3])
        np.testing.assert_array_equal(cloud.colors, stored if has_colours else np.full((33, 4), 255))
        np.testing.assert_array_equal(load_shape(tmp_path / "a.ply", "as stored", CLOUDS).points, points)


def _float4(patch: Patch, rows: Any) -> Any:
    view = patch.add("buffer.reinterpret", dtype="float4")
    patch.connect(rows["out"], view["x"])
    return view["out"]


@pytest.mark.parametrize("suffix", CLOUDS)
@pytest.mark.parametrize("held", [b"", b"ply\n", b"\x00\xff" * 200, b"v 0 0\nf 1 2 9\n", b"{}", CUT])
def test_damaged_files_have_one_message(tmp_path: Path, suffix: str, held: bytes) -> None:
    """Whatever the bytes, there is a PatchError that names the file."""
    path = tmp_path / f"a{suffix}"
    path.write_bytes(held)
    try:
        load_shape(path, "centred", CLOUDS)
    except PatchError as problem:
        assert path.name in str(problem) and "\n" not in str(problem)


def test_blocks_say_what_is_missing(tmp_path: Path) -> None:
    """A cloud is no mesh, other endings are refused, and a file that isn't there is named."""
    (tmp_path / "a.ply").write_bytes(encode_points(np.ones((2, 3, 4), np.float32), ".ply"))
    for file, text in (("a.ply", "must have triangles"), ("a.doc", "file must end in"), ("b.ply", "must exist")):
        patch = Patch()
        patch.add("geometry.load_mesh", file=tmp_path / file)
        assert text in problems(patch)[0][2]


def test_a_cloud_is_drawn_by_depth(device: Device) -> None:
    """The nearest point of each pixel is drawn in its own colour, as numpy finds it by projecting each point."""
    rng = np.random.default_rng(11)
    count, width, height = 1001, 97, 63
    points = np.ones((count, 4), np.float32)
    points[:, :3] = rng.uniform(-1, 1, (count, 3))
    points[7, :3] = np.nan
    colours = rng.random((count, 4)).astype(np.float32)
    patch = Patch()
    view = {"orbit": 30.0, "spin": 0.0, "elevation": 15.0, "distance": 4.0, "target": 0.25, "field_of_view": 40.0}
    draw = patch.add("geometry.render_cloud", width=width, height=height, point_size=0.0, shading=0.0, **view)
    patch.connect(_float4(patch, patch.add("io.array", data=points.ravel())), draw["points"])
    patch.connect(_float4(patch, patch.add("io.array", data=colours.ravel())), draw["colors"])
    (image,) = run(patch, draw["image"], device=device)
    turn, rise = np.radians(30.0), np.radians(15.0)
    forward = np.array([-np.cos(rise) * np.sin(turn), -np.sin(rise), -np.cos(rise) * np.cos(turn)])
    right = np.array([np.cos(turn), 0, -np.sin(turn)])
    offset = points[:, :3] - (np.array([0, 0.25, 0]) - 4 * forward)
    depth = offset @ forward
    focal = 0.5 * height / np.tan(np.radians(20.0))
    x = 0.5 * width + offset @ right * focal / depth
    y = 0.5 * height - offset @ np.cross(right, forward) * focal / depth
    near_edge = (np.abs(x - x.round()) < 1e-3) | (np.abs(y - y.round()) < 1e-3)
    expected = np.zeros((height, width, 4))
    unsure = np.zeros((height, width), bool)
    for i in np.argsort(-depth):
        if np.isfinite(depth[i]) and 0 <= x[i] < width and 0 <= y[i] < height:
            row, column = int(y[i]), int(x[i])
            expected[row, column] = [*colours[i, :3], 1]
            if near_edge[i]:
                unsure[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2] = True
    assert (~unsure).mean() > 0.95 and expected[..., 3].mean() > 0.1
    np.testing.assert_allclose(image[~unsure], expected[~unsure], atol=1e-6)


def test_shading_darkens_what_lies_behind_an_edge() -> None:
    """A wall behind a near point is dark around the point, and bright far from it; the near point stays bright."""
    wall = np.array([[x / 40, y / 40, 0, 1] for x in range(-40, 41) for y in range(-40, 41)] + [[0, 0, 0.5, 1]])
    patch = Patch()
    view = {"orbit": 0.0, "spin": 0.0, "elevation": 0.0, "distance": 2.0, "target": 0.0}
    draw = patch.add("geometry.render_cloud", width=101, height=101, point_size=40.0, shading=1.0, **view)
    patch.connect(_float4(patch, patch.add("io.array", data=wall.astype(np.float32).ravel())), draw["points"])
    (image,) = run(patch, draw["image"])
    brightness = image[..., 0]
    assert brightness[50, 50] == 1 and brightness[5:20, 5:20].min() > 0.9
    assert brightness[50, 50:60].min() < 0.2
