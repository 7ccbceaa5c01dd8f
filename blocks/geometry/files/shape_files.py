"""Reads points and meshes from files, and makes the contents of files of points."""

import io
import json
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from warploom.api import open_file, read_bytes
from warploom.blocks.geometry.files.gltf_files import COLOURS
from warploom.blocks.geometry.files.mesh_bytes import check_text, readable
from warploom.blocks.geometry.files.polygon_files import STORED
from warploom.blocks.geometry.files.scan_files import SCANS, Scan
from warploom.blocks.io.colour_spaces import linear_to_srgb, srgb_to_linear
from warploom.engine.diagnostics import PatchError, cut

Array = np.ndarray[Any, Any]
#: Points, normals, colours, faces and attributes, as in `Shape`, but points and normals of shape (n, 3).
_Parts = tuple[Array, Array, Array, Array, dict[str, Array]]

#: Choices of what is done to positions on loading.
FITS = ("as stored", "centred", "unit size")
#: The number of read shapes that are kept, so that editing a patch does not read their files again.
CACHED_SHAPES = 4
MESHES = (".ply", ".obj", ".stl", ".gltf", ".glb", ".off")
CLOUDS = (".ply", ".las", ".laz", ".xyz", ".obj", ".stl", ".gltf", ".glb", ".off")


@dataclass(frozen=True)
class Shape:
    """Points, and the triangles between them.

    `points`, `normals` and `colours` are float32 of shape (n, 4): x, y, z, 1; a unit vector, 0; linear RGBA, straight
    alpha. `faces` are int32 of shape (m, 3), m 0 for a cloud of points. `attributes` are further numbers of each point,
    by name. Normals are 0 where a file without faces has none; colours are white where it has none.
    """

    points: Array
    normals: Array
    colours: Array
    faces: Array
    attributes: dict[str, Array]


def load_shape(path: Path, fit: str, suffixes: tuple[str, ...], first: int = 0, most: int = 0) -> Shape:
    """Return the points and triangles in a file whose suffix is one of `suffixes`; arrays are read-only.

    All objects of a scene become one. `fit` is one of FITS: "centred" moves the middle of the bounding box to the
    origin, "unit size" also makes its longest edge 2. Both are done in double precision, so that coordinates of a map
    keep their digits.

    `most` points are taken from point `first` on, without triangles; 0 takes all. They keep their places in the whole
    cloud. Of LAS and LAZ, other points are not read. A PatchError names the file when it can't be read.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise PatchError(f"file must end in {', '.join(suffixes)}, got {path}")
    try:
        if not (first or most):
            return _decoded(read_bytes(path), suffix, fit, path.parent)
        if suffix in SCANS:
            with open_file(path) as file:
                return _shape(*_las(file, fit, first, most or None))
        return _part(_decoded(read_bytes(path), suffix, fit, path.parent), first, most or None)
    except Exception as problem:  # a library that reads damaged files may raise anything
        raise shape_problem(path, problem) from problem


def shape_problem(path: Path, problem: Exception) -> PatchError:
    """Return the error that names a file, for one that reading it raised."""
    if isinstance(problem, PatchError):
        return problem
    if isinstance(problem, FileNotFoundError):
        return PatchError(f"file must exist, got {path}; choose another file, or put it there")
    if type(problem).__name__ == "LazrsError":
        problem = ValueError(f"a damaged LAZ file, or one that ends too early ({problem})")
    reason = cut(getattr(problem, "strerror", None) or str(problem) or type(problem).__name__, 300)
    return PatchError(f"file {path} must be readable as points or triangles, got: {reason}")


def attribute_problem(name: str, known: Collection[str]) -> PatchError:
    """Return the error for an attribute that a file doesn't have."""
    return PatchError(f"attribute must be one of the file's ({', '.join(sorted(known)) or 'none'}), got {name}")


def turned_up(points: Array, up: str) -> Array:
    """Return points, shape (n, 4), turned so that the axis `up`, y or z, becomes y."""
    return points[:, (0, 2, 1, 3)] * np.array((1, 1, -1, 1), np.float32) if up == "z" else points


def _decoded(held: bytes, suffix: str, fit: str, folder: Path) -> Shape:
    """Return the shape in the contents of a file, which is kept until these or the files beside it change."""
    shape, beside = _decode(held, suffix, fit, folder)
    if not beside.is_current():
        _decode.cache_clear()
        shape, _ = _decode(held, suffix, fit, folder)
    return shape


# Cached by contents, so that a file is read again only if these have changed.
@lru_cache(CACHED_SHAPES)
def _decode(held: bytes, suffix: str, fit: str, folder: Path) -> "tuple[Shape, _Beside]":
    beside = _Beside(folder)
    if suffix in SCANS:
        return _shape(*_las(io.BytesIO(held), fit)), beside
    with np.errstate(all="ignore"):  # positions may be infinite or NaN
        points, normals, colours, faces, attributes = _mesh(held, suffix, beside)
    return _shape(fitted(points, fit, *_bounds(points)), normals, colours, faces, attributes), beside


