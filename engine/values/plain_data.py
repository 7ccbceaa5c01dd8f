"""Plain data as text: numbers, texts, lists, arrays and random generators, which read back equal to the last bit."""

import base64
import json
import random
from collections import deque
from typing import Any

import numpy as np

_LISTS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def dump_plain(value: Any) -> str:
    """Return plain data as text. Raise TypeError for an object of another type."""
    return json.dumps(_dumped(value))


def load_plain(text: str) -> Any:
    """Return what `dump_plain` was given."""
    return _loaded(json.loads(text))


def _dumped(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind.__name__ in _LISTS and kind is _LISTS[kind.__name__]:
        return [kind.__name__, *map(_dumped, value)]
    if kind is dict:
        return ["dict", *([_dumped(key), _dumped(each)] for key, each in value.items())]
    if kind is deque:
        return ["deque", value.maxlen, *map(_dumped, value)]
    if kind is random.Random:
        return ["random", _dumped(value.getstate())]
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        array = np.asarray(value)
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return ["array" if kind is np.ndarray else "number", array.dtype.str, list(array.shape), data]
    raise TypeError(kind.__name__)


def _loaded(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == "dict":
        return {_loaded(key): _loaded(each) for key, each in rest}
    if kind == "deque":
        return deque(map(_loaded, rest[1:]), rest[0])
    if kind == "random":
        made = random.Random()
        made.setstate(_loaded(rest[0]))
        return made
    if kind in ("array", "number"):
        array = np.frombuffer(base64.b64decode(rest[2]), np.dtype(rest[0])).reshape(rest[1]).copy()
        return array if kind == "array" else array[()]
    return _LISTS[kind](map(_loaded, rest))
