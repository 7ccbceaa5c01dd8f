"""Ports: the typed inputs and outputs that a block type declares, and the handles its `describe` works with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from engine.blocktypes.shape_rules import Extent
from engine.types import DType

T = TypeVar("T")


@dataclass(frozen=True)
class BufferHandle:
    """A buffer as `describe` sees it: a name, and extents that are known once shapes are."""

    name: str

    @property
    def size(self) -> Extent:
        """Number of elements."""
        return Extent(f"{self.name}.size")

    def dim(self, axis: int) -> Extent:
        """Size of one dimension."""
        return Extent(f"{self.name}.dim{axis}")


class In(BufferHandle, Generic[T]):
    """An input port of element type T; the block reads it (and changes it, when an output is `inplace` on it)."""


class Out(BufferHandle, Generic[T]):
    """An output port of element type T; the block writes it."""


@dataclass(frozen=True)
class PortSpec:
    """A port as its block type declares it.

    `dtype` may be `any_type`; `dtype_rule` then says what it becomes ("same(x)" or "data"). `inplace` names the
    input whose memory an output continues to use. A `state` output keeps its contents from frame to frame.
    """

    name: str
    direction: str  # "in" or "out"
    dtype: DType
    doc: str
    shape: str
    rank: int | None = None
    optional: bool = False
    inplace: str | None = None
    state: bool = False
    dtype_rule: str | None = None

    @property
    def is_input(self) -> bool:
        """True for an input port."""
        return self.direction == "in"


@dataclass
class PortDeclaration:
    """What `port(...)` returns: the class attribute that becomes a `PortSpec` and, on a block, a handle."""

    arguments: dict[str, Any]
    name: str = ""
    handle: type[BufferHandle] = field(default=BufferHandle)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else self.handle(self.name)


def port(
    *,
    doc: str,
    shape: str = "same",
    rank: int | None = None,
    optional: bool = False,
    inplace: str | None = None,
    state: bool = False,
    dtype: str | None = None,
) -> Any:
    """Declare a port; the annotation gives its direction and element type.

    `shape` is an output's shape rule, or the shape an input must have ("same", the default, asks for none); `rank` is
    the number of dimensions an input must have, or an output always has; `optional` lets an input stay
    unconnected; `inplace` names the input whose memory an output takes over; a `state` output survives from frame to
    frame and over rebuilds; `dtype` is the rule for an output of `any_type`: "same(port)" or "data".
    """
    return PortDeclaration(
        {
            "doc": doc,
            "shape": shape,
            "rank": rank,
            "optional": optional,
            "inplace": inplace,
            "state": state,
            "dtype_rule": dtype,
        }
    )
