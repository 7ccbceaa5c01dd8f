"""Wrong arguments are refused by a message of the tensor room, before anything changes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom import open_device
from warploom.engine.tensor_ir.errors import TensorError
from warploom.engine.tensor_ir.networks.schedules import Cosine, Exponential, Steps, Warmup
from warploom.engine.tensor_runtime.training.graph import TrainingGraph
from warploom.engine.types import boolean, s8, s32
from warploom.tensors import SGD, AdamW, GraphBuilder, RAdam, Ranger, Tensor, WeightFormat, execute, losses

DATA = {"x": np.ones((8, 4, 1), np.float32), "y": np.ones((8, 1, 1), np.float32)}


def built(optimiser: Any = None, device: Any = "host") -> TrainingGraph:
    builder = GraphBuilder()
    x, y = builder.dense_input("x", (4, 1)), builder.dense_input("y", (1, 1))
    _ = (builder.affine("l", 4, 1).forward(x) - y).abs_pow(2.0)
    return builder.build(device, optimiser)


def ones() -> Tensor:
    return Tensor.from_numpy(np.ones((3, 2), np.float32), device="host")


def node() -> Any:
    return GraphBuilder().dense_input("x", (3, 1))


Wrong = Any
CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: built("SGD"), "optimiser must be one such as SGD(0.1), got 'SGD'"),
    (lambda: built(SGD), "optimiser must be one such as SGD(0.1), got <class"),
    (lambda: built(device=3), 'device must be an open one or a name such as "host", got 3'),
    (lambda: SGD("a"), "rate must be a finite number, got 'a'"),  # type: ignore[arg-type]
    (lambda: AdamW(0.1, decay=float("nan")), "decay must be a finite number, got nan"),
    (lambda: AdamW(0.1, beta1="a"), "beta1 must be a finite number, got 'a'"),  # type: ignore[arg-type]
    (lambda: SGD(-1), "rate must be 0 or more, got -1"),
    (lambda: SGD(None), "rate must be a finite number, got None"),  # type: ignore[arg-type]
    (lambda: SGD(0.1, decay=-0.5), "decay must be 0 or more, got -0.5"),
    (lambda: SGD(0.1, momentum=-0.1), "momentum must be 0 or more, got -0.1"),
    (lambda: SGD(0.1, momentum=1.5), "momentum must be at most 1, got 1.5"),
    (lambda: SGD(0.1, momentum=0.9, nesterov="yes"), "nesterov must be True or False, got 'yes'"),  # type: ignore[arg-type]
    (lambda: SGD(0.1, nesterov=True), "momentum must be above 0 with nesterov, got 0"),
    (lambda: AdamW(0.1, beta2=1.0), "beta2 must be above 0 and below 1, got 1.0"),
    (lambda: RAdam(0.1, epsilon=-1e-8), "epsilon must be 0 or more, got -1e-08"),
    (lambda: Ranger(0.1, part=1.1), "part must be at most 1, got 1.1"),
    (lambda: Ranger(0.1, every=0), "every must be 1 or more, got 0"),
    (lambda: AdamW(0.1, clip_value=-1), "clip_value must be above 0, got -1; None sets no limit"),
    (lambda: AdamW(0.1, weight_limit="a"), "weight_limit must be a finite number, got 'a'"),  # type: ignore[arg-type]
    (lambda: Exponential(-0.9), "factor_of_each must be 0 or more, got -0.9"),
    (lambda: Steps(0), "every must be 1 or more, got 0"),
    (lambda: Steps(2.5), "every must be a whole number, got 2.5"),  # type: ignore[arg-type]
    (lambda: Cosine(100, -1), "final must be 0 or more, got -1"),
    (lambda: Warmup(100, first=-0.1), "first must be 0 or more, got -0.1"),
    (lambda: losses.mean_error(3, node()), "outputs of a loss must be a node of a builder, got 3"),  # type: ignore[arg-type]
    (lambda: losses.softmax_cross_entropy(node(), None), "targets of a loss must be a node of a builder, got None"),  # type: ignore[arg-type]
    (lambda: losses.sigmoid_squared_error("a", node()), "outputs of a loss must be a node of a builder, got 'a'"),  # type: ignore[arg-type]
    (lambda: losses.power_error(node(), node(), -1), "power must be above 0, got -1"),
    (lambda: losses.power_error(node(), node(), "a"), "power must be a finite number, got 'a'"),  # type: ignore[arg-type]
    (lambda: SGD(0.1, clip_norm=0.0), "clip_norm must be above 0, got 0.0; None sets no limit"),
    (lambda: SGD(0.1, schedule="cosine"), "schedule must be a schedule such as Cosine(1000), got 'cosine'"),  # type: ignore[arg-type]
    (lambda: Warmup(3, None), "then must be a schedule such as Cosine(1000), got None"),  # type: ignore[arg-type]
    (lambda: Steps(3, "a"), "factor_of_each must be a finite number, got 'a'"),  # type: ignore[arg-type]
    (lambda: Exponential(float("inf")), "factor_of_each must be a finite number, got inf"),
    (lambda: Cosine(3, None), "final must be a finite number, got None"),  # type: ignore[arg-type]
    (lambda: GraphBuilder().dense_input("x", 3), "sizes of 'x' must be whole numbers, 1 or more, got 3"),  # type: ignore[arg-type]
    (lambda: GraphBuilder().weights("w", (3,), None), "'w' must be a name, Normal, a number or an array, got None"),  # type: ignore[arg-type]
    (lambda: GraphBuilder().weights("w", (3,), np.ones(3) * 1j), "'w' must be a name, Normal, a number or an array"),
    (lambda: GraphBuilder().weights("w", (3,), float("nan")), "'w' must have finite numbers, got nan"),
    (lambda: GraphBuilder().keep("k", None), "node to keep must be a node of this builder, got None"),  # type: ignore[arg-type]
    (lambda: setattr(GraphBuilder(), "root", "x"), "root must be a node of this builder, got 'x'"),
    (lambda: GraphBuilder().dense_input("x", (3, 1))[3:], "tensor must have elements, got the shape [0, 1]"),
    (lambda: execute([None]), "values to execute must be tensors, got None"),  # type: ignore[list-item]
    (lambda: Tensor.full((3,), 0.5, dtype=s32), "value must be one that s32 can hold, got 0.5; give another dtype"),
    (lambda: Tensor.full((3,), 200, dtype=s8), "value must be one that s8 can hold, got 200"),
    (lambda: Tensor.full((3,), float("nan"), dtype=s32), "value must be a finite number, got nan"),
    (lambda: Tensor.full((3,), 2, dtype=boolean), "value must be one that boolean can hold, got 2"),
    (lambda: Tensor.full((3,), float("inf")), "value must be a finite number, got inf"),
    (lambda: Tensor.full((3,), "a"), "value must be a finite number, got 'a'"),  # type: ignore[arg-type]
    (lambda: Tensor.full((3,), 1, dtype="f32"), "dtype must be an element type such as f32, got 'f32'"),  # type: ignore[arg-type]
    (lambda: ones()[0:0], "tensor must have elements, got the shape [0, 2]"),
    (lambda: ones()["a":], "slice must have whole numbers, got slice('a', None, None)"),  # type: ignore[misc]
    (lambda: ones() ** "a", "number of power must be a number, got 'a'"),  # type: ignore[operator]
    (lambda: ones().pad(3), "padding must be two numbers for each axis, got 3"),  # type: ignore[arg-type]
    (lambda: ones().pad((1, 0), value="x"), "value of the padding must be a number, got 'x'"),  # type: ignore[arg-type]
    (lambda: ones().apply(None), "operation must be a TensorOperation, got None"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_wrong_arguments_of_networks_and_tensors(call: Callable[[], object], message: str) -> None:
    """A wrong argument is refused with one message that says what must hold."""
    with pytest.raises(TensorError, match=re.escape(message)):
        call()


ON_A_GRAPH: list[tuple[Callable[[Any], object], str]] = [
    (lambda graph: graph.define("f", [None]), "'f' must have instructions such as Write(target, value), got None"),
    (lambda graph: graph.define("f", None), "function 'f' must have a list of instructions, got None"),
    (lambda graph: graph.define(None, []), "name of a function must be an identifier, got None"),
    (lambda graph: graph.function(["step"]), "function must be one of forward,"),
    (lambda graph: graph.values([]), "variable must be one of x,"),
    (lambda graph: graph.set("rate", float("nan")), "number 'rate' must be a finite number, got nan"),
    (lambda graph: graph.set("rate", -1), "rate must be 0 or more, got -1"),
    (
        lambda graph: graph.set("lw.frozen", True),
        "number 'lw.frozen' must be an option of the optimiser; build with options={'lw': WeightOptions(frozen=...)}",
    ),
    (lambda graph: graph.set("decay", 0.1), "number 'decay' must be an option of the optimiser; build with decay=..."),
    (lambda graph: graph.set(["rate"], 0.1), "variable must be one of x,"),
    (lambda graph: graph.set_weights(None), "weights must be arrays by their names, got None"),
    (lambda graph: graph.step([1]), "inputs must be arrays by their names, got [1]"),
    (lambda graph: graph.set_data(None), "data must be arrays by their names, or parts of them, got None"),
    (lambda graph: graph.train(2**40, batch=2), "number of steps must be at most 2147483647, got 1099511627776"),
    (lambda graph: graph.steps(2**40), "number of steps must be at most 2147483647, got 1099511627776"),
    (lambda graph: graph.train(1, batch=2, shuffle=-1), "seed of the shuffled order must be 0 or more, got -1"),
    (lambda graph: graph.train(1, batch=2, shuffle="a"), "seed of the shuffled order must be a whole number, got 'a'"),
    (lambda graph: graph.save(None), "file of weights must be a path, got None"),
    (lambda graph: graph.load(3), "file of weights must be a path, got 3"),
    (lambda graph: graph.save("w.npz", dtype=["i8"]), "must be one of f32, i8, i16, i32, got ['i8']"),
    (lambda graph: graph.save("w.npz", {"xw": WeightFormat()}), "formats must be of weights that there are, got xw"),
    (lambda graph: graph.save("w.bin", state=True), "state must be saved in a .npz or .safetensors file, got a .bin"),
    (lambda graph: graph.dump_graphviz("no/such/folder/a.dot"), "graph must be written to no/such/folder/a.dot, got:"),
    (lambda graph: graph.dump_graphviz(None), "DOT file must be a path, got None"),
]


def test_wrong_arguments_on_a_graph() -> None:
    """A refused argument of a graph changes nothing."""
    with built(SGD(0.1)) as graph, built(SGD(0.1)) as untouched:
        for each in (graph, untouched):
            each.set_data(DATA)
        for call, message in ON_A_GRAPH:
            with pytest.raises(TensorError, match=re.escape(message)):
                call(graph)
        for each in (graph, untouched):
            each.train(3, batch=4)
        for name, array in untouched.weights.items():
            np.testing.assert_array_equal(graph.weights[name], array)


@pytest.mark.parametrize("state", [np.array("x"), np.ones((1, 4), complex), np.ones((1, 5)), np.array(None)])
def test_a_file_with_a_wrong_state_changes_nothing(state: Any, tmp_path: Path) -> None:
    """A file with a wrong state changes nothing, not even the weights, which are valid."""
    path = tmp_path / "w.npz"
    with built(AdamW(0.1)) as graph:
        graph.step(DATA)
        before = {**graph.weights, "moment": graph.values("lw.first_moment")}
        arrays = {name: array + 1 for name, array in graph.weights.items()}
        np.savez(path, **arrays, **{"lw.first_moment": state})
        with pytest.raises(TensorError, match=re.escape(str(path))):
            graph.load(path)
        after = {**graph.weights, "moment": graph.values("lw.first_moment")}
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_the_largest_and_smallest_numbers_are_taken() -> None:
    """The largest and smallest numbers of each integer type are accepted."""
    assert Tensor.full((2,), -128, dtype=s8).numpy().tolist() == [-128, -128]
    assert Tensor.full((2,), 1, dtype=boolean).numpy().tolist() == [True, True]


AFTER_CLOSE: list[Callable[[Any], object]] = [
    *(lambda graph: graph.forward(), lambda graph: graph.backward(), lambda graph: graph.step(DATA)),
    *(lambda graph: graph.steps(2), lambda graph: graph.train(2, batch=4), lambda graph: graph.update()),
    *(lambda graph: graph.zero_gradients(), lambda graph: graph.run("forward", DATA)),
    *(lambda graph: graph.set_inputs(DATA), lambda graph: graph.set_data(DATA), lambda graph: graph.set("rate", 0.1)),
    *(lambda graph: graph.loss, lambda graph: graph.losses, lambda graph: graph.weights, lambda graph: graph.batch),
    *(lambda graph: graph.values("lw"), lambda graph: graph.gradients("lw"), lambda graph: graph.profile("step")),
    *(lambda graph: graph.ancillary("forward"), lambda graph: graph.save("w.npz"), lambda graph: graph.__enter__()),
]


@pytest.mark.parametrize("is_owner", [True, False])
def test_a_closed_graph_says_so(is_owner: bool) -> None:
    """Calls of a closed graph are refused, its instructions can still be read, and closing it again is no error."""
    device = open_device("host")
    graph = built(SGD(0.1), "host" if is_owner else device)
    graph.set_data(DATA)
    graph.train(2, batch=4)
    graph.close()
    for call in AFTER_CLOSE:
        with pytest.raises(TensorError, match="graph must be open, got one that was closed; build it again"):
            call(graph)
    graph.close()
    assert graph.function_code("step")
    device.close()


def test_limits_of_settings_are_taken() -> None:
    """The smallest and largest sensible settings are accepted."""
    SGD(0.0, momentum=1.0, nesterov=True)
    Ranger(1, part=0.0, every=1)
    Warmup(1, Cosine(1, 0.0), 0.0)
    assert AdamW(0.1, epsilon=0.0, decay=0).rate == 0.1
