"""Prepares the bytes of mesh files for the library that reads them, and refuses what it would misread."""

import re
from collections.abc import Callable

import numpy as np

from warploom.blocks.geometry.files.gltf_files import plain_gltf
from warploom.blocks.geometry.files.obj_files import check_numbers, checked_lines, plain_obj
from warploom.blocks.geometry.files.polygon_files import off_as_ply, plain_ply

#: Rows that are looked at to see how their numbers are separated.
_LOOKED_AT = 1000
#: What is no plain number, and no space.
_UNUSUAL = re.compile(rb"[^-+.\deE\s]")
#: A row of numbers, and one whose numbers have decimals behind a comma, with spaces or semicolons between them.
_ROW = re.compile(rb"\s*([-+.\d]|nan|inf)", re.IGNORECASE)
_DECIMAL_COMMAS = re.compile(rb"(?:[\s;]*[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?(?=[\s;]|\Z)){3,}[\s;]*")
#: Names that some programs give the colours of a PLY file.
_DIFFUSE = re.compile(rb"(?<=\s)diffuse_(red|green|blue|alpha)(?=\s)")


def readable(held: bytes, suffix: str, beside: Callable[[str], bytes]) -> tuple[bytes, str]:
    """Return the contents of a mesh file, with texts in UTF-8 and polygons cut into triangles, and its suffix.

    `beside` returns the contents of a file that the model names. Raise ValueError for what can't be read.
    """
    match suffix:
        case ".obj":
            return plain_obj(_utf8(held)), suffix
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
        case ".gltf" | ".glb":
            return plain_gltf(held, beside), ".glb"
    return held, suffix


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
    """Return rows of numbers with spaces between them, without comments and names of columns.

    Raise ValueError, with the line, for words that are no numbers, and for rows of different lengths.
    """
    lines = held.splitlines()
    if not _UNUSUAL.search(held):
        widths = {len(line.split()) for line in lines} - {0}
        if len(widths) == 1 and min(widths) > 2:
            return held
    rows = [(place, row) for place, row in enumerate(lines) if _ROW.match(row)]
    if any(b"," in row for _, row in rows[:_LOOKED_AT]):
        has_decimals = all(_DECIMAL_COMMAS.fullmatch(row) for _, row in rows)
        rows = [(place, row.replace(b",", b"." if has_decimals else b" ")) for place, row in rows]
    words = [(place, row.replace(b";", b" ").split()) for place, row in rows]
    width = len(words[0][1]) if words else 0
    if width < 3:
        raise ValueError("no rows of three numbers" if not words else f"{width} numbers in line {words[0][0] + 1}")
    for place, row in words:
        if len(row) != width:
            raise ValueError(f"{len(row)} numbers in line {place + 1}, but {width} in line {words[0][0] + 1}")
    try:
        np.array([row for _, row in words], np.float64)
    except ValueError:
        for place, row in words:
            check_numbers(row, width, "a point", place)
    return b"\n".join(b" ".join(row) for _, row in words)


def _stl(held: bytes) -> bytes:
    count = int.from_bytes(held[80:84], "little")
    if len(held) >= 84 and len(held) == 84 + 50 * count:
        return held
    if held[:5].lower() == b"solid":
        if b"endsolid" not in held.lower():
            raise ValueError("a text without its end, endsolid")
        return _utf8(held)
    raise ValueError(f"{count} triangles in a file of {len(held)} bytes")


def check_text(text: bytes, suffix: str) -> None:
    """Raise ValueError, with the line where there is one, for what is wrong in the text of an OBJ, STL or XYZ file."""
    if suffix == ".obj":
        checked_lines(text)
    if suffix not in (".stl", ".xyz"):
        return
    corners = 0
    for place, line in enumerate(text.splitlines()):
        word, *parts = line.split() or [b""]
        if suffix == ".xyz" and word:
            check_numbers([word, *parts], 3, "a point", place)
        elif word == b"vertex":
            check_numbers(parts, 3, "a corner", place)
            corners += 1
    if corners % 3:
        raise ValueError(f"{corners} corners of triangles, which have three each")
