"""Driving: one connection from a value output to a parameter, and how a value is made one that the parameter takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from engine.blocktypes.parameters import ParameterSpec
from engine.diagnostics import Diagnostic, warning
from engine.patch.changes import Connection

#: Gives a parameter a value that fits it.
Put = Callable[[Any], None]


class Parameters(Protocol):
    """What a value graph needs of the parameter store: it says what is driven, and the store writes the values."""

    @property
    def values(self) -> Mapping[str, Mapping[str, Any]]: ...
    def drive(self, node_id: str, name: str) -> Put: ...
    def release(self, node_id: str, name: str) -> None: ...


#: What a parameter without bounds of its own is kept within, so that every kernel takes it: what f32 and s32 hold.
_WIDEST: dict[str, tuple[float, float]] = {
    "float": (-3.4028234663852886e38, 3.4028234663852886e38),
    "int": (-(2**31), 2**31 - 1),
    "bool": (False, True),
}
_CONVERT: dict[str, Callable[[float], float]] = {"float": float, "int": round, "bool": bool}


class Drive:
    """A connection at work: `put` rounds a value, keeps it within the parameter's bounds, and passes on what is new."""

    __slots__ = ("_convert", "_high", "_low", "_put", "_type", "clamped", "connection", "value")

    def __init__(self, connection: Connection, spec: ParameterSpec, value: Any, put: Put) -> None:
        """`value` is what the parameter holds, and `put` gives it another."""
        low, high = _WIDEST[spec.type]
        self.connection = connection
        self.value = value
        self._put = put
        self._type = spec.type
        self._convert = _CONVERT[spec.type]
        self._low = low if spec.minimum is None else spec.minimum
        self._high = high if spec.maximum is None else spec.maximum
        #: 1 while the value is above what the parameter takes, -1 while it is below, else 0.
        self.clamped = 0

    def put(self, value: float) -> bool:
        """Give the parameter a finite value, if it has another; return whether `diagnostic` is another now."""
        taken: float = self._convert(value)
        clamped = 0
        if taken > self._high:
            taken, clamped = self._limit(self._high), 1
        elif taken < self._low:
            taken, clamped = self._limit(self._low), -1
        if self.value != taken:
            self.value = taken
            self._put(taken)
        if clamped == self.clamped:
            return False
        self.clamped = clamped
        return True

    @property
    def diagnostic(self) -> Diagnostic | None:
        """The warning of a value that does not fit, or None."""
        if not self.clamped:
            return None
        target, source = self.connection.target, self.connection.source
        rule, limit = ("most", self._high) if self.clamped > 0 else ("least", self._low)
        text = f"parameter {target.port} must be at {rule} {limit:.15g}, got {'more' if self.clamped > 0 else 'less'}"
        remedy = f"it is kept at that; bring {source} into its range, with a Map for instance"
        return warning(f"{text} from {source}", node=target.node, port=target.port, remedy=remedy)

    def _limit(self, limit: float) -> float:
        return int(limit) if self._type == "int" else float(limit)
