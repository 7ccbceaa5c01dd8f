"""Block types as data: a stand-in has all that the type declares, and none of its code."""

import pickle
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest

from warploom.api import (
    AdaptiveBlock,
    Block,
    BlockBuilder,
    Composite,
    CompositeBuilder,
    In,
    Interface,
    Moment,
    Out,
    Struct,
    Value,
    ValueBlock,
    f32,
    fixed_array,
    float4,
    param,
    port,
    s32,
    value_port,
)
from warploom.engine.block_process.declarations import declaration_of, dump, load, stand_in
from warploom.engine.blocktypes.adaptive import AdaptiveBlock as Adaptive
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.describing import describe, shows_pictures
from warploom.engine.diagnostics import WarploomError
from warploom.engine.inner_patches.chain_members import is_call
from warploom.engine.types import NAMED

T = TypeVar("T")


class Pair(Struct):
    """A struct of a person's own."""

    first: s32
    many: float4 = fixed_array(3, 2)


class Outer(Struct):
    """A struct with another one in it."""

    pair: Pair = fixed_array(2)


class Plain(Block, id="test_apart.plain", version=3, tags=("a", "b"), title="A title"):
    """Do something.

    And more.
    """

    bypass_ports: ClassVar[dict[str, str]] = {"out": "x"}
    x: In[Outer] = port(doc="Elements.", optional=True)
    out: Out[f32] = port(shape="[count]", doc="Numbers.", replaces=("old",))
    count: int = param(4, min=1, structural=True, doc="How many.")
    data: np.ndarray = param(np.arange(3), doc="Numbers.")

    def describe(self, build: BlockBuilder) -> None:
        """Clear the output."""
        build.fill(self.out)


class Number(ValueBlock, id="test_apart.number"):
    """Gives a number."""

    handle = "amount"
    hears = ("key",)
    amount: float = param(0.5, min=0, max=1, doc="The number.")
    value: Value[float] = value_port(doc="The number.")

    def update(self, now: Moment) -> None:
        """Pass it on."""
        self.value = self.amount

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, Any]:
        """Return the value."""
        return {"amount": value}


class Ports(AdaptiveBlock, id="test_apart.ports"):
    """Has as many outputs as it is asked for."""

    count: int = param(1, min=0, structural=True, doc="How many.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return no ports."""
        return Interface(content=object())


class Both(Composite, id="test_apart.both"):
    """Holds one block."""

    def compose(self, build: CompositeBuilder) -> None:
        """Show its output."""
        child = build.add_child("test_apart.plain", "child")
        build.expose_output("out", child["out"])


class Direct:
    """Calls functions with the type itself, through bytes, as a process would."""

    shows_pictures = only_calls = False

    def __init__(self, block_type: type[Block]) -> None:
        self._type = block_type

    def ask(self, what: str, function: Callable[..., T], *arguments: object) -> T:
        """Return what the function returns."""
        made: T = load(dump(function(self._type, *load(dump(arguments)))))
        return made


def again(block_type: type[Block]) -> Any:
    """Return a stand-in that was made of a type's bytes."""
    return stand_in(load(dump(declaration_of(block_type))), Direct(block_type))


@pytest.mark.parametrize("block_type", [Plain, Number, Ports, Both])
def test_a_stand_in_has_what_the_type_declares(block_type: type[Block]) -> None:
    """Everything that a person sees of a type is in its stand-in, but its code is not."""
    made = again(block_type)
    assert made is not block_type
    assert not issubclass(made, block_type)
    for name in ("id", "version", "category", "title", "summary", "tags", "ports", "renamed", "values_out", "made_of"):
        assert getattr(made, name) == getattr(block_type, name), name
    for name in ("is_value", "is_live", "is_adaptive", "bypass_ports", "has_values", "__doc__", "__module__"):
        assert getattr(made, name) == getattr(block_type, name), name
    assert repr(made.parameters) == repr(block_type.parameters)
    assert made.source_file() == block_type.source_file()
    assert block_types.get(block_type.id) is block_type  # a stand-in does not define itself


def test_methods_are_called_in_the_other_process() -> None:
    """A stand-in passes on what the author's methods return: data, without the content of an interface."""
    assert again(Number).spanning(0.0, 1.0, 0.25) == {"amount": 0.25}
    assert again(Number).handle == "amount"
    assert again(Number).hears == ("key",)
    made = again(Ports)
    assert issubclass(made, Adaptive)
    assert made.interface({"count": 2}).content is None
    assert describe(again(Plain)("node", {"count": 7})) == describe(Plain("node", {"count": 7}))
    composite = again(Both)
    composite.ports = {}
    composite.declare()
    assert composite.ports == Both.ports


def test_elements_keep_their_layout() -> None:
    """Structs, with arrays and structs in them, have the same layout; every other element type is the same object."""
    found = load(dump(Outer))
    assert found is not Outer
    assert found == Outer
    assert found.numpy == Outer.numpy
    assert found.fields["pair"].of.fields["many"].of is float4
    for dtype in NAMED.values():
        assert load(dump(dtype)) is dtype


def test_only_data_is_read() -> None:
    """Bytes with objects of other classes, or with none, are refused with what they hold."""
    for value in (pickle, Plain, Direct(Plain), print, eval):
        try:
            data = pickle.dumps(value)
        except TypeError:
            continue  # it is no data
        with pytest.raises(WarploomError, match="must be"):
            load(data)
    for data in (b"", b"junk", dump(1)[:-1]):
        with pytest.raises(WarploomError, match="declaration must be data"):
            load(data)


def test_the_library_is_data() -> None:
    """Each type of the library can be passed on; what it shows and calls is known without its code."""
    for block_type in block_types.all().values():
        if block_type.__module__.startswith("warploom.blocks."):
            declared = load(dump(declaration_of(block_type)))
            assert repr(declared.attributes["ports"]) == repr(block_type.ports)
            assert declared.shows_pictures == shows_pictures(block_type)
            assert declared.only_calls == is_call(block_type)
