"""A network that a person connects: its members' results, its shapes, and each mistake at its node."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import erf, log_softmax, softmax

from tests.inner_patches.networks import Array, data, placed, small
from warploom import Engine, Patch
from warploom.engine.inner_patches.network_members import ACTIVATIONS, ARITHMETIC, LOSSES, MEMBERS, SHAPES
from warploom.engine.inner_patches.network_model import PARAMETERS, Model
from warploom.engine.inner_patches.training import NetworkPatch, network_catalogue
from warploom.engine.patch.changes import Node, NodeAdded, PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.tensor_ir.evaluation import evaluate


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


#: The results of members for x and y, f64[rows, 6], with the settings below.
GIVES: dict[str, Callable[[Array, Array], Array]] = {
    "net.relu": lambda x, y: np.maximum(x, 0),
    "net.crelu": lambda x, y: np.clip(x, 0, 1),
    "net.screlu": lambda x, y: np.clip(x, 0, 1) ** 2,
    "net.sqr_relu": lambda x, y: np.maximum(x, 0) ** 2,
    "net.sigmoid": lambda x, y: sigmoid(x),
    "net.tanh": lambda x, y: np.tanh(x),
    "net.gelu": lambda x, y: x * (1 + erf(x / np.sqrt(2))) / 2,
    "net.softplus": lambda x, y: np.log1p(np.exp(x)),
    "net.sin": lambda x, y: np.sin(x),
    "net.softmax": lambda x, y: softmax(x, axis=1),
    "net.add": lambda x, y: x + y,
    "net.sub": lambda x, y: x - y,
    "net.mul": lambda x, y: x * y,
    "net.div": lambda x, y: x / y,
    "net.maximum": np.maximum,
    "net.minimum": np.minimum,
    "net.scale": lambda x, y: 2 * x - 0.5,
    "net.stop_gradient": lambda x, y: x,
    "net.concat": lambda x, y: np.concatenate([x, y], 1),
    "net.reshape": lambda x, y: x.reshape(-1, 2, 3),
    "net.slice": lambda x, y: x[:, 1:-2],
}
SETTINGS: dict[str, dict[str, Any]] = {
    "net.scale": {"factor": 2.0, "offset": -0.5},
    "net.reshape": {"shape": "2, 3"},
    "net.slice": {"start": 1, "stop": -2},
}
#: The loss of each row.
COSTS: dict[str, Callable[[Array, Array], Array]] = {
    "net.squared_error": lambda x, y: np.square(x - y).mean(1),
    "net.mean_error": lambda x, y: np.abs(x - y).mean(1),
    "net.sigmoid_squared_error": lambda x, y: np.square(sigmoid(x) - y).mean(1),
    "net.softmax_cross_entropy": lambda x, y: -(y * log_softmax(x, axis=1)).sum(1),
    "net.binary_cross_entropy": lambda x, y: -(y * np.log(sigmoid(x)) + (1 - y) * np.log(sigmoid(-x))).mean(1),
    "net.power_error": lambda x, y: (np.abs(x - y) ** 2.5).mean(1),
}


def of_categories(*categories: str) -> set[str]:
    return {type_id for type_id, member in MEMBERS.items() if member.category in categories}


def pair() -> tuple[NetworkPatch, NodeRef, NodeRef]:
    """Return a network with an input and a target of 6 numbers."""
    network = NetworkPatch()
    return (
        network,
        network.add("net.input", node_id="x", shape="6"),
        network.add("net.target", node_id="y", shape="6"),
    )


def joined(network: NetworkPatch, type_id: str, node_id: str | None = None, **settings: Any) -> NodeRef:
    """Add a node whose inputs are x and, if it has a second one, y."""
    node = network.add(type_id, node_id=node_id, **settings)
    for port, source in zip(MEMBERS[type_id].inputs, "xy", strict=False):
        network.connect(network[source]["out"], node[port])
    return node


def test_members_give_what_numpy_does() -> None:
    """Every member that is no end, layer or loss has numpy's results, each as an output of one block."""
    assert GIVES.keys() == of_categories(ACTIVATIONS, ARITHMETIC, SHAPES)
    network, *_ = pair()
    joined(network, "net.squared_error")
    for type_id in GIVES:
        node = joined(network, type_id, **SETTINGS.get(type_id, {}))
        output = network.add("net.output", node_id=f"{type_id[4:]}_given")
        network.connect(node["out"], output["x"])
    assert not network.problems
    x, y = 2 * data(1, 5, 6), data(2, 5, 6)
    patch, node = placed(network, {"x": x, "y": y})
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        for type_id, expected in GIVES.items():
            wanted = expected(x.astype(np.float64), y.astype(np.float64))
            found = engine.read(node[f"{type_id[4:]}_given"])
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6, err_msg=type_id)


