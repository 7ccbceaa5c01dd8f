"""The members of networks that a person wires: ends, layers, operations and losses, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.tensor_ir.errors import TensorError
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.networks import losses
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.initialisations import INITIALISATIONS

#: The most numbers in an example, and in a layer's weights.
_MOST_NUMBERS, _MOST_WEIGHTS = 2**24, 2**28
#: The categories, in the order of the palette.
ENDS, LAYERS, ACTIVATIONS, ARITHMETIC, SHAPES, LOSSES = CATEGORIES = (
    *("Ends", "Layers", "Activations"),
    *("Arithmetic", "Shapes", "Losses"),
)


@dataclass(frozen=True)
class Placed:
    """A placed member: the tensors at its inputs, by port, and its settings."""

    name: str
    builder: NetworkBuilder
    inputs: Mapping[str, TensorNode]
    settings: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Member:
    """A kind of node of a network.

    `apply` adds its computation to the network, and returns the result. Without an `output`, no node can follow the
    member. A loss is one number for each example, which training minimises.
    """

    id: str
    title: str
    category: str
    doc: str
    apply: Callable[[Placed], TensorNode]
    inputs: Mapping[str, str]
    settings: tuple[ParameterSpec, ...] = ()
    tags: tuple[str, ...] = ()
    output: str = "The result."


def _setting(name: str, default: Any, doc: str, **more: Any) -> ParameterSpec:
    return ParameterSpec(name, type(default).__name__, default, doc, structural=True, **more)


class SettingError(TensorError):
    """A setting of a member is wrong."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting


