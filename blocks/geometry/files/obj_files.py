"""Writes an OBJ file as the library reads it: one kind of corners, as many numbers in each row, and no dents.

The library takes the first face for a sample of all, and skips points with too few numbers.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from warploom.blocks.geometry.files.polygons import cut_polygons, has_dents
from warploom.engine.diagnostics import cut

Array = np.ndarray[Any, Any]
#: The point of a corner, its place in a texture and its normal; 0 for none.
_Corner = tuple[int, int, int]

#: A comment behind numbers, which the library doesn't expect there.
_COMMENT = re.compile(rb"(?<=[ \t])#[^\n]*")
#: Spaces before the first word of a line, the end of a line that goes on, and the choice of a material.
_INDENT = re.compile(rb"^ +", re.MULTILINE)
_CONTINUED = re.compile(rb"\\ *\n")
_MATERIAL = re.compile(rb"^usemtl[^\n]*", re.MULTILINE)
#: Faces of one kind: points, with places in a texture, with normals, or with both.
_KINDS = tuple(
    re.compile(rb"^f(?: +%s){3,} *$" % corner.replace(b"n", rb"[1-9]\d*"), re.MULTILINE)
    for corner in (b"n", b"n/n", b"n//n", b"n/n/n")
)
_FACE = re.compile(rb"^f", re.MULTILINE)
_POLYGON = re.compile(rb"^f((?: +[^\s#]+){4,}) *$", re.MULTILINE)
_POINT = re.compile(rb"^v +(\S+) +(\S+) +(\S+)", re.MULTILINE)
#: The words that rows of numbers begin with, and the fewest numbers in one.
_ROWS = {b"v": 3, b"vt": 1, b"vn": 3}
_INDEX = re.compile(rb"[-+]?\d+")


def plain_obj(text: bytes) -> bytes:
    """Return an OBJ file in UTF-8 for the library. ValueError has the line of what is wrong."""
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\t", b" ")
    text = _COMMENT.sub(b"", _INDENT.sub(b"", _CONTINUED.sub(b" ", text)))
    if b"mtllib " not in text:  # the library would repeat all points for each material
        text = _MATERIAL.sub(b"", text)
    return _triangles(text if _is_plain(text) else checked_lines(text))


def _is_plain(text: bytes) -> bool:
    """Return whether all faces are of one kind, and all rows of a kind have as many numbers as they need."""
    faces = len(_FACE.findall(text))
    if faces and not any(kind.search(text) and len(kind.findall(text)) == faces for kind in _KINDS):
        return False
    for word, least in _ROWS.items():
        rows = re.findall(rb"^%s(?![^ \n])([^\n]*)" % word, text, re.MULTILINE)
        widths = {len(row.split()) for row in rows}
        if widths and (len(widths) > 1 or min(widths) < max(least, 2)):
            return False
    return True


def checked_lines(text: bytes) -> bytes:
    """Return an OBJ file whose faces count from the first point, with what some of its rows and corners lack.

    If any face has places in a texture, others get the place 0, 0; if any has normals, others get that of their plane.
    If any point has a colour, others are white. Raise ValueError, with the line, for words that are no numbers and
    corners that don't exist.
    """
    lines = text.split(b"\n")
    rows: dict[bytes, list[tuple[int, list[bytes]]]] = {word: [] for word in _ROWS}
    named = list[tuple[int, list[bytes], list[int]]]()
    for place, line in enumerate(lines):
        word, *parts = line.split() or [b""]
        if word in _ROWS:
            check_numbers(parts, _ROWS[word], word.decode(), place)
            rows[word].append((place, parts))
        elif word == b"f" and len(parts) > 2:
            named.append((place, parts, [len(known) for known in rows.values()]))
        elif word[:1] == b"f":  # too few corners, or a word that the library would take for a face
            lines[place] = b""
    counts = [len(known) for known in rows.values()]
    faces = [(place, [_corner(part, so_far, counts, place) for part in parts]) for place, parts, so_far in named]
    has_colours = any(len(parts) > 5 for _, parts in rows[b"v"])
    for word, more in ((b"v", [b"1"] * 3 * has_colours), (b"vt", [b"0"]), (b"vn", [])):
        least = _ROWS[word]
        for place, parts in rows[word]:
            own = parts[least:] if len(parts) >= least + len(more) else more
            lines[place] = b" ".join([word, *parts[:least], *own[: len(more)]])
    points = [[float(part) for part in parts[:3]] for _, parts in rows[b"v"]]
    has_places, has_normals = (any(corner[k] for _, face in faces for corner in face) for k in (1, 2))
    first_place, normals = counts[1] + 1, counts[2]
    if has_places:
        lines.append(b"vt 0 0")
    for place, face in faces:
        normal = 0
        if has_normals and not all(corner[2] for corner in face):
            normals += 1
            normal = normals
            lines.append(b"vn %r %r %r" % tuple(_normal([points[corner[0] - 1] for corner in face])))
        middle = [b"/%d" % (uv or first_place) if has_places else b"/" if has_normals else b"" for _, uv, _ in face]
        end = [b"/%d" % (normal or own) if has_normals else b"" for _, _, own in face]
        corners = [b"%d%b%b" % (corner[0], uv, own) for corner, uv, own in zip(face, middle, end, strict=True)]
        lines[place] = b" ".join([b"f", *corners])
    return b"\n".join(lines) + b"\n"


def check_numbers(parts: Sequence[bytes], least: int, what: str, place: int) -> None:
    """Raise ValueError, with the line, for words that are no numbers, or fewer than `least`."""
    for part in parts:
        try:
            float(part)
        except ValueError:
            raise ValueError(f"{_shown(part)} for a number in line {place + 1}") from None
    if len(parts) < least:
        raise ValueError(f"{len(parts)} numbers instead of {least} for {what} in line {place + 1}")


def _corner(part: bytes, so_far: Sequence[int], counts: Sequence[int], place: int) -> _Corner:
    """Return a corner of a face. Its indices count from the first row of a kind, or back from the last one so far."""
    parts = part.split(b"/")
    if len(parts) > len(counts) or not parts[0] or not all(_INDEX.fullmatch(index) for index in parts if index):
        raise ValueError(f"a face in line {place + 1} with {_shown(part)} for a corner")
    found = [0, 0, 0]
    for kind, index in enumerate(parts):
        if index and (counts[kind] or not kind):  # indices of what the file doesn't have at all are ignored
            number = int(index)
            found[kind] = number if number > 0 else number + so_far[kind] + 1 if number else 0
            if not 1 <= found[kind] <= counts[kind]:
                name = ("point", "texture place", "normal")[kind]
                raise ValueError(
                    f"a face in line {place + 1} with {name} {number} of {counts[kind]}; {name}s count from 1"
                )
    return found[0], found[1], found[2]


def _normal(ring: Sequence[Sequence[float]]) -> list[float]:
    """Return the normal of a polygon by the areas of its triangles; z for one without an area."""
    sides = np.asarray(ring[1:]) - ring[0]
    whole = np.cross(sides[:-1], sides[1:]).sum(axis=0)
    length = float(np.linalg.norm(whole))
    return [float(part) for part in whole / length] if length > 0 else [0.0, 0.0, 1.0]


def _shown(part: bytes) -> str:
    return cut(part.decode(errors="replace"), 20)


def _triangles(text: bytes) -> bytes:
    """Return an OBJ file, in which faces count from the first point, without faces that have dents."""
    found = list(_POLYGON.finditer(text))
    if not found:
        return text
    points = np.array(_POINT.findall(text), np.float64).reshape(-1, 3)
    faces = [match[1].split() for match in found]
    rings = [[int(corner.split(b"/")[0]) - 1 for corner in face] for face in faces]
    counts = np.array([len(ring) for ring in rings])
    corners = np.concatenate([np.array(ring) for ring in rings])
    if corners.min() < 0 or corners.max() >= len(points):
        return text  # the reader of the text names the line
    begins, parts, end = np.cumsum(counts) - counts, [], 0
    dented = np.zeros(len(rings), bool)
    for count in np.unique(counts):
        alike = np.flatnonzero(counts == count)
        dented[alike] = has_dents(points, corners[begins[alike, np.newaxis] + np.arange(count)])
    for place in np.flatnonzero(dented):
        match, face = found[place], faces[place]
        ring = np.arange(len(face))
        triangles, _ = cut_polygons(points[rings[place]], np.array([len(face)]), ring)
        parts += [text[end : match.start()], b"\n".join(b"f " + b" ".join(face[k] for k in t) for t in triangles)]
        end = match.end()
    return b"".join([*parts, text[end:]])