@pytest.mark.parametrize("type_id", sorted(COSTS))
def test_losses_are_those_of_numpy(type_id: str) -> None:
    """A loss has one value per example, times the weight, and several losses are added up."""
    assert COSTS.keys() == of_categories(LOSSES)
    network, *_ = pair()
    joined(network, type_id, weight=0.5)
    joined(network, "net.squared_error", weight=2.0)
    model = Model(network)
    assert not model.problems
    x, y = data(3, 4, 6).astype(np.float64), np.abs(data(4, 4, 6)).astype(np.float64) / 4
    given = {model.outputs["x"]: x[..., None], model.outputs["y"]: y[..., None]}
    (found,) = evaluate([model.builder.root], given)
    wanted = 0.5 * COSTS[type_id](x, y) + 2 * COSTS["net.squared_error"](x, y)
    np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-5)


def connect(network: NetworkPatch, source: str, target: str) -> None:
    """Connect a node's output to a port, in place of the connection that was there."""
    node, port = target.split(".")
    network.connect(network[source]["out"], network[node][port])


def sparse(network: NetworkPatch, type_id: str, **settings: Any) -> None:
    network.add("net.sparse_input", node_id="s", **settings)
    network.add(type_id, node_id="after")
    connect(network, "s", "after.x")


def reshaped(network: NetworkPatch) -> None:
    network.add("net.reshape", node_id="flat", shape="7")
    connect(network, "x", "flat.x")


def added(network: NetworkPatch) -> None:
    network.add("net.target", node_id="other", shape="3")
    network.add("net.add", node_id="sum")
    connect(network, "x", "sum.x")
    connect(network, "other", "sum.y")


def sliced(network: NetworkPatch) -> None:
    network.add("net.slice", node_id="part", start=64)
    connect(network, "x", "part.x")


def without_input(network: NetworkPatch) -> None:
    network.remove("x")
    network.add("net.target", node_id="z")
    connect(network, "z", "hidden.x")


Harm = Callable[[NetworkPatch], object]
MISTAKES: list[tuple[Harm, str | None, str | None, str, str]] = [
    (lambda n: n.remove("x"), "hidden", "x", "input must be connected", "connect it"),
    (lambda n: n.set("y", shape="2"), "error", "targets", "must have one shape, got [1, 1] and [2, 1]", "other sizes"),
    (lambda n: n.set("y", shape="2, x"), "y", "shape", "whole numbers of at least 1", "another value"),
    (lambda n: n.set("y", shape="0"), "y", "shape", "whole numbers of at least 1", "another value"),
    (lambda n: n.set("y", shape="4096, 4097"), "y", "shape", "at most 16777216 numbers", "another value"),
    (lambda n: n.set("x", shape="16777216"), "hidden", "units", "at most 16 for an input of 16777216", "another value"),
    (lambda n: n.set("x", name="class"), "x", "name", "one that a port can have, got 'class'", "rename"),
    (lambda n: n.set("x", name="\ufb01"), "x", "name", "one that a port can have, got", "rename"),
    (lambda n: n.set("x", name="y"), "y", "name", "must be given once, got 'y' twice", "rename"),
    (lambda n: n.set("x", name="no name"), "x", "name", "one that a port can have, got 'no name'", "rename"),
    (lambda n: n.set("x", name="_t1"), "x", "name", "uses itself, got '_t1'", "rename"),
    (lambda n: n.set("x", name="values"), "x", "name", "one that a port can have, got 'values'", "rename"),
    (lambda n: n.set("y", name="loss"), "y", "name", "uses itself, got 'loss'", "rename"),
    (lambda n: n.set("y", name="seed"), "y", "name", "uses itself, got 'seed'", "rename"),
    (lambda n: n.set("y", name="query_x"), "y", "name", "uses itself, got 'query_x'", "rename"),
    (lambda n: n.set("result", name="lastw"), "result", "name", "uses itself, got 'lastw'", "rename"),
    (
        lambda n: n.add("net.dense", node_id="my layer"),
        "my layer",
        None,
        "must be an identifier",
        "add the layer again",
    ),
    (lambda n: sparse(n, "net.relu"), "after", "x", "must be dense", "put a Dense layer between"),
    (lambda n: sparse(n, "net.output"), "after", "x", "must be dense", "put a Dense layer between"),
    (lambda n: sparse(n, "net.dense", size=8, ones=9), "s", "ones", "at most the size 8, got 9", "another value"),
    (reshaped, "flat", "x", "shape must have 64 elements, got [7, 1]", "other sizes"),
    (added, "sum", "y", "shapes must broadcast to one, got [64, 1] and [3, 1]", "other sizes"),
    (sliced, "part", "start", "must be one or more, got none from 64 to 64 of 64", "another value"),
    (lambda n: n.remove("error"), None, None, "must have a loss", "add a loss"),
    (without_input, None, None, "must have an input", "add an Input"),
]


