"""Writes what the library reads wrongly in mesh files in another way: polygons as triangles, colours as floats.

The library cuts polygons with dents along the wrong diagonal, reads no binary PLY file with faces of different lengths,
and takes the lowest 8 bits of colours.
"""

import re
from typing import Any

import numpy as np

from warploom.blocks.geometry.files.ply_elements import PlyContents, PlyElement, as_numbers
from warploom.blocks.geometry.files.ply_files import ORDERS
from warploom.blocks.geometry.files.polygons import cut_polygons
from warploom.engine.diagnostics import cut

Array = np.ndarray[Any, Any]

#: Names of the list with the corners of faces.
_CORNERS = ("vertex_indices", "vertex_index")
#: Headers of PLY files with faces, or with colours of more than 8 bits.
_PLY_UNUSUAL = re.compile(
    rb"element\s+(face|tristrips)\s+0*[1-9]|property\s+(u?short|u?int|u?int16|u?int32)\s+(red|green|blue|alpha)\s"
)
#: What stands before the name of a colour as it is stored, if the file that is written has it as a float.
STORED = "stored_"
_COLOURS = ("red", "green", "blue", "alpha")
#: Types of colours that the library reads.
_SCALED = ("u1", "f4", "f8")
_OFF_HEAD = re.compile(rb"\s*(ST)?(C)?(N)?(4?n?)OFF(\s+BINARY)?\b")


def off_as_ply(text: bytes) -> bytes:
    """Return the points, colours and triangles of an OFF file as a PLY file. Raise ValueError for damage."""
    head = _OFF_HEAD.match(text)
    if head is None:
        raise ValueError("no OFF")
    has_colours, has_normals = bool(head[2]), bool(head[3])
    if head[4] or head[5]:
        raise ValueError(f"{head[0].decode().strip()}, which has other dimensions or bytes")
    lines = [line.split() for line in re.sub(rb"#[^\n]*", b"", text[head.end() :]).splitlines() if line.strip()]
    point_count, face_count = as_numbers([*lines[0], b"0"][:2]).astype(int).tolist() if lines else (0, 0)
    if not 0 <= point_count + face_count < len(lines) or min(point_count, face_count) < 0:
        raise ValueError(f"{point_count} points and {face_count} faces in {max(len(lines) - 1, 0)} lines")
    rows, faces = lines[1 : 1 + point_count], lines[1 + point_count : 1 + point_count + face_count]
    ply = PlyContents("<", [])
    names, width = list("xyz"), 3
    if has_normals:
        names, width = [*names, "nx", "ny", "nz"], 6
    vertex = PlyElement("vertex", point_count, [("double", "", name) for name in names])
    wanted = width + 3 * has_colours
    if short := next((row for row in rows if len(row) < wanted), None):
        raise ValueError(f"a point with {len(short)} numbers instead of {wanted}")
    numbers = as_numbers([word for row in rows for word in row[:width]]).reshape(-1, width)
    vertex.values = dict(zip(names, numbers.T, strict=True))
    if has_colours and rows:
        stored = as_numbers([word for row in rows for word in [*row[width : width + 4], b"255"][:4]]).reshape(-1, 4)
        scale = 255 if any(b"." in share for row in rows for share in row[width : width + 3]) else 1
        for name, shares in zip(("red", "green", "blue", "alpha"), stored.T, strict=True):
            vertex.kinds.append(("uchar", "", name))
            vertex.values[name] = np.clip(np.rint(shares * scale), 0, 255)
    counts = as_numbers([face[0] for face in faces]).astype(np.int64)
    words = [word for face, count in zip(faces, counts, strict=True) for word in face[1 : 1 + count]]
    corners = as_numbers(words).astype(np.int64)
    if counts.min(initial=0) < 0 or len(corners) != counts.sum():
        raise ValueError("a face with fewer corners than it says")
    ply.elements = [vertex]
    return ply.written(*cut_polygons(numbers[:, :3], counts, corners), {})


