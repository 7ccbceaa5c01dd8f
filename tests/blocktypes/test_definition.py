"""A block class with a mistake is refused when it is defined, and the message says what is wrong."""

from pathlib import Path
from types import new_class
from typing import Any

import numpy as np
import pytest

from warploom.api import (
    Block,
    BlockBuilder,
    In,
    Moment,
    Out,
    Value,
    ValueBlock,
    any_type,
    f32,
    float4,
    param,
    port,
    value_port,
)
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.describing import describe
from warploom.engine.descriptions.checks import BlockDefinitionError


def define(
    name: str = "Sample", *, id: str = "test_def.sample", doc: str | None = "Does it.", **body: Any
) -> type[Block]:
    """Define a block class; each member is an annotation and a declaration."""
    members: dict[str, Any] = {"__module__": __name__, "__doc__": doc, "describe": lambda self, build: None}
    annotations = {}
    for key, (hint, declaration) in body.items():
        if hint is not None:
            annotations[key] = hint
        if declaration is not None:
            members[key] = declaration
    members["__annotations__"] = annotations
    made = new_class(name, (Block,), {"id": id}, lambda space: space.update(members))
    assert issubclass(made, Block)
    return made


X = (In[f32], port(doc="Input."))
OUT = (Out[f32], port(doc="Output."))

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("id of one word", {"id": "sample", "x": X}, "Sample: id must be like 'category.name' in lower case, got 'sample'"),
    ("id in capitals", {"id": "a.B", "x": X}, "Sample: id must be like 'category.name' in lower case, got 'a.B'"),
    (
        "no docstring",
        {"doc": None, "x": X},
        "block test_def.sample must have a docstring that says what it does, got none",
    ),
    (
        "empty docstring",
        {"doc": " ", "x": X},
        "block test_def.sample must have a docstring that says what it does, got none",
    ),
    (
        "taken id",
        {"id": "math.saxpy", "x": X},
        "block id math.saxpy must be unique, got it in warploom.blocks.arithmetic.saxpy and ",
    ),
    ("no ports", {}, "block test_def.sample must have at least one port, got none"),
    ("port without doc", {"x": (In[f32], port(doc=" "))}, "block test_def.sample: port x must have a doc, got none"),
    (
        "no direction",
        {"x": (f32, port(doc="X."))},
        "block test_def.sample: port x must be annotated In[dtype] or Out[dtype], got f32",
    ),
    (
        "no type",
        {"x": (In, port(doc="X."))},
        "block test_def.sample: port x must be annotated In[dtype] or Out[dtype], got ",
    ),
    (
        "no annotation",
        {"x": (None, port(doc="X."))},
        "block test_def.sample: port x must be annotated In[dtype] or Out[dtype], got None",
    ),
    (
        "Python type",
        {"x": (In[float], port(doc="X."))},
        "block test_def.sample: port x must be annotated In[dtype] or Out[dtype], got ",
    ),
    (
        "annotation alone",
        {"x": X, "y": (In[f32], None)},
        "block test_def.sample: y must be declared with port(doc=...), got an annotation only",
    ),
    (
        "reserved name",
        {"values": X},
        "block test_def.sample: a port or parameter must have a name that blocks don't use themselves, got 'values'",
    ),
    (
        "name of Block",
        {"ports": X},
        "block test_def.sample: a port or parameter must have a name that blocks don't use themselves, got 'ports'",
    ),
    (
        "name of add",
        {"x": X, "position": (float, param(1.0, doc="P."))},
        "block test_def.sample: a port or parameter must have a name that blocks don't use themselves, got 'position'",
    ),
    (
        "nothing to be the same as",
        {"out": OUT},
        "block test_def.sample: port out must have a shape rule, "
        "since the block has no input whose shape it could take",
    ),
    (
        "unknown in shape",
        {"x": X, "out": (Out[f32], port(shape="[z.dim0]", doc="O."))},
        "block test_def.sample: port out: shape rule '[z.dim0]' must name ports or structural integer parameters",
    ),
    (
        "live parameter in shape",
        {"out": (Out[f32], port(shape="[n]", doc="O.")), "n": (int, param(1, doc="N."))},
        "block test_def.sample: port out: shape rule '[n]' must name ports or structural integer parameters, got n",
    ),
    (
        "malformed shape",
        {"x": X, "out": (Out[f32], port(shape="[N", doc="O."))},
        "block test_def.sample: port out: shape rule must be ",
    ),
    (
        "broken expression",
        {"x": X, "out": (Out[f32], port(shape="[N +]", doc="O."))},
        "block test_def.sample: port out: ",
    ),
    (
        "any without rule",
        {"x": X, "out": (Out[any_type], port(doc="O."))},
        "block test_def.sample: port out is of any type and must have a dtype rule, such as dtype='same(x)'",
    ),
    (
        "in place on nothing",
        {"x": X, "out": (Out[f32], port(inplace="y", doc="O."))},
        "block test_def.sample: port out: inplace must name an input, got 'y'",
    ),
    (
        "parameter without doc",
        {"x": X, "a": (float, param(1.0, doc=""))},
        "block test_def.sample: parameter a must have a doc, got none",
    ),
    (
        "parameter type",
        {"x": X, "a": (list, param([], doc="A."))},
        "block test_def.sample: parameter a must be float, int, bool, str, Path, numpy.ndarray, UserArray, dict "
        "or a vector of numbers, "
        "got <class 'list'>",
    ),
    (
        "parameter untyped",
        {"x": X, "a": (None, param(1.0, doc="A."))},
        "block test_def.sample: parameter a must be float, int, bool, str, Path, numpy.ndarray, UserArray, dict "
        "or a vector of numbers, "
        "got None",
    ),
    (
        "default type",
        {"x": X, "a": (float, param("1", doc="A."))},
        "block test_def.sample: default of parameter a must be a finite number, got '1'",
    ),
    (
        "default too large",
        {"x": X, "a": (float, param(2.0, max=1, doc="A."))},
        "block test_def.sample: default of parameter a must be at most 1, got 2.0",
    ),
    (
        "default no choice",
        {"x": X, "a": (str, param("c", choices=("a", "b"), doc="A."))},
        "block test_def.sample: default of parameter a must be one of a, b, got 'c'",
    ),
    (
        "empty array",
        {"x": X, "a": (np.ndarray, param([], doc="A."))},
        "block test_def.sample: "
        "default of parameter a must be a non-empty array of numbers of at most 64 bits with no masked elements, "
        "got []",
    ),
]