@pytest.mark.parametrize(("harm", "node", "port", "words", "remedy"), MISTAKES)
def test_each_mistake_is_told_at_its_node(
    harm: Harm, node: str | None, port: str | None, words: str, remedy: str
) -> None:
    """Each mistake is reported once, at its node, with a remedy and without file names of Warploom's own code."""
    network = small()
    harm(network)
    found = [problem for problem in network.problems if words in problem.message]
    assert [(problem.node, problem.port) for problem in found] == [(node, port)], network.problems
    assert remedy in found[0].remedy
    assert not any(".py" in str(problem) for problem in network.problems)


def test_nodes_in_a_circle_are_reported() -> None:
    """A cycle of nodes in a file is reported at one node of the cycle."""
    network = small().json()
    for item in network["connections"]:
        if item["target"] == "hidden.x":
            item["source"] = "last.out"
    (problem,) = NetworkPatch.parse(network).problems
    assert problem.node in {"hidden", "last"} and "must not wait for each other in a circle" in problem.message


def test_what_is_no_member_is_told_and_stays() -> None:
    """An unknown block type in a file is reported and kept; a setting that no member has is ignored."""
    stored = small().json()
    stored["nodes"].append({"id": "gone", "type": "net.gone", "position": [0, 0]})
    stored["nodes"][1]["parameters"] = {"units": 64, "colour": 3}
    network = NetworkPatch.parse(stored)
    (problem,) = network.problems
    assert problem.node == "gone" and "must be a layer or an operation, got 'net.gone'" in problem.message
    assert {node["id"] for node in network.json()["nodes"]} == {node["id"] for node in stored["nodes"]}
    assert network.model.outputs["hidden"].type.shape == (64, 1)


@pytest.mark.parametrize(
    ("setting", "value", "rule"),
    [
        ("units", "many", "a whole number"),
        ("units", 2.5, "a whole number"),
        ("units", None, "a whole number"),
        ("units", 0, "at least 1"),
        ("units", 2**40, "at most"),
        ("activation", "gone", "one of none, relu"),
        ("weights", 3, "text"),
    ],
)
def test_a_wrong_setting_of_a_file_is_told(setting: str, value: object, rule: str) -> None:
    """A wrong setting is reported only at its node, and the file keeps it."""
    stored = small().json()
    stored["nodes"][1]["parameters"] = {setting: value}
    network = NetworkPatch.parse(stored)
    (problem,) = network.problems
    assert (problem.node, problem.port) == ("hidden", setting)
    assert f"{setting} must be {rule}" in problem.message and "another value" in problem.remedy
    assert network.json()["nodes"][1]["parameters"] == {setting: value}


