"""Decodes the numbers of a glTF model, and writes them as plain floats and indices for the library that reads it.

The library takes sparse and scaled numbers as they are stored, and leaves out fans of triangles, other places in a
texture than the first, and transforms of these. Where a number of the model is wrong, its message says nothing.
"""

import base64
import binascii
import json
import struct
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import numpy as np

from warploom.engine.diagnostics import cut

Array = np.ndarray[Any, Any]
#: An object of the JSON.
Item = dict[str, Any]

#: The name of the attribute with the colours of points of triangles; the library keeps it as it is.
COLOURS = "_COLOR0"
#: Extensions without which a model is another one.
_NOT_READ = {
    "KHR_draco_mesh_compression": "compression",
    "EXT_meshopt_compression": "compression",
    "KHR_meshopt_compression": "compression",
    "EXT_mesh_gpu_instancing": "instances",
}
_TRANSFORM = "KHR_texture_transform"
#: numpy's names of the types of numbers, and how many numbers an element has.
_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_SIZES = {"matrix": 16, "translation": 3, "rotation": 4, "scale": 3}
_POINTS, _TRIANGLES, _STRIP, _FAN = 0, 4, 5, 6
#: The most elements of an accessor that has no data, and stands for zeros.
_MOST_ZEROS = 1 << 24
#: What comes before each chunk of a binary file: its length and kind.
_CHUNK = struct.Struct("<II")
_JSON, _BODY = 0x4E4F534A, 0x004E4942
_MAGIC = b"glTF"


def plain_gltf(held: bytes, beside: Callable[[str], bytes]) -> bytes:
    """Return a glTF model, a text or a binary file, as a binary file that needs no other but pictures.

    `beside` returns the contents of a file that the model names. Raise ValueError for damage, with the item of the
    model that is wrong.
    """
    tree, body = _chunks(held)
    for name in tree.get("extensionsRequired", ()):
        if name in _NOT_READ:
            raise ValueError(f"a model with {name}; export it without {_NOT_READ[name]}")
    try:
        if not str(version := tree.get("asset", {}).get("version", "2.0")).startswith("2."):
            raise ValueError(f"a model in glTF {cut(str(version), 20)}; export it as glTF 2.0")
        return _Plain(tree, body, beside).written()
    except (AttributeError, KeyError, TypeError) as problem:
        raise ValueError(f"an item of a model that is of another kind ({cut(str(problem), 60)})") from problem


def _chunks(held: bytes) -> tuple[Item, bytes | None]:
    """Return the JSON of a model, and the numbers that a binary file holds."""
    text, body = held, None
    if held[:4] == _MAGIC:
        text, at = b"", 12
        while at + _CHUNK.size <= len(held):
            length, kind = _CHUNK.unpack_from(held, at)
            at += _CHUNK.size
            if at + length > len(held):
                raise ValueError(f"a part of {length} bytes in a file that ends after {len(held) - at}")
            if kind == _JSON:
                text = held[at : at + length]
            elif kind == _BODY:
                body = held[at : at + length]
            at += length
    try:
        tree = json.loads(text)
    except ValueError as problem:
        raise ValueError(f"no JSON of a model ({problem})") from None
    if not isinstance(tree, dict):
        raise ValueError("JSON that is no glTF")
    return tree, body