@pytest.mark.parametrize(("body", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_wrong_declaration_is_refused(body: dict[str, Any], message: str) -> None:
    """The error for a wrong declaration names block, member and rule, and the catalogue does not get the type."""
    from warploom.blocks.arithmetic import saxpy

    with pytest.raises(BlockDefinitionError) as refused:
        define(**body)
    assert str(refused.value).startswith(message)
    assert block_types.get("test_def.sample") is None
    assert block_types.get("math.saxpy") is saxpy.Saxpy


def test_an_annotation_that_names_nothing_is_refused() -> None:
    """An annotation that names nothing, such as a forgotten import, is refused with the block's id."""
    with pytest.raises(BlockDefinitionError) as refused:
        define(x=("In[nonsense]", port(doc="X.")))
    assert str(refused.value) == (
        "block test_def.sample: annotations must be names that the module defines or imports, got: name 'nonsense' is "
        "not defined"
    )


def test_a_block_says_what_it_is() -> None:
    """A block's title, category, summary, ports, parameters and folder follow from its declaration."""
    block = define(
        "GaussianBlur2D",
        id="test_def.sub.blur",
        doc="Blur it.\n\n    More.",
        x=X,
        out=(Out[float4], port(shape="[x.dim0, width]", doc="Output.")),
        gain=(float, param(1, min=0, max=2, doc="Gain.")),
        width=(int, param(5.0, structural=True, doc="Width.")),
        file=(Path, param("a/b.png", doc="File.")),
    )
    assert (block.title, block.category, block.summary, block.version) == ("Gaussian Blur2D", "Test Def", "Blur it.", 1)
    assert [p.name for p in block.inputs()] == ["x"]
    assert [p.name for p in block.outputs()] == ["out"]
    defaults = {name: spec.default for name, spec in block.parameters.items()}
    assert defaults == {"gain": 1.0, "width": 5, "file": "a/b.png"}
    assert type(defaults["gain"]) is float
    assert {name for name, spec in block.parameters.items() if spec.structural} == {"width", "file"}
    assert block.source_folder() == Path(__file__).parent


def test_a_base_class_holds_what_several_blocks_declare() -> None:
    """A type's own ports and parameters come before inherited ones, and replace those of the same name."""

    class Gained(Block, abstract=True):
        """Multiply by a gain."""

        x: In[f32] = port(doc="Input.")
        gain: float = param(1.0, doc="Gain.")
        width: int = param(5, structural=True, doc="Width.")

    class Blur(Gained, id="test_def.blur"):
        """Blur it."""

        out: Out[f32] = port(shape="[width]", doc="Output.")
        gain: float = param(2.0, doc="Another gain.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Told(ValueBlock, abstract=True):
        """Output a count."""

        out: Value[int] = value_port(doc="Output.")

    class Counts(Told, id="test_def.counts"):
        """Count."""

        step: int = param(3, doc="Step.")

        def update(self, now: Moment) -> None: ...

    assert list(Blur.ports) == ["out", "x"]
    assert {name: spec.default for name, spec in Blur.parameters.items()} == {"gain": 2.0, "width": 5}
    assert Blur("node", {"width": 7}).width == 7
    assert (list(Counts.values_out), list(Counts.parameters)) == (["out"], ["step"])
    assert Counts().out == 0


def test_defining_a_block_again_in_its_module_replaces_it() -> None:
    """Defining a block's class again in its module replaces the type."""
    define(x=X)
    second = define(x=X)
    assert block_types.get("test_def.sample") is second


def test_a_block_without_describe_says_so_when_it_is_described() -> None:
    """Describing a block without `describe` raises NotImplementedError with the block's id."""

    class Silent(Block, id="test_def.silent"):
        """Do nothing."""

        x: In[f32] = port(doc="X.")

    with pytest.raises(NotImplementedError, match=r"block test_def\.silent must define describe"):
        silent: Any = Silent
        describe(silent("n"))