def _shape(points: Array, normals: Array, colours: Array, faces: Array, attributes: dict[str, Array]) -> Shape:
    if not len(points):
        raise ValueError("no points")
    shape = Shape(_with(points, 1), _with(normals, 0), colours, np.ascontiguousarray(faces, np.int32), attributes)
    for array in (shape.points, shape.normals, shape.colours, shape.faces, *attributes.values()):
        array.flags.writeable = False
    return shape


def _part(shape: Shape, first: int, most: int | None) -> Shape:
    """Return some of the points."""
    if first >= len(shape.points):
        raise ValueError(f"no points from point {first} on")
    here = slice(first, None if most is None else first + most)
    attributes = {name: numbers[here] for name, numbers in shape.attributes.items()}
    return Shape(shape.points[here], shape.normals[here], shape.colours[here], shape.faces[:0], attributes)


def _bounds(points: Array) -> tuple[Array, Array]:
    """Return the corners of the bounding box of points; NaN if none is finite."""
    finite = points[np.isfinite(points).all(axis=1)]
    nothing = np.full(3, np.nan)
    return (finite.min(axis=0), finite.max(axis=0)) if len(finite) else (nothing, nothing)


def fitted(points: Array, fit: str, low: Array, high: Array) -> Array:
    """Return points whose bounding box from `low` to `high` is moved and scaled, if it is finite."""
    if fit != "as stored" and np.isfinite(low).all() and np.isfinite(high).all():
        points = points - (low + high) / 2
        if fit == "unit size" and (size := (high - low).max()) > 0:
            points = points * (2 / size)
    return points


def _with(vectors: Array, last: float) -> Array:
    """Return vectors of shape (n, 3) as float32 of shape (n, 4)."""
    result = np.full((len(vectors), 4), last, np.float32)
    result[:, :3] = vectors
    return result