def plain_ply(held: bytes) -> bytes:
    """Return a PLY file whose faces are triangles, without strips, and whose colours are bytes or floats.

    Raise ValueError for damage.
    """
    end = re.search(rb"end_header[ \t]*\r?\n", held)
    if held[:3] != b"ply" or end is None:
        raise ValueError("no PLY" if held[:3] != b"ply" else "a PLY without the end of its header")
    lines = [line.split() for line in held[: end.start()].decode("latin-1").splitlines()]
    form = next((words[1] for words in lines if words[:1] == ["format"] and len(words) > 1), "ascii")
    if form not in (*ORDERS, "ascii"):
        raise ValueError(f"a PLY of format {form}")
    ply = PlyContents(ORDERS.get(form, ""), [" ".join(words) for words in lines if words[:1] == ["comment"]])
    for words in lines:
        match words:
            case ["element", name, count]:
                if not count.isdecimal():
                    raise ValueError(f"{count} rows of {name}")
                ply.elements.append(PlyElement(name, int(count), []))
            case ["property", "list", counted, kind, name] if ply.elements:
                ply.elements[-1].kinds.append((kind, counted, name))
            case ["property", kind, name] if ply.elements:
                ply.elements[-1].kinds.append((kind, "", name))
            case ["property" | "element", *_]:
                raise ValueError(f"a header with the line {cut(' '.join(words), 60)}")
    ply.check()
    if ply.order and not _PLY_UNUSUAL.search(held[: end.start()]):
        return held
    ply.read(held[end.end() :])
    vertex = ply.element("vertex")
    assert vertex is not None  # as it was checked
    points = np.stack([vertex.values[axis].astype(np.float64) for axis in "xyz"], axis=1)
    faces, strips = ply.element("face"), ply.element("tristrips")
    triangles, polygons, others = np.empty((0, 3), np.int64), np.empty(0, np.int64), dict[str, Array]()
    is_plain = not _scale_colours(vertex) and strips is None
    if faces is not None and faces.count:
        name = next((name for name in _CORNERS if name in faces.lists), next(iter(faces.lists), ""))
        if name not in faces.lists:
            raise ValueError("faces without corners")
        counts, corners = faces.lists[name]
        if is_plain and ply.order and (counts == 3).all():
            return held
        triangles, polygons = cut_polygons(points, counts, corners.astype(np.int64))
        others = faces.values
    if strips is not None:
        for _, corners in strips.lists.values():
            triangles = np.concatenate([triangles, _of_strips(corners.astype(np.int64))])
        polygons, others = np.zeros(len(triangles), np.int64), {}
    return ply.written(triangles, polygons, others)


def _scale_colours(vertex: PlyElement) -> bool:
    """Make floats of colours that are whole numbers of more than 8 bits, and keep these under other names.

    Return whether there are any.
    """
    wide = [name for name in _COLOURS if name in vertex.values and vertex.values[name].dtype.str[1:] not in _SCALED]
    brightest = max((vertex.values[name].max(initial=0) for name in wide), default=0)
    for name in wide:
        vertex.values[STORED + name] = vertex.values[name]
        vertex.values[name] = (vertex.values[name] / (255 if brightest <= 255 else 65535)).astype(np.float32)
    kept = [(kind, "", STORED + name) for kind, _, name in vertex.kinds if name in wide]
    vertex.kinds = [("float" if name in wide else kind, counted, name) for kind, counted, name in vertex.kinds] + kept
    return bool(wide)


def _of_strips(corners: Array) -> Array:
    """Return the triangles of strips, between which there is a negative number; every second one is turned over."""
    place = np.arange(len(corners))
    begin = np.maximum.accumulate(np.where(corners < 0, place + 1, 0))
    triangles = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
    is_turned = ((place - begin)[:-2] % 2 == 1)[:, np.newaxis]
    return np.where(is_turned, triangles[:, (1, 0, 2)], triangles)[(triangles >= 0).all(axis=1)]