class _Plain:
    """A model while its numbers are decoded and written again."""

    def __init__(self, tree: Item, body: bytes | None, beside: Callable[[str], bytes]) -> None:
        self._tree, self._body, self._beside = tree, body, beside
        self._buffers: dict[int, bytes] = {}
        #: What is written: numbers, and where they lie.
        self._parts: list[bytes] = []
        self._views: list[Item] = []
        self._accessors: list[Item] = []

    def written(self) -> bytes:
        """Return the binary file."""
        self._check_nodes()
        kept: Item = {
            name: self._tree[name]
            for name in ("asset", "scene", "scenes", "nodes", "textures", "samplers", "images")
            if name in self._tree
        }
        kept["meshes"] = [
            {"name": "mesh", "primitives": [self._primitive(part) for part in _items(mesh, "primitives")]}
            for mesh in _items(self._tree, "meshes")
        ]
        kept["materials"] = [
            material | {"name": json.dumps(_factor(material))} for material in _items(self._tree, "materials")
        ]
        kept["images"] = [self._image(image) for image in _items(self._tree, "images")]
        body = b"".join(self._parts)
        kept |= {"accessors": self._accessors, "bufferViews": self._views, "buffers": [{"byteLength": len(body)}]}
        text = json.dumps(kept).encode()
        text += b" " * (-len(text) % 4)
        whole = _CHUNK.pack(len(text), _JSON) + text + _CHUNK.pack(len(body), _BODY) + body
        return _MAGIC + struct.pack("<II", 2, 12 + len(whole)) + whole

    def _check_nodes(self) -> None:
        """Raise ValueError unless each node has at most one parent and the numbers of its place."""
        scenes = _items(self._tree, "scenes")
        waiting = list(self._item("scenes", self._tree.get("scene", 0)).get("nodes", ())) if scenes else []
        seen = set[int]()
        while waiting:
            node = self._item("nodes", place := waiting.pop())
            if place in seen:
                raise ValueError(f"node {place} with two parents")
            seen.add(place)
            for name, size in _SIZES.items():
                if name in node:
                    _check_floats(node[name], size, f"{name} of node {place}")
            if "mesh" in node:
                self._item("meshes", node["mesh"])
            waiting += node.get("children", ())

    def _primitive(self, part: Item) -> Item:
        """Return a part of a mesh, with its numbers written again."""
        stored, mode = part.get("attributes", {}), part.get("mode", _TRIANGLES)
        if mode not in range(_FAN + 1):
            raise ValueError(f"mode {mode} of a mesh, which must be from 0 to {_FAN}")
        points = self._vectors(stored, "POSITION", 3)
        if points is None:
            raise ValueError("a mesh without positions")
        made: Item = {"mode": mode, "attributes": {"POSITION": self._write(points)}}
        texture: Item = {}
        if "material" in part:
            made["material"] = part["material"]
            colours = self._item("materials", part["material"]).get("pbrMetallicRoughness", {})
            texture = colours.get("baseColorTexture", {})
        change = texture.get("extensions", {}).get(_TRANSFORM, {})
        places = self._vectors(stored, f"TEXCOORD_{change.get('texCoord', texture.get('texCoord', 0))}", 2)
        others = {
            "NORMAL": self._vectors(stored, "NORMAL", 3),
            "TEXCOORD_0": None if places is None else _moved(places, change),
            "COLOR_0" if mode == _POINTS else COLOURS: self._vectors(stored, "COLOR_0", 3, 4),
        }
        for name, vectors in others.items():
            if vectors is not None and len(vectors) != len(points):
                raise ValueError(f"{len(vectors)} of {name} for {len(points)} points")
            if vectors is not None:
                made["attributes"][name] = self._write(vectors)
        corners = np.arange(len(points))
        if "indices" in part:
            corners = self._numbers(part["indices"]).reshape(-1)
            if corners.dtype.kind != "u":
                raise ValueError("corners of triangles that are no whole numbers from 0")
            if corners.size and corners.max() >= len(points):
                raise ValueError(f"a triangle with point {corners.max()} of {len(points)}; points count from 0")
        if mode == _FAN:
            centres = np.repeat(corners[:1], max(len(corners) - 2, 0))
            corners = np.stack([centres, corners[1:-1], corners[2:]], axis=1)
            made["mode"] = _TRIANGLES
        elif mode == _TRIANGLES and corners.size % 3:
            raise ValueError(f"{corners.size} corners of triangles, which have three each")
        if mode in (_TRIANGLES, _STRIP, _FAN):
            made["indices"] = self._write(corners.reshape(-1, 1).astype("<u4"))
        return made

    def _vectors(self, attributes: Item, name: str, *widths: int) -> Array | None:
        """Return an attribute of points as f32, None if there is none."""
        if name not in attributes:
            return None
        # Colours are always shares: some programs don't say so of whole numbers.
        numbers = self._numbers(attributes[name], is_scaled=name == "COLOR_0")
        if numbers.shape[1] not in widths:
            raise ValueError(f"{name} with {numbers.shape[1]} numbers for each point instead of {widths[0]}")
        return numbers.astype("<f4")

    def _numbers(self, place: Any, *, is_scaled: bool = False) -> Array:
        """Return the numbers of an accessor, shape [count, width]: floats if they are scaled, else as stored."""
        accessor = self._item("accessors", place)
        what = f"accessor {place}"
        count, width = _whole(accessor, "count", what), _WIDTHS.get(accessor.get("type", ""), 0)
        kind = _TYPES.get(accessor.get("componentType", 0))
        if kind is None or not width:
            raise ValueError(
                f"{what} of type {accessor.get('type')} and component type {accessor.get('componentType')}"
            )
        if "bufferView" in accessor:
            numbers = self._elements(accessor, what, count, width, kind)
        elif count > _MOST_ZEROS:
            raise ValueError(f"{count} elements without data")
        else:
            numbers = np.zeros((count, width), kind)
        if "sparse" in accessor:
            sparse = accessor["sparse"]
            changed = _whole(sparse, "count", f"sparse numbers of {what}")
            places = self._elements(
                sparse["indices"], what, changed, 1, _TYPES.get(sparse["indices"].get("componentType"), "u1")
            )
            if changed and places.max() >= count:
                raise ValueError(f"{what} with a number for element {places.max()} of {count}")
            numbers[places[:, 0]] = self._elements(sparse["values"], what, changed, width, kind)
        if not (is_scaled or accessor.get("normalized")) or numbers.dtype.kind == "f":
            return numbers
        return np.maximum(numbers / np.iinfo(numbers.dtype).max, -1)

    def _elements(self, at: Item, what: str, count: int, width: int, kind: str) -> Array:
        """Return elements of a view of a buffer; `at` names it, and the place in it."""
        view = self._item("bufferViews", at.get("bufferView"))
        held, dtype = self._view(view), np.dtype(kind)
        offset, size = _whole(at, "byteOffset", what, 0), width * dtype.itemsize
        stride = _whole(view, "byteStride", what, size)
        needed = offset + (count - 1) * stride + size if count else 0
        if stride < size or needed > len(held):
            raise ValueError(f"{what} with {count} elements of {size} bytes, {stride} apart, in {len(held)} bytes")
        return np.ndarray((count, width), dtype, held, offset if count else 0, (stride, dtype.itemsize)).copy()

    def _view(self, view: Item) -> bytes:
        buffer, place = self._item("buffers", view.get("buffer")), int(view["buffer"])
        if place not in self._buffers:
            self._buffers[place] = self._buffer(buffer)
        held = self._buffers[place]
        begin, length = _whole(view, "byteOffset", "a view", 0), _whole(view, "byteLength", "a view")
        if begin + length > len(held):
            raise ValueError(f"bytes {begin} to {begin + length} of buffer {place}, which has {len(held)}")
        return held[begin : begin + length]

    def _buffer(self, buffer: Item) -> bytes:
        uri = buffer.get("uri")
        if uri is None:
            if self._body is None:
                raise ValueError("a buffer without data")
            return self._body
        if not uri.startswith("data:"):
            return self._beside(unquote(uri))
        try:
            return base64.b64decode(uri.partition(",")[2], validate=True)
        except binascii.Error as problem:
            raise ValueError(f"a buffer whose text is no base64 ({problem})") from None

    def _image(self, image: Item) -> Item:
        """Return a picture, whose bytes are written again if the model holds them."""
        if "bufferView" not in image:
            return image
        held = self._view(self._item("bufferViews", image["bufferView"]))
        return image | {"bufferView": self._append(held)}

    def _write(self, numbers: Array) -> int:
        """Write numbers, shape [count, width], and return the place of their accessor."""
        types = {code: component for component, code in _TYPES.items()}
        widths = {width: name for name, width in _WIDTHS.items()}
        self._accessors.append(
            {
                "bufferView": self._append(numbers.tobytes()),
                "componentType": types[numbers.dtype.str],
                "count": len(numbers),
                "type": widths[numbers.shape[1]],
            }
        )
        return len(self._accessors) - 1

    def _append(self, held: bytes) -> int:
        last = self._views[-1] if self._views else {"byteOffset": 0, "byteLength": 0}
        begin = last["byteOffset"] + last["byteLength"]
        begin += -begin % 4
        self._views.append({"buffer": 0, "byteOffset": begin, "byteLength": len(held)})
        self._parts.append(held + bytes(-len(held) % 4))
        return len(self._views) - 1

    def _item(self, kind: str, place: Any) -> Item:
        """Return an item of a list of the model."""
        items = _items(self._tree, kind)
        if type(place) is not int or not 0 <= place < len(items):
            raise ValueError(f"number {cut(str(place), 20)} of {len(items)} {kind}, which count from 0")
        return items[place]