class _Beside:
    """The files beside the file of a mesh, such as its textures; none outside its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        #: Digests of the files that were read, None for one that couldn't be.
        self._read: dict[str, bytes | None] = {}

    def __getitem__(self, name: str) -> bytes:
        self._read[name] = None
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise ValueError(f"a part outside its folder: {cut(name, 100)}")
        try:
            held = read_bytes(path)
        except FileNotFoundError:
            raise ValueError(f"no file {cut(name, 100)} beside it") from None
        self._read[name] = blake2b(held).digest()
        return held

    get = __getitem__

    def is_current(self) -> bool:
        """Return whether all files have the contents that they had."""
        now = _Beside(self._folder)
        for name in self._read:
            with suppress(ValueError, OSError):
                now[name]
        return now._read == self._read


def _mesh(held: bytes, suffix: str, beside: _Beside) -> _Parts:
    import trimesh

    # The library's types leave most of it out.
    read: Any = trimesh.load
    text, kind = readable(held, suffix, beside.get)
    # In its order, the library would give a point of an OBJ one normal and one place in a texture for all its faces.
    keeps = suffix != ".obj" or not re.search(rb"^f [^\n#]*/", text, re.MULTILINE)
    try:
        loaded = read(io.BytesIO(text), file_type=kind[1:], resolver=beside, process=False, maintain_order=keeps)
    except (IndexError, KeyError, AttributeError, TypeError, ImportError, ValueError) as problem:
        check_text(text, suffix)
        if isinstance(problem, ValueError):
            raise
        raise ValueError(f"contents that can't be read ({type(problem).__name__}: {problem})") from problem
    parts = [loaded]
    raw = loaded.metadata.get("_ply_raw", {}).get("vertex", {}).get("data")
    if isinstance(loaded, trimesh.Scene):
        if not loaded.geometry:
            raise ValueError("no points")
        parts = _parts_of_obj(loaded) if suffix == ".obj" else _parts_of_scene(loaded)
        if not parts:
            raise ValueError("no points")
        loaded = trimesh.util.concatenate(parts)
    points = np.asarray(loaded.vertices, np.float64).reshape(-1, 3)
    faces = np.asarray(getattr(loaded, "faces", np.empty((0, 3))), np.int64).reshape(-1, 3)
    if len(faces) and not (faces.min() >= 0 and faces.max() < len(points)):
        wrong = faces[(faces < 0) | (faces >= len(points))][0]
        raise ValueError(f"a triangle with point {wrong} of {len(points)}; points count from 0")
    # The columns of a binary file are in one array, and those of a text are arrays with one column each.
    names = () if raw is None else raw if isinstance(raw, dict) else raw.dtype.names
    fields = {name: np.asarray(raw[name]) for name in names}
    fields = {name: field.reshape(-1) if field.shape == (len(points), 1) else field for name, field in fields.items()}
    normals = np.zeros_like(points)
    if len(faces):
        normals = np.concatenate([np.asarray(part.vertex_normals, np.float64) for part in parts])
    elif {"nx", "ny", "nz"} <= fields.keys():
        normals = np.stack([fields[name] for name in ("nx", "ny", "nz")], axis=1)
    colours = np.concatenate([_light(part, is_linear=suffix in (".gltf", ".glb")) for part in parts])
    attributes = {
        name: np.ascontiguousarray(numbers, np.float32)
        for name, numbers in fields.items()
        if numbers.dtype.kind in "iuf" and numbers.shape == (len(points),)
    }
    for name in [name for name in attributes if suffix == ".ply" and name.startswith(STORED)]:
        attributes[name.removeprefix(STORED)] = attributes.pop(name)
    return points, normals, colours, faces, attributes


def _parts_of_scene(scene: Any) -> list[Any]:
    """Return the objects of a scene in their places: those with triangles, or else the clouds.

    The library forgets the normals of a file when it moves an object.
    """
    parts = []
    for node in scene.graph.nodes_geometry:
        matrix, name = scene.graph[node]
        part = scene.geometry[name].copy()
        part.apply_transform(matrix)
        if hasattr(part, "faces"):
            turned = scene.geometry[name].vertex_normals @ np.linalg.pinv(matrix[:3, :3])
            part.vertex_normals = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-30)
        parts.append(part)
    return [part for part in parts if hasattr(part, "faces")] or [part for part in parts if hasattr(part, "colors")]


def _parts_of_obj(scene: Any) -> list[Any]:
    """Return the parts of an OBJ file, one for each material, in the file's order.

    The library reads them in the opposite order, and gives each part all points of the file.
    """
    parts = list(scene.geometry.values())[::-1]
    for part in parts if len(parts) > 1 else ():
        used, normals = part.referenced_vertices, part.vertex_normals  # the library forgets normals of the file
        part.update_vertices(used)
        part.vertex_normals = normals[used]
    return parts


def _light(part: Any, *, is_linear: bool) -> Array:
    """Return the linear RGBA of each point of an object; white if it has none.

    `is_linear` says that colours of points are linear, as in glTF; those of textures and of OBJ's materials never are.
    """
    light = np.ones((len(part.vertices), 4), np.float32)
    visual = getattr(part, "visual", None)
    if visual is None or visual.kind in ("vertex", "face"):
        stored = part.colors if visual is None else visual.vertex_colors
        if np.shape(stored) == light.shape:
            light[:] = np.asarray(stored) / 255
            light[:, :3] = light[:, :3] if is_linear else srgb_to_linear(light[:, :3])
    elif visual.kind == "texture":
        light *= _of_material(visual.material, visual.uv)
    own = getattr(part, "vertex_attributes", {}).get(COLOURS)
    if own is not None and np.shape(own) in ((len(light), 3), (len(light), 4)):
        light[:, : own.shape[1]] *= own
    return light


def _of_material(material: Any, places: Array | None) -> Array:
    """Return the linear RGBA of a material: at places in its texture, or everywhere."""
    picture = getattr(material, "image", None)
    if picture is not None and picture.format is None:
        picture = None  # the library's own grey, for places without a texture
    picture = picture or getattr(material, "baseColorTexture", None)
    light = np.ones((1 if picture is None or places is None else len(places), 4), np.float32)
    if picture is not None and places is not None:
        light[:] = np.asarray(material.to_color(places)) / 255
        light[:, :3] = srgb_to_linear(light[:, :3])
    elif len(diffuse := np.ravel(getattr(material, "kwargs", {}).get("kd", ()))) == 3:
        light[:, :3] = srgb_to_linear(np.clip(diffuse.astype(float), 0, 1))
    if hasattr(material, "baseColorFactor"):
        factor = json.loads(material.name)  # see gltf_files; the library's own one has 8 bits
        if factor is None and material.baseColorFactor is not None:
            factor = np.asarray(material.baseColorFactor) / 255
        light *= np.ones(4, np.float32) if factor is None else np.asarray(factor, np.float32)
    return light


def _las(file: BinaryIO, fit: str, first: int = 0, most: int | None = None) -> _Parts:
    scan = Scan(file)
    part = scan.read(first, scan.count if most is None else most)
    is_part = len(part.points) < scan.count
    low, high = (scan.low, scan.high) if is_part else _bounds(part.points)
    points = fitted(part.points, fit, low, high)
    return points, np.zeros_like(points), part.colours, np.empty((0, 3)), part.attributes


def encode_points(cloud: Array, suffix: str) -> bytes:
    """Return the contents of a binary PLY file of points.

    `cloud` is float32 of shape (2, n, 4): positions, whose fourth number is left out, and linear RGBA, which is stored
    as sRGB of 8 bits.
    """
    if suffix != ".ply":
        raise ValueError(f"a name that ends in {suffix or 'nothing'}; points are saved as .ply")
    points, colours = cloud
    shares = np.clip(np.nan_to_num(colours.astype(np.float64)), 0, 1)
    shares[:, :3] = linear_to_srgb(shares[:, :3])
    names = ("red", "green", "blue", "alpha")
    vertices = np.empty(len(points), [*((axis, "<f4") for axis in "xyz"), *((name, "u1") for name in names)])
    for place, axis in enumerate("xyz"):
        vertices[axis] = points[:, place]
    for place, name in enumerate(names):
        vertices[name] = shares[:, place] * 255 + 0.5
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
    lines += [f"property float {axis}" for axis in "xyz"] + [f"property uchar {name}" for name in names]
    return "\n".join([*lines, "end_header", ""]).encode() + vertices.tobytes()
