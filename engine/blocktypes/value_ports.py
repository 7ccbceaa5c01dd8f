"""Value outputs: the numbers that a value block gives out, as its type declares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T", float, int, bool)

#: What an output holds before its block has run, by the names of the types that it may have.
ZEROS: dict[str, float | int | bool] = {"float": 0.0, "int": 0, "bool": False}


@dataclass(frozen=True)
class ValueSpec:
    """A value output as its block type declares it; `type` is float, int or bool."""

    name: str
    type: str
    doc: str
    unit: str = ""


class Value(Generic[T]):
    """A value output of type T: on a block it reads as what the block's `update` last set it to."""

    def __init__(self, doc: str, unit: str) -> None:
        self.doc = doc
        self.unit = unit
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Value[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Value[T] | T:
        # Reached only on the class: a block has each output in its own attributes from the start.
        return self


def value_port(*, doc: str, unit: str = "") -> Any:
    """Declare a value output; its annotation gives the type: `Value[float]`, `Value[int]` or `Value[bool]`."""
    return Value[Any](doc, unit)
