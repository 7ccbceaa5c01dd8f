"""JSON and MessagePack decoded to types.

msgspec learns a type when it first decodes one, and crashes if two threads do that at once, even for two types with a
common part. So every type is learnt under one lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

_learning = threading.RLock()
_learnt: set[Any] = set()
Decoded = TypeVar("Decoded")


def decoder_of(
    kind: Any,
    *,
    ext_hook: Callable[[int, memoryview], Any] | None = None,
    dec_hook: Callable[[type, Any], Any] | None = None,
) -> msgspec.msgpack.Decoder[Any]:
    """Return a decoder of MessagePack for one type; the hooks are msgspec's."""
    with _learning:
        return msgspec.msgpack.Decoder(kind, ext_hook=ext_hook, dec_hook=dec_hook)


def decode_msgpack(data: bytes, kind: type[Decoded]) -> Decoded:
    """Return MessagePack as a type. Raise msgspec.DecodeError if it is malformed or of another type."""
    _learn(kind)
    return msgspec.msgpack.decode(data, type=kind)


def decode_json(data: bytes, kind: type[Decoded]) -> Decoded:
    """Return JSON as a type. Raise msgspec.DecodeError if it is malformed or of another type."""
    _learn(kind)
    return msgspec.json.decode(data, type=kind)


def convert(data: object, kind: type[Decoded]) -> Decoded:
    """Return dictionaries, lists and numbers as a type. Raise msgspec.ValidationError if they are of another type."""
    _learn(kind)
    return msgspec.convert(data, kind)


def type_info(kind: Any) -> msgspec.inspect.Type:
    """Return the description of a type by msgspec, which learns the type for it."""
    with _learning:
        return msgspec.inspect.type_info(kind)


def _learn(kind: Any) -> None:
    if kind not in _learnt:
        decoder_of(kind)
        _learnt.add(kind)
