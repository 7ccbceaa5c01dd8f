"""What a patch has beside its blocks: frames, dots of connections, bookmarks, presets, pins, OSC and the timeline.

Of these, only orders change what the engine builds. Each annotation has a key, which is unique in its patch.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, TypeVar

import msgspec
import numpy as np

from warploom.engine.blocktypes.parameters import MOST_DEPTH, check_depth
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.timeline import Timeline, checked_timeline
from warploom.engine.patch.organise.osc import Osc, OscOut, checked_osc, checked_out
from warploom.engine.patch.organise.pins import Pin, checked_pin
from warploom.engine.patch.positions import Position, checked_position, rounded_number
from warploom.engine.types.bits import same

#: The colours of frames, by name; the editor's themes say how each looks.
COLOURS = ("grey", "blue", "teal", "green", "yellow", "orange", "pink", "purple")
#: The most characters of a title, and of a comment; the most dots of a connection; the least side of a frame.
LONGEST_TITLE, LONGEST_COMMENT, MOST_DOTS, LEAST_SIDE = 200, 10_000, 64, 48.0
#: The element types of arrays in files, as numpy names them without the byte order.
_ARRAYS = frozenset(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8"))
_ZOOMS = (0.01, 100.0)


class Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """A titled box behind blocks, in the group `group` or outside all. The blocks inside it move with it."""

    kind: ClassVar[str] = "frame"

    id: str
    title: str = ""
    comment: str = ""
    colour: str = COLOURS[0]
    position: Position = (0.0, 0.0)
    size: Position = (320.0, 200.0)
    group: str = ""
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"frame {self.id}"

    def holds(self, position: Position, size: Position) -> bool:
        """True when a rectangle is inside the frame."""
        return all(
            low <= at and at + extent <= low + whole
            for low, whole, at, extent in zip(self.position, self.size, position, size, strict=True)
        )


class Dots(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """The points that the connection into an input passes through on the canvas, from its source to its target."""

    kind: ClassVar[str] = "dots"

    node: str
    port: str
    points: tuple[Position, ...] = ()
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"dots {self.node}.{self.port}"


class Bookmark(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """A part of the canvas to return to: the open group, its middle, and the zoom, which is 1 at 100 %."""

    kind: ClassVar[str] = "bookmark"

    number: int
    title: str = ""
    centre: Position = (0.0, 0.0)
    zoom: float = 1.0
    group: str = ""
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"bookmark {self.number}"


class Preset(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """Named parameter values for blocks of one type; parameters that it leaves out have their defaults."""

    kind: ClassVar[str] = "preset"

    type: str
    name: str
    parameters: dict[str, Any] = {}
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"preset {self.type} {self.name}"


class PinnedViewer(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """An output that a viewer keeps showing while the patch is open."""

    kind: ClassVar[str] = "pinned viewer"

    node: str
    port: str
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"viewer {self.node}.{self.port}"


class RunOrder(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """In each frame, or turn of a loop, the block `first` ends before the block `then` begins, without a connection.

    Of two blocks in different regions, the regions around them are ordered.
    """

    kind: ClassVar[str] = "order"

    first: str
    then: str
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"order {self.first} {self.then}"


Annotation = Frame | Dots | Bookmark | Preset | Pin | Osc | OscOut | PinnedViewer | RunOrder | Timeline
KINDS: tuple[type[Annotation], ...] = (
    *(Frame, Dots, Bookmark, Preset, Pin),
    *(Osc, OscOut, PinnedViewer, RunOrder, Timeline),
)
Moved = TypeVar("Moved", Frame, Dots)
AnnotationType = TypeVar(
    "AnnotationType", Frame, Dots, Bookmark, Preset, Pin, Osc, OscOut, PinnedViewer, RunOrder, Timeline
)


def is_same(one: Annotation | None, other: Annotation | None) -> bool:
    """True when two annotations have the same fields, arrays of presets among them."""
    if one is None or other is None or type(one) is not type(other):
        return one is other
    return same(msgspec.structs.asdict(one), msgspec.structs.asdict(other))


def moved(note: Moved, offset: Position) -> Moved:
    """Return a frame or dots at another place."""
    dx, dy = offset
    if isinstance(note, Frame):
        return msgspec.structs.replace(note, position=(note.position[0] + dx, note.position[1] + dy))
    return msgspec.structs.replace(note, points=tuple((x + dx, y + dy) for x, y in note.points))


def checked_annotation(annotation: Annotation) -> Annotation:
    """Return an annotation with its numbers rounded as in a file. Raise PatchError that names a wrong field."""
    match annotation:
        case Frame():
            if annotation.colour not in COLOURS:
                raise PatchError(
                    f"colour of a frame must be one of {', '.join(COLOURS)}, got {shown(annotation.colour)}"
                )
            size = checked_position(annotation.size, "size of a frame")
            if min(size) < LEAST_SIDE:
                raise PatchError(f"size of a frame must be at least {LEAST_SIDE:g} each way, got {shown(size)}")
            _name("id of a frame", annotation.id)
            check_text("title of a frame", annotation.title, LONGEST_TITLE)
            check_text("comment of a frame", annotation.comment, LONGEST_COMMENT)
            check_text("group of a frame", annotation.group, LONGEST_TITLE)
            position = checked_position(annotation.position, "position of a frame")
            return msgspec.structs.replace(annotation, position=position, size=size)
        case Dots():
            _name("node of dots", annotation.node)
            _name("port of dots", annotation.port)
            if not isinstance(annotation.points, tuple) or not 1 <= len(annotation.points) <= MOST_DOTS:
                raise PatchError(f"dots of a connection must be 1 to {MOST_DOTS}, got {shown(annotation.points)}")
            points = tuple(checked_position(point, "dot") for point in annotation.points)
            return msgspec.structs.replace(annotation, points=points)
        case Bookmark():
            if type(annotation.number) is not int or not 1 <= annotation.number <= 999:
                raise PatchError(f"number of a bookmark must be from 1 to 999, got {shown(annotation.number)}")
            zoom = rounded_number(annotation.zoom)
            if zoom is None or not _ZOOMS[0] <= zoom <= _ZOOMS[1]:
                raise PatchError(
                    f"zoom of a bookmark must be from {_ZOOMS[0]} to {_ZOOMS[1]}, got {shown(annotation.zoom)}"
                )
            check_text("title of a bookmark", annotation.title, LONGEST_TITLE)
            check_text("group of a bookmark", annotation.group, LONGEST_TITLE)
            centre = checked_position(annotation.centre, "centre of a bookmark")
            return msgspec.structs.replace(annotation, centre=centre, zoom=zoom)
        case Preset():
            _name("type of a preset", annotation.type)
            _name("name of a preset", annotation.name)
            return msgspec.structs.replace(annotation, parameters=_values(annotation.parameters))
        case Pin():
            return checked_pin(annotation)
        case PinnedViewer():
            _name("node of a pinned viewer", annotation.node)
            _name("port of a pinned viewer", annotation.port)
            return annotation
        case RunOrder():
            _name("first block of an order", annotation.first)
            _name("second block of an order", annotation.then)
            return annotation
        case Osc():
            return checked_osc(annotation)
        case OscOut():
            return checked_out(annotation)
        case Timeline():
            return checked_timeline(annotation)
    names = ", ".join(kind.__name__ for kind in KINDS)
    raise PatchError(f"annotation must be one of {names}, got {shown(annotation)}")


def _values(values: object) -> dict[str, Any]:
    """Return the parameter values of a preset in the form that files hold."""
    if not isinstance(values, dict):
        raise PatchError(f"parameters of a preset must be an object, got {shown(values)}")
    found = {}
    for name, value in values.items():
        try:
            found[str.__str__(name)] = _plain(value)
        except (TypeError, ValueError, RecursionError):
            text = f"parameter {shown(name)} of a preset must have a value that files hold"
            raise PatchError(f"{text}, got {shown(value)}") from None
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.str[1:] not in _ARRAYS:
            raise TypeError
        array = np.ascontiguousarray(value).reshape(value.shape)
        return array.view(np.uint8) != 0 if array.dtype == bool else array  # other bytes than 0 and 1 count as True
    check_depth(value, MOST_DEPTH)
    plain = json.loads(json.dumps(value, allow_nan=False))
    if isinstance(plain, dict) and "base64" in plain:
        raise TypeError
    return plain


def _name(what: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > LONGEST_TITLE:
        raise PatchError(f"{what} must be a text of 1 to {LONGEST_TITLE} characters, got {shown(text)}")


def check_text(what: str, text: object, most: int) -> None:
    """Raise PatchError unless `text` is a text that files hold, of at most so many characters."""
    if not isinstance(text, str) or len(text) > most or any("\ud800" <= c <= "\udfff" for c in text):
        raise PatchError(f"{what} must be a text of at most {most} characters, got {shown(text)}")