def shape_of(text: str) -> tuple[int, ...]:
    """Return the shape in the setting `shape`: "64" is a column [64, 1], "8, 8" a matrix."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        text = f'shape must be whole numbers of at least 1, such as "64" or "8, 8", got {text!r}'
        raise SettingError("shape", text)
    if prod(sizes) > _MOST_NUMBERS:
        raise SettingError("shape", f"shape must be of at most {_MOST_NUMBERS} numbers, got {text!r}")
    return (*sizes, 1) if len(sizes) == 1 else sizes


def _column(node: TensorNode) -> TensorNode:
    """Return a tensor as a column, the input of layers."""
    size = node.type.size
    return node if node.type.nnz is not None or node.type.shape == (size, 1) else node.reshape((size, 1))


def _dense(placed: Placed) -> TensorNode:
    given, settings = _column(placed.inputs["x"]), placed.settings
    count, units = given.type.shape[0], settings["units"]
    if count * units > _MOST_WEIGHTS:
        text = f"units must be at most {_MOST_WEIGHTS // count} for an input of {count} numbers, got {units}"
        raise SettingError("units", text)
    layer = placed.builder.affine(placed.name, count, units, settings["weights"], settings["bias"])
    result = layer.forward(given)
    activation = settings["activation"]
    return result if activation == "none" else result.elementwise(activation)


def _input(placed: Placed) -> TensorNode:
    return placed.builder.dense_input(placed.settings["name"] or placed.name, shape_of(placed.settings["shape"]))


def _sparse_input(placed: Placed) -> TensorNode:
    settings = placed.settings
    if settings["ones"] > settings["size"]:
        raise SettingError("ones", f"ones must be at most the size {settings['size']}, got {settings['ones']}")
    return placed.builder.sparse_input(settings["name"] or placed.name, (settings["size"], 1), settings["ones"])


def _binary(name: str) -> Callable[[Placed], TensorNode]:
    return lambda placed: placed.inputs["x"].elementwise(name, placed.inputs["y"])


def _unary(name: str) -> Callable[[Placed], TensorNode]:
    return lambda placed: placed.inputs["x"].elementwise(name)


def _reshape(placed: Placed) -> TensorNode:
    return placed.inputs["x"].reshape(shape_of(placed.settings["shape"]))


def _slice(placed: Placed) -> TensorNode:
    start, stop = placed.settings["start"], placed.settings["stop"]
    rows, count = slice(start, stop or None), placed.inputs["x"].type.shape[0]
    if not range(*rows.indices(count)):
        raise SettingError("start", f"rows must be one or more, got none from {start} to {stop or count} of {count}")
    return placed.inputs["x"][rows]


def _loss(loss: Callable[..., TensorNode], *numbers: str) -> Callable[[Placed], TensorNode]:
    def apply(placed: Placed) -> TensorNode:
        given = [placed.settings[name] for name in numbers]
        found = loss(placed.inputs["x"], placed.inputs["targets"], *given)
        weight = placed.settings["weight"]
        return found if weight == 1.0 else found * weight

    return apply


#: Activations of layers, each with its help.
FUNCTIONS = {
    "relu": ("Relu", "max(x, 0)."),
    "crelu": ("Clipped Relu", "x clamped to the range from 0 to 1."),
    "screlu": ("Squared Clipped Relu", "The square of x clamped to the range from 0 to 1."),
    "sqr_relu": ("Squared Relu", "The square of max(x, 0)."),
    "sigmoid": ("Sigmoid", "1 / (1 + exp(-x)): between 0 and 1."),
    "tanh": ("Tanh", "The hyperbolic tangent: between -1 and 1."),
    "gelu": ("Gelu", "x times the normal cumulative distribution function of x."),
    "softplus": ("Softplus", "log(1 + exp(x)): a smooth relu."),
    "sin": ("Sine", "sin(x), for networks whose inputs are coordinates."),
}
_NAME = _setting("name", "", "Name of the port; empty for the name of this node.")
_SHAPE = _setting("shape", "64", 'Shape of one example: "64" is a column of 64 numbers, "8, 8" a matrix.')
_X, _XY = {"x": "Operand."}, {"x": "First operand.", "y": "Second operand, broadcast to the shape of x."}
_WEIGHT = _setting("weight", 1.0, "Factor of this loss in the sum of all losses.", minimum=0.0, maximum=1e6)
_COMPARED = {"x": "Result of the network.", "targets": "Targets: the wanted result, of the same shape."}
_STARTS = tuple(INITIALISATIONS)

_ALL = (
    Member(
        "net.input",
        "Input",
        ENDS,
        "An input of the network, which becomes an input port of its block.",
        _input,
        {},
        (_NAME, _SHAPE),
    ),
    Member(
        *("net.sparse_input", "Sparse Input", ENDS),
        "An input of zeros and a few ones. The port takes the indices of the ones, s32, filled up with -1.",
        *(_sparse_input, {}),
        (
            _NAME,
            _setting("size", 768, "Length of the column, in numbers.", minimum=1, maximum=2**24),
            _setting("ones", 32, "The most ones in an example.", minimum=1, maximum=1024),
        ),
    ),
    Member(
        *(
            "net.target",
            "Target",
            ENDS,
            "The wanted result of the network, which becomes an input port of its block.",
            _input,
            {},
        ),
        (_NAME, _SHAPE),
    ),
    Member(
        *("net.output", "Output", ENDS, "A result of the network, which becomes an output port of its block."),
        lambda placed: placed.builder.keep(placed.settings["name"] or placed.name, placed.inputs["x"].copy()),
        {"x": "The result to output."},
        (_NAME,),
        output="",
    ),
    Member(
        *("net.dense", "Dense", LAYERS, "Weights times x, plus a bias: each unit depends on all of x.", _dense),
        {"x": "A column, dense or sparse; other shapes are flattened to a column."},
        (
            _setting("units", 64, "Number of units: the length of the result.", minimum=1, maximum=2**16),
            _setting("activation", "relu", "Function applied to each unit.", choices=("none", *FUNCTIONS)),
            _setting("weights", "he_normal", "Distribution of the initial weights.", choices=_STARTS),
            _setting("bias", "zeros", "Initial bias.", choices=_STARTS),
        ),
        ("linear", "affine", "fully connected", "layer", "matmul"),
    ),
    *(
        Member(f"net.{name}", title, ACTIVATIONS, doc, _unary(name), _X, tags=("activation", "function"))
        for name, (title, doc) in FUNCTIONS.items()
    ),
    Member(
        *(
            "net.softmax",
            "Softmax",
            ACTIVATIONS,
            "exp(x) / sum(exp(x)): positive numbers that add up to 1, such as probabilities of classes.",
        ),
        *(lambda placed: placed.inputs["x"].softmax(0), _X),
    ),
    *(
        Member(f"net.{name}", title, ARITHMETIC, doc, _binary(name), _XY)
        for name, title, doc in (
            ("add", "Add", "x + y, for example a shortcut around layers."),
            ("sub", "Subtract", "x - y."),
            ("mul", "Multiply", "x * y, for example a gate."),
            ("div", "Divide", "x / y."),
            ("maximum", "Maximum", "The larger of x and y."),
            ("minimum", "Minimum", "The smaller of x and y."),
        )
    ),
    Member(
        *("net.scale", "Scale", ARITHMETIC, "x * factor + offset."),
        *(lambda placed: placed.inputs["x"] * placed.settings["factor"] + placed.settings["offset"], _X),
        (
            _setting("factor", 1.0, "Factor of x.", minimum=-1e6, maximum=1e6),
            _setting("offset", 0.0, "The number to add.", minimum=-1e6, maximum=1e6),
        ),
    ),
    Member(
        *(
            "net.stop_gradient",
            "Stop Gradient",
            ARITHMETIC,
            "x, without a gradient: the layers before it do not learn from the layers after it.",
        ),
        *(lambda placed: placed.inputs["x"].stop_gradient(), _X),
        tags=("detach", "freeze"),
    ),
    Member(
        *(
            "net.concat",
            "Concat",
            SHAPES,
            "The column x followed by the column y.",
            lambda p: _column(p.inputs["x"]).concat(_column(p.inputs["y"])),
        ),
        {"x": "The first part.", "y": "The second part."},
        tags=("join", "stack"),
    ),
    Member(
        *("net.reshape", "Reshape", SHAPES, "The numbers of x in another shape.", _reshape, _X, (_SHAPE,)),
        tags=("flatten", "view"),
    ),
    Member(
        *("net.slice", "Slice", SHAPES, "The rows of x from start up to, but not including, stop.", _slice, _X),
        (
            _setting(
                "start", 0, "The first row; negative numbers count from the end.", minimum=-(2**24), maximum=2**24
            ),
            _setting("stop", 0, "The row after the last one; 0 for the end.", minimum=-(2**24), maximum=2**24),
        ),
    ),
    *(
        Member(f"net.{name}", title, LOSSES, doc, _loss(loss), _COMPARED, (_WEIGHT,), ("loss", "cost", *tags), "")
        for name, title, doc, loss, tags in (
            ("squared_error", "Squared Error", "The mean of (x - targets)^2.", losses.squared_error, ("mse", "l2")),
            ("mean_error", "Absolute Error", "The mean of |x - targets|.", losses.mean_error, ("mae", "l1")),
            (
                *("sigmoid_squared_error", "Sigmoid Squared Error", "The mean of (sigmoid(x) - targets)^2."),
                *(losses.sigmoid_squared_error, ("mse",)),
            ),
            (
                *("softmax_cross_entropy", "Softmax Cross-Entropy"),
                "The cross-entropy of the targets and softmax(x), for scores x of classes.",
                *(losses.softmax_cross_entropy, ("classify", "logits")),
            ),
            (
                *("binary_cross_entropy", "Binary Cross-Entropy"),
                "The mean cross-entropy of targets from 0 to 1 and sigmoid(x).",
                *(losses.binary_cross_entropy, ("classify", "logits")),
            ),
        )
    ),
    Member(
        *("net.power_error", "Power Error", LOSSES, "The mean of |x - targets|^power."),
        *(_loss(losses.power_error, "power"), _COMPARED),
        (_setting("power", 2.5, "Exponent of the error.", minimum=1.0, maximum=8.0), _WEIGHT),
        ("loss", "cost"),
        "",
    ),
)
#: Every member, by id.
MEMBERS: Mapping[str, Member] = {member.id: member for member in _ALL}
