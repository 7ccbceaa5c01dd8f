"""Annotations as lists of JSON objects in the patch's file; fields of newer formats are kept.

::

    "frames": [{"id": "frame", "title": "Physics", "colour": "blue", "position": [0, 0], "size": [320, 200]}],
    "dots": [{"target": "blur.image", "points": [[80, 16]]}],
    "bookmarks": [{"number": 1, "title": "", "centre": [0, 0], "zoom": 1}],
    "presets": [{"type": "image.gaussian_blur", "name": "soft", "parameters": {"sigma": 8.0}}],
    "pins": [{"node": "sum", "port": "out", "dtype": "<f4", "shape": [2], "values": [1.5, 2], "frame": 0,
              "tolerance": 0.001}],
    "pinned_viewers": [{"node": "blur", "port": "out"}],
    "orders": [{"first": "emit", "then": "draw"}],
    "osc": [{"port": 9000, "host": "127.0.0.1", "to": "127.0.0.1:9001"}],
    "osc_outs": [{"node": "lfo", "port": "value"}],
    "timeline": [{"rate": 24.0, "length": 240, "first": 0, "loop": true, "every_frame": false}]
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.timeline import TIMELINE, Timeline
from warploom.engine.patch.organise.annotations import (
    Annotation,
    Bookmark,
    Dots,
    Frame,
    PinnedViewer,
    Preset,
    RunOrder,
    checked_annotation,
)
from warploom.engine.patch.organise.osc import Osc, OscOut
from warploom.engine.patch.organise.pins import Pin

#: The list of each kind in a file.
LISTS: dict[str, type[Annotation]] = {
    "frames": Frame,
    "dots": Dots,
    "bookmarks": Bookmark,
    "presets": Preset,
    "pins": Pin,
    "pinned_viewers": PinnedViewer,
    "orders": RunOrder,
    "osc": Osc,
    "osc_outs": OscOut,
    TIMELINE: Timeline,
}
#: Fields that a file leaves out when they are empty, which they are in a new annotation.
_OPTIONAL = ("title", "comment", "group", "file", "values", "relative", "budget_ms", "address", "to", "last")


def dump_annotations(
    annotations: Mapping[str, Annotation], targets: Collection[str], dump_value: Callable[[Any], Any]
) -> dict[str, list[dict[str, Any]]]:
    """Return the lists that are not empty, sorted by key; dots only of the connections into `targets`."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, kind in LISTS.items():
        items = [item for _, item in sorted(annotations.items()) if isinstance(item, kind)]
        made = [
            _dump(item, dump_value)
            for item in items
            if not isinstance(item, Dots) or f"{item.node}.{item.port}" in targets
        ]
        if made:
            found[name] = made
    return found


def _dump(item: Annotation, dump_value: Callable[[Any], Any]) -> dict[str, Any]:
    if isinstance(item, Dots):
        return {**item.extra, "target": f"{item.node}.{item.port}", "points": [list(point) for point in item.points]}
    fields = {name: getattr(item, name) for name in item.__struct_fields__ if name != "extra"}
    for field in msgspec.structs.fields(item):
        if field.name in _OPTIONAL and not field.default and fields[field.name] == field.default:
            del fields[field.name]
    if isinstance(item, Preset):
        fields["parameters"] = {name: dump_value(value) for name, value in sorted(item.parameters.items())}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {**item.extra, **plain}


def parse_annotations(
    document: Mapping[str, Any], name: str, targets: Collection[str], parse_value: Callable[[Any, str], Any]
) -> list[Annotation]:
    """Return the annotations of a JSON object; `name` is its name in messages.

    Dots are left out unless a connection leads into their target, since nothing else would show or remove them.
    """
    found: dict[str, Annotation] = {}
    for list_name, kind in LISTS.items():
        items = document.get(list_name, [])
        if not isinstance(items, list):
            raise PatchError(f'{name}: "{list_name}" must be a list, got {type(items).__name__}')
        for index, item in enumerate(items):
            where = f"{name}: {list_name}[{index}]"
            if not isinstance(item, dict):
                raise PatchError(f"{where} must be an object, got {type(item).__name__}")
            try:
                made = checked_annotation(_parse(kind, item, where, parse_value))
            except PatchError as problem:
                text = str(problem)
                raise PatchError(text if text.startswith(name) else f"{where}: {text}") from None
            if made.key in found:
                raise PatchError(f"{where}: {kind.kind} must be in the patch once, got {shown(made.key)} twice")
            if not isinstance(made, Dots) or f"{made.node}.{made.port}" in targets:
                found[made.key] = made
    return list(found.values())


def _parse(
    kind: type[Annotation], item: dict[str, Any], where: str, parse_value: Callable[[Any, str], Any]
) -> Annotation:
    if kind is Dots:
        node, dot, port = str(item.get("target", "")).partition(".")
        points = item.get("points")
        if not (node and dot and port) or not isinstance(points, list):
            raise PatchError(f'{where} must have a "target" such as "node.port" and a list of "points"')
        extra = {key: value for key, value in item.items() if key not in ("target", "points")}
        return Dots(node=node, port=port, points=tuple(map(_tuple, points)), extra=extra)
    names = [name for name in kind.__struct_fields__ if name != "extra"]
    fields = {key: _tuple(value) for key, value in item.items() if key in names}
    if kind is Preset:
        if not isinstance(item.get("parameters"), dict):
            raise PatchError(f'{where} must have an object of "parameters"')
        fields["parameters"] = {key: parse_value(value, where) for key, value in item["parameters"].items()}
    extra = {key: value for key, value in item.items() if key not in names}
    missing = [field.name for field in msgspec.structs.fields(kind) if field.required and field.name not in fields]
    if missing:
        raise PatchError(f'{where} must have "{missing[0]}"')
    return kind(**fields, extra=extra)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