def test_what_is_no_network_is_told_in_a_line() -> None:
    """A value that is no network is quoted in one line, and the default network is used."""
    patch = Patch()
    patch.restore([NodeAdded(Node(id="train", type="tensor.train", parameters={"graph": [1]}))])
    with Engine(patch, device="host") as engine:
        found = engine.step().nodes["train"].message
    reported = (
        "parameter graph must be a JSON object of at most 100 levels, got [1]; its default stands in (set graph again)"
    )
    assert found.splitlines()[0] == reported


def test_the_mistake_of_a_block_is_told_and_training_goes_on() -> None:
    """After a mistake, the previous network continues to train until the edit is undone."""
    network = small()
    patch, node = placed(network, {"x": data(5, 4, 64), "y": data(6, 4, 1)})
    network.set("y", name="loss")
    with Engine(patch, device="host") as engine:
        engine.step()
        before = engine.read(node["hiddenw"])
        patch.set(node, graph=network.json())
        (problem,) = engine.step().diagnostics
        assert problem.node == "train" and problem.message.startswith("y.name: name must not be"), problem
        assert np.abs(engine.read(node["hiddenw"]) - before).max() > 0
        patch.undo()
        assert not engine.step().diagnostics


@pytest.mark.parametrize("runs_before", [False, True])
def test_a_mistake_is_told_once_at_the_block(runs_before: bool) -> None:
    """The block shows one diagnostic, with the inner node's remedy, and its connections show none."""
    network = small()
    patch, node = placed(network, {"x": data(5, 4, 64), "y": data(6, 4, 1)})
    for number, port in enumerate(("losses", "hiddenw", "result")):
        patch.connect(node[port], patch.add("math.scale_offset", node_id=f"after{number}")["x"])
    with Engine(patch, device="host") as engine:
        if runs_before:
            assert not engine.step().diagnostics
        network.set("y", shape="2")
        patch.set(node, graph=network.json())
        (problem,) = engine.step().diagnostics
    reported = "error.targets: outputs and targets must have one shape, got [1, 1] and [2, 1]"
    remedy = "give it other sizes, or put a Reshape or a layer between"
    assert (problem.node, problem.message, problem.remedy) == ("train", reported, remedy)


def test_shapes_are_known_at_each_port() -> None:
    """Shapes are known at ports that don't depend on a mistake elsewhere."""
    network = small()
    network.disconnect(network["last"]["x"])
    flows = [str(network.flow(PortRef("hidden", port), is_input=port == "x")) for port in ("x", "out")]
    assert flows == ["f32[64, 1], batched"] * 2
    assert all(network.flow(PortRef("last", port), is_input=port == "x") is None for port in ("x", "out"))
    assert network.live == {"x", "y", "last", "result", "error"}  # no loss or output depends on `hidden`


def test_a_network_goes_to_json_and_back() -> None:
    """A network that goes through JSON keeps positions, settings and the order of its nodes, and so of its ports."""
    network = small()
    network.set("hidden", units=7, activation="tanh")
    network.move("hidden", (8, 16))
    again = NetworkPatch.parse(network.json())
    assert again.json() == network.json() and list(again.nodes) == list(network.nodes)


def test_undo_brings_back_the_network() -> None:
    """The shapes of a network's weights follow an edit and its undo."""
    network = small()
    before = network.json()
    network.set("hidden", units=7)
    assert network.model.outputs["last"].inputs and network.model.builder.initial["lastw"].shape == (1, 7)
    network.undo()
    assert network.json() == before and network.model.builder.initial["lastw"].shape == (1, 64)


def test_the_catalogue_has_the_members() -> None:
    """The catalogue has all members, and its search finds them by other names."""
    catalogue = network_catalogue()
    assert {block.id for block in catalogue.all()} == MEMBERS.keys()
    assert "net.dense" in {block.id for block in catalogue.search("fully connected")}
    assert "net.squared_error" in {block.id for block in catalogue.search("mse")}


def test_names_of_parameters_are_not_for_ends() -> None:
    """`PARAMETERS`, whose names an end must not have, lists all parameters of the block type."""
    block_type = Patch().catalogue.get("tensor.train")
    assert block_type is not None and block_type.parameters.keys() == PARAMETERS
