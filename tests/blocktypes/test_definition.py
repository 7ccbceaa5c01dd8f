"""A block class that lacks something is refused when it is defined; the message says what is missing."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import new_class
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Patch
from engine.api import (
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
from engine.blocktypes.block import block_types, describe
from engine.blocktypes.parameters import parse_text
from engine.catalogue.block_errors import code_diagnostic
from engine.descriptions.checks import BlockDefinitionError
from engine.diagnostics import PatchError
from engine.runtime.check.check_patch import check_patch
from tests.fuzzing import many
from tests.runtime.model.test_block_authors import THINGS


def define(
    name: str = "Sample", *, id: str = "test_def.sample", doc: str | None = "Does it.", **body: Any
) -> type[Block]:
    """Define a block class; a member is (annotation, declaration)."""
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
    ("taken id", {"id": "math.saxpy", "x": X}, "block id math.saxpy must be unique, got it in blocks.math.saxpy and "),
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
    ("reserved name", {"values": X}, "block test_def.sample: a port or parameter must have another name, got 'values'"),
    ("name of Block", {"ports": X}, "block test_def.sample: a port or parameter must have another name, got 'ports'"),
    (
        "name of add",
        {"x": X, "position": (float, param(1.0, doc="P."))},
        "block test_def.sample: a port or parameter must have another name, got 'position'",
    ),
    (
        "nothing to be the same as",
        {"out": OUT},
        "block test_def.sample: port out must have a shape rule, since the block has no input to be the same as",
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
        "block test_def.sample: parameter a must be float, int, bool, str, Path, numpy.ndarray, UserArray or dict, "
        "got <class 'list'>",
    ),
    (
        "parameter untyped",
        {"x": X, "a": (None, param(1.0, doc="A."))},
        "block test_def.sample: parameter a must be float, int, bool, str, Path, numpy.ndarray, UserArray or dict, "
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
        "default of parameter a must be a non-empty numeric array with no masked elements, got []",
    ),
]


@pytest.mark.parametrize(("body", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_wrong_declaration_is_refused(body: dict[str, Any], message: str) -> None:
    """The message names the block and the member, says what must hold, and the type does not reach the catalogue."""
    import blocks.math.saxpy

    with pytest.raises(BlockDefinitionError) as refused:
        define(**body)
    assert str(refused.value).startswith(message)
    assert block_types.get("test_def.sample") is None
    assert block_types.get("math.saxpy") is blocks.math.saxpy.Saxpy


def test_an_annotation_that_names_nothing_is_refused() -> None:
    """A forgotten import is named, with the block that needs it."""
    with pytest.raises(BlockDefinitionError) as refused:
        define(x=("In[nonsense]", port(doc="X.")))
    assert str(refused.value) == (
        "block test_def.sample: annotations must be names that the module defines or imports, got: name 'nonsense' is "
        "not defined"
    )


def test_a_block_says_what_it_is() -> None:
    """Title, category, summary, ports and parameters follow from the declaration."""
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


def test_defining_a_block_again_in_its_module_replaces_it() -> None:
    """Loading a module again replaces the class; its id is not a duplicate."""
    define(x=X)
    second = define(x=X)
    assert block_types.get("test_def.sample") is second


OPERATIONS: list[Callable[[Any], object]] = [
    lambda a: a + 1,
    lambda a: 1 + a,
    lambda a: a - 1,
    lambda a: 2.0 * a,
    lambda a: np.float32(2) * a,
    lambda a: a / 2,
    lambda a: 1 // a,
    lambda a: a % 2,
    lambda a: a**2,
    lambda a: -a,
    abs,
    int,
    float,
    bool,
    lambda a: a < 1,
    lambda a: a >= 1,
    lambda a: a == 1,
    lambda a: a != 1,
    lambda a: [10, 20][a],
    lambda a: range(a),
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_live_parameter_cannot_be_computed_with_and_says_why(operation: Callable[[Any], object]) -> None:
    """In `describe` its value is not known, so an expression of it would be wrong after the next change."""
    block: Any = define(x=X, a=(float, param(1.0, doc="A.")))("node")
    with pytest.raises(TypeError) as refused:
        operation(block.a)
    assert str(refused.value) == (
        "parameter a is live and must only be passed to a kernel; declare it with structural=True to compute with its "
        "value in describe"
    )


def test_a_structural_parameter_is_its_value() -> None:
    """`describe` computes with it."""
    block: Any = define(x=X, n=(int, param(3, structural=True, doc="N.")))("node", {"n": 4})
    assert block.n + 1 == 5


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (float, "1e-3", 0.001),
        (float, "-2", -2.0),
        (int, "7", 7),
        (int, "7.0", 7),
        (bool, "on", True),
        (bool, "False", False),
        (str, "b", "b"),
        (Path, "a/b.png", "a/b.png"),
    ],
)
def test_typed_text_becomes_a_value_of_the_parameters_type(hint: type, text: str, value: object) -> None:
    """The command line and the inspector convert alike."""
    default: Any = {float: 0.0, int: 0, bool: True, str: "", Path: ""}[hint]
    spec = define(x=X, a=(hint, param(default, doc="A."))).parameters["a"]
    assert parse_text(spec, text) == value
    assert type(parse_text(spec, text)) is type(value)


@pytest.mark.parametrize(
    ("hint", "text", "message"),
    [
        (float, "much", "parameter a must be a finite number, got 'much'"),
        (float, "nan", "parameter a must be a finite number, got "),
        (float, "inf", "parameter a must be a finite number, got "),
        (int, "1.5", "parameter a must be a whole number, got 1.5"),
        (bool, "maybe", "parameter a must be true or false, got 'maybe'"),
        (np.ndarray, "1", "parameter a must be set from Python, got text"),
    ],
)
def test_typed_text_that_does_not_fit_is_refused(hint: type, text: str, message: str) -> None:
    """The message says what the parameter takes."""
    default: Any = {float: 0.0, int: 0, bool: True, np.ndarray: np.zeros(1)}[hint]
    spec = define(x=X, a=(hint, param(default, doc="A."))).parameters["a"]
    with pytest.raises(PatchError) as refused:
        parse_text(spec, text)
    assert str(refused.value).startswith(message)


def test_a_block_without_describe_says_so_when_it_is_described() -> None:
    """The base class does nothing by itself."""

    class Silent(Block, id="test_def.silent"):
        """Says nothing."""

        x: In[f32] = port(doc="X.")

    with pytest.raises(NotImplementedError, match=r"block test_def\.silent must define describe"):
        silent: Any = Silent
        describe(silent("n"))


#: Good arguments of every function that declares.
DECLARING: dict[str, dict[str, Any]] = {
    "port": {
        "doc": "In.",
        "shape": "same",
        "rank": 1,
        "optional": True,
        "inplace": None,
        "state": False,
        "dtype": None,
        "strided": True,
        "delayed": False,
        "default": 1.0,
        "append": False,
        "advised": True,
        "replaces": ("old",),
    },
    "param": {
        "default": 2,
        "doc": "Parameter.",
        "min": 1,
        "max": 3,
        "unit": "m",
        "choices": (),
        "structural": True,
        "files": "",
        "replaces": ("before",),
        "language": "",
    },
    "value_port": {"doc": "Value.", "unit": "m", "replaces": ("said",)},
    "class": {
        "id": "test_def.tried",
        "version": 2,
        "category": "Test",
        "title": "Tried",
        "tags": ("a",),
        "regions": (),
    },
}
CALLED = {"port": port, "param": param, "value_port": value_port}
#: Names that don't depend on a block.
GIVEN: list[Any] = [thing(None, None) for thing in THINGS[:80]]  # type: ignore[arg-type]


def test_everything_that_declares_is_tried_with_all_its_arguments() -> None:
    """Those of `Block` are the keywords of the class."""
    for name, call in {**CALLED, "class": Block.__init_subclass__}.items():
        assert set(signature(call).parameters) - {"abstract"} == set(DECLARING[name]), name


@given(st.sampled_from(sorted(DECLARING)), st.data())
@settings(max_examples=many(100))
def test_a_declaration_is_refused_with_name_and_line_or_works(kind: str, data: st.DataObject) -> None:
    """Blocks that are accepted can be placed and checked."""
    asked = {name: dict(arguments) for name, arguments in DECLARING.items()}
    for name in data.draw(st.lists(st.sampled_from(sorted(asked[kind])), min_size=1, max_size=2, unique=True)):
        asked[kind][name] = GIVEN[data.draw(st.integers(0, len(GIVEN) - 1))]
    try:

        class Tried(Block, **asked["class"]):
            """Tries."""

            x: In[f32] = port(**asked["port"])
            n: int = param(**asked["param"])

            def describe(self, build: BlockBuilder) -> None:
                pass

        class Told(ValueBlock, id="test_def.told"):
            """Tells."""

            out: Value[float] = value_port(**asked["value_port"])

            def update(self, now: Moment) -> None:
                pass

    except BlockDefinitionError as problem:
        found = code_diagnostic(problem, "block file", Path(__file__))
        assert found.file == __file__ and found.line
        names = ("Tried: ", "Told: ", "block test_def.", "value block test_def.", "block id ")
        assert found.message.startswith(names), found.message
        assert " must " in found.message, found.message
    else:
        patch = Patch()
        patch.add(Tried.id)
        patch.add("test_def.told")
        assert check_patch(patch) is not None
