"""Prepares the bytes of mesh files for the library that reads them, and refuses what it would misread."""

import json
import re
from typing import Any

from warploom.blocks.geometry.files.polygon_files import obj_triangles, off_as_ply, plain_ply
from warploom.engine.diagnostics import cut

#: The name of an attribute of a glTF model for the colours of points.
COLOURS = "_COLOR0"
_POINTS = re.compile(rb'"mode"\s*:\s*0\b')
#: Compressions that the library leaves out without an error.
_COMPRESSIONS = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")
#: What the library would take as it is stored: fans as no triangles, and whole numbers for shares.
_16_BITS, _FAN, _NORMALIZED = 5123, 6, ("POSITION", "NORMAL", "TEXCOORD_0")
#: The most elements of a glTF accessor that has no data, and stands for zeros.
_MOST_ZEROS = 1 << 24
#: How much of a text is looked at to see how its numbers are separated.
_LOOKED_AT = 4096
#: A comment behind numbers of an OBJ file, which the library doesn't expect there.
_COMMENT = re.compile(rb"(?<=[ \t])#[^\n]*")
#: Spaces before the first word of a line, the end of a line that goes on, and the choice of a material, in an OBJ file.
_INDENT = re.compile(rb"^ +", re.MULTILINE)
_CONTINUED = re.compile(rb"\\ *\n")
_MATERIAL = re.compile(rb"^usemtl[^\n]*", re.MULTILINE)
#: Names that some programs give the colours of a PLY file.
_DIFFUSE = re.compile(rb"(?<=\s)diffuse_(red|green|blue|alpha)(?=\s)")
#: A face of an OBJ file with an index of 0, or with one that counts backwards: the library misreads both.
_UNUSUAL_FACE = re.compile(rb"^[ \t]*f[ \t][^\n]*?(?<=[ \t/])(?:-|\+?0+(?=[ \t/\r\n]|$))", re.MULTILINE)


def readable(held: bytes, suffix: str) -> tuple[bytes, str]:
    """Return the contents of a mesh file, with texts in UTF-8 and polygons cut into triangles, and its suffix.

    Raise ValueError for what can't be read.
    """
    match suffix:
        case ".obj":
            text = _COMMENT.sub(b"", _plain_lines(_utf8(held)))
            if b"mtllib " not in text:  # the library would repeat all points for each material
                text = _MATERIAL.sub(b"", text)
            return obj_triangles(absolute_faces(text) if _UNUSUAL_FACE.search(text) else text), suffix
        case ".off":
            return off_as_ply(_utf8(held)), ".ply"
        case ".xyz":
            return _numbers(_utf8(held)), suffix
        case ".ply":
            head, mark, rest = held.partition(b"end_header")
            if not re.search(rb"\sred\s", head):
                head = _DIFFUSE.sub(rb"\1", head)
            return plain_ply(_utf8(head) + mark + rest), suffix
        case ".stl":
            return _stl(held), suffix
        case ".glb":
            end = 20 + int.from_bytes(held[12:16], "little")
            _check_gltf(held[20:end])
            held = _own_colours(held[:end]) + held[end:]
        case ".gltf":
            _check_gltf(held)
            held = _own_colours(held)
    return held, suffix


def absolute_faces(text: bytes) -> bytes:
    """Return an OBJ file whose faces count from the first point. Raise ValueError for a face without such a point.

    The message has the line.
    """
    lines = text.splitlines()
    so_far = {b"v": 0, b"vt": 0, b"vn": 0}
    points, begun = sum(line.split(None, 1)[:1] == [b"v"] for line in lines), b""
    for place, line in enumerate(lines):
        whole = begun + line.rstrip()
        begun = whole[:-1] + b" " if whole.endswith(b"\\") else b""  # it goes on in the next line
        lines[place] = b"" if begun else whole
        kind, *corners = [b""] if begun else whole.partition(b"#")[0].split() or [b""]
        if kind in so_far:
            so_far[kind] += 1
        elif kind == b"f":
            try:
                lines[place] = b" ".join([b"f", *(_absolute(corner, points, *so_far.values()) for corner in corners)])
            except ValueError as problem:
                raise ValueError(f"a face in line {place + 1} with {problem}") from None
    return b"\n".join(lines) + b"\n"