def _items(owner: Item, kind: str) -> list[Item]:
    items = owner.get(kind, [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError(f"{kind} that are no list of objects")
    return items


def _whole(owner: Item, name: str, what: str, default: int | None = None) -> int:
    """Return a whole number from 0 of an item."""
    number = owner.get(name, default)
    if type(number) is not int or number < 0:
        raise ValueError(f"{what} with {name} {cut(str(number), 20)}, which must be a whole number from 0")
    return number


def _check_floats(numbers: Any, size: int, what: str) -> None:
    is_list = isinstance(numbers, list) and len(numbers) == size
    if not is_list or not all(isinstance(number, int | float) for number in numbers):
        raise ValueError(f"{what} that is not {size} numbers")


def _factor(material: Item) -> list[float] | None:
    """Return the linear RGBA of a material. The library rounds it to 8 bits, so that the material's name holds it."""
    factor: list[float] | None = material.get("pbrMetallicRoughness", {}).get("baseColorFactor")
    if factor is not None:
        _check_floats(factor, 4, "colour of a material")
    return factor


def _moved(places: Array, change: Item) -> Array:
    """Return places in a texture after the transform that the extension KHR_texture_transform states."""
    if not change:
        return places
    for name in ("offset", "scale"):
        _check_floats(change.get(name, [0, 0]), 2, f"{name} of a texture")
    turn = float(change.get("rotation", 0))
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return np.asarray(places * change.get("scale", [1, 1]) @ matrix + change.get("offset", [0, 0]), "<f4")