def _absolute(corner: bytes, points: int, *so_far: int) -> bytes:
    """Return a corner of a face, "point/texture/normal", with indices that count from the first one.

    Negative ones count back from the last one so far. Only the index of a point is needed.
    """
    indices = corner.split(b"/")
    if not re.fullmatch(rb"[-+]?\d+", indices[0]):
        raise ValueError(f"{cut(corner.decode(errors='replace'), 20)} for a corner")
    if not 1 <= (point := int(indices[0])) <= points and not -so_far[0] <= point < 0:
        raise ValueError(f"point {point} of {points}; points count from 1")
    return b"/".join(
        b"%d" % (int(index) + count + 1) if index.startswith(b"-") else index
        for index, count in zip(indices, so_far, strict=False)
    )


def _plain_lines(text: bytes) -> bytes:
    """Return lines that end in a line feed, with single spaces between words and none before them, each as a whole."""
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\t", b" ")
    return _INDENT.sub(b"", _CONTINUED.sub(b" ", text))


def _utf8(held: bytes) -> bytes:
    """Return a text in UTF-8 without a byte-order mark; one that is neither UTF-8 nor UTF-16 is in Latin-1."""
    if held[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return held.decode("utf-16", "replace").encode()
    held = held.removeprefix(b"\xef\xbb\xbf")
    try:
        held.decode()
    except UnicodeDecodeError:
        return held.decode("latin-1").encode()
    return held


def _numbers(held: bytes) -> bytes:
    """Return rows of numbers with spaces between them, without comments and names of columns."""
    if not re.search(rb"[,;#/]|(?<![\d.])[a-zA-Z]", held[:_LOOKED_AT]):
        return held
    rows = re.sub(rb"[,;\t]", b" ", held).splitlines()
    return b"\n".join(row for row in rows if re.match(rb"\s*([-+.\d]|nan|inf)", row, re.IGNORECASE))


def _stl(held: bytes) -> bytes:
    count = int.from_bytes(held[80:84], "little")
    if len(held) >= 84 and len(held) == 84 + 50 * count:
        return held
    if held[:5].lower() == b"solid":
        return _utf8(held)
    raise ValueError(f"{count} triangles in a file of {len(held)} bytes")


def _own_colours(text: bytes) -> bytes:
    """Return the JSON of a glTF model, as long as before, in which colours of points are attributes of our own.

    The library keeps these as they are, and takes the lowest 8 bits of colours. Clouds of points have no attributes.
    """
    return text if _POINTS.search(text) else text.replace(b'"COLOR_0"', b'"%s"' % COLOURS.encode())


def _check_gltf(text: bytes) -> None:
    model: Any = json.loads(text)
    if not isinstance(model, dict):
        raise ValueError("JSON that is no glTF")
    for name in _COMPRESSIONS:
        if name in model.get("extensionsRequired", ()):
            raise ValueError(f"a model compressed by {name}; export it without compression")
    accessors = model.get("accessors", [])
    for part in (part for mesh in model.get("meshes", ()) for part in mesh.get("primitives", ())):
        if part.get("mode") == _FAN:
            raise ValueError("fans of triangles; export the model with single triangles")
        attributes = part.get("attributes", {})
        used = {accessors[place].get("normalized", False) for name, place in attributes.items() if name in _NORMALIZED}
        if True in used:
            raise ValueError("a model with quantized positions; export it without quantization")
        if part.get("mode") == 0 and accessors[attributes.get("COLOR_0", 0)].get("componentType") == _16_BITS:
            raise ValueError("a cloud with colours of 16 bits; export it with 8 bits or floats")
        if any("sparse" in accessors[place] for place in (*attributes.values(), part.get("indices", 0))):
            raise ValueError("a model with sparse numbers; export it without them")
    for accessor in accessors:
        if "bufferView" not in accessor and accessor.get("count", 0) > _MOST_ZEROS:
            raise ValueError(f"{accessor['count']} elements without data")
