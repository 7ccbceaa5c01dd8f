"""Networks on a device equal the same functions in numpy, launch by launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tests.tensor_ir.networks.simulation import Simulation
from tests.tensor_runtime.training.networks import examples, positions, regression, seeds_example
from warploom.engine.compiler.executable.instrument import Instrumented
from warploom.engine.device.device import Device
from warploom.engine.ops import OpGraphBuilder
from warploom.engine.tensor_ir.errors import ExecutionFailed, InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.lowering.step import LoweringStep
from warploom.engine.tensor_ir.networks.functions import Accumulate, Set, Write
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW, Optimiser, RAdam, Ranger
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.training import GraphBuilder, TrainingGraph
from warploom.engine.types import DType, bf16, f16, f32, f64


@pytest.fixture
def graph(device: Device) -> Iterator[TrainingGraph]:
    """A network with an optimiser, in f64."""
    with regression(f64).build(device, AdamW(0.1)) as built:
        yield built


def simulated(optimiser: Optimiser | None = None) -> Simulation:
    """Return the same network in numpy."""
    return Simulation(build_network(regression(f64), optimiser))


def test_forward_and_backward(graph: TrainingGraph) -> None:
    """All nodes have numpy's values and gradients."""
    expected = simulated()
    expected.run("zero_gradients")
    for _ in range(2):  # gradients of weights accumulate
        graph.forward(examples(5))
        graph.backward()
        expected.run("forward", examples(5))
        expected.run("backward")
    np.testing.assert_allclose(graph.loss, expected["loss"].item(), rtol=1e-12)
    for name, variable in expected.network.variables.items():
        if variable.role.value in ("values", "gradients"):
            np.testing.assert_allclose(graph.values(name), expected[name], rtol=1e-10, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(graph.gradients("aw"), graph.values("aw.gradient"))
    graph.zero_gradients()
    assert not graph.gradients("aw").any()


@pytest.mark.parametrize(
    "optimiser",
    [
        SGD(0.05, momentum=0.9, nesterov=True, decay=0.01),
        AdamW(0.1, clip_norm=1.0),
        RAdam(0.1),
        Ranger(0.1, clip_value=0.5, weight_limit=0.7),
    ],
    ids=["sgd", "adamw", "radam", "ranger"],
)
def test_training_follows_numpy(device: Device, optimiser: Optimiser) -> None:
    """Weights equal numpy's after single steps, and after many steps in one launch."""
    expected = simulated(optimiser)
    with regression(f64).build(device, optimiser) as graph:
        for _ in range(8):
            graph.step(examples(5))
            expected.run("step", examples(5))
        graph.steps(5)
        for _ in range(5):
            expected.run("step")
        np.testing.assert_allclose(graph.loss, expected["loss"].item(), rtol=1e-9)
        for name, value in graph.weights.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-11, err_msg=name)
        assert graph.values("step") == 13


@pytest.mark.parametrize(("dtype", "tolerance"), [(f16, 0.01), (bf16, 0.06)], ids=str)
def test_small_floats(device: Device, dtype: DType, tolerance: float) -> None:
    """Networks of f16 and bf16 have the results of f64, within the precision of these types."""
    expected = simulated(SGD(0.05))
    with regression(dtype).build(device, SGD(0.05)) as graph:
        np.testing.assert_allclose(graph.weights["aw"], expected["aw"], atol=tolerance)
        for _ in range(3):
            graph.step(examples(5))
            expected.run("step", examples(5))
        np.testing.assert_allclose(graph.loss, expected["loss"].item(), rtol=4 * tolerance)
        for name, value in graph.weights.items():
            np.testing.assert_allclose(value.astype(np.float64), expected[name], atol=4 * tolerance)


def test_a_network_that_is_not_trained_has_an_output(device: Device, tmp_path: Path) -> None:
    """Its output is numpy's for batches that grow and shrink, and its constants are not in its file."""
    builder = GraphBuilder(dtype=f64)
    scale = builder.constant("scale", 400.0, ())
    builder.affine("l", 4, 3).forward(builder.dense_input("x", (4, 1))).tanh() * scale
    with builder.build(device) as graph:
        weights = graph.weights
        assert weights.keys() == {"lw", "lb"}
        for count in (2, 5, 1):
            x = examples(count)["x"]
            graph.forward({"x": x})
            expected = np.tanh(weights["lw"] @ x + weights["lb"]) * 400
            np.testing.assert_allclose(graph.values("output"), expected, rtol=1e-12)
        graph.save(tmp_path / "w.npz", state=True)
        assert np.load(tmp_path / "w.npz").keys() == {"lw", "lb"}
        with pytest.raises(InvalidOperation, match="function must be one of forward, got 'backward'"):
            graph.backward()
        with pytest.raises(InvalidOperation, match="network must be built with a loss to have one"):
            _ = graph.loss


def test_the_batch_may_change(graph: TrainingGraph, device: Device) -> None:
    """A batch may grow and shrink; results are those of a graph that had no other batch before."""
    weights = graph.weights
    for count in (3, 7, 2, 7, 1, 20, 6):
        graph.forward(examples(count, count))
        with regression(f64).build(device) as fresh:
            fresh.set_weights(weights)
            fresh.forward(examples(count, count))
            for name in ("loss", "hidden"):
                np.testing.assert_array_equal(graph.values(name), fresh.values(name))
        assert graph.batch == count
        assert graph.values("hidden").shape == (count, 3, 1)


def test_buffers_only_grow(graph: TrainingGraph) -> None:
    """A smaller batch reuses the memory of a larger one."""
    graph.forward(examples(9))
    memory = graph._variables.buffer("hidden").memory.pointer
    for count in (4, 9, 1):
        graph.forward(examples(count))
        assert graph._variables.buffer("hidden").memory.pointer == memory


class TestLaunches:
    def test_each_function_is_one(self, graph: TrainingGraph) -> None:
        """One launch runs a function, a step with its optimiser, or many steps."""
        before = graph.launches
        graph.step(examples(5))
        assert graph.launches == before + 1
        graph.steps(10)
        assert graph.launches == before + 2
        assert graph.values("step") == 11

    def test_one_graph_of_the_device_is_launched(self, graph: TrainingGraph, monkeypatch: pytest.MonkeyPatch) -> None:
        """A step launches one graph of the device."""
        graph.step(examples(5))
        (compiled,) = graph._programs["step", False].program._compiled.values()
        count = 0
        launch = type(compiled.graph).launch

        def counted(*given: object, **named: object) -> None:
            nonlocal count
            count += 1
            launch(*given, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(type(compiled.graph), "launch", counted)
        for _ in range(3):
            graph.step()
        assert count == 3

    def test_the_rate_needs_no_new_program(self, graph: TrainingGraph) -> None:
        """A new rate takes effect without compiling a new program."""
        graph.step(examples(5))
        program = graph._programs["step", False].program
        compiled = list(program._compiled.values())
        graph.set("rate", 0.0)
        before = graph.weights["bb"]
        graph.step()
        np.testing.assert_allclose(graph.weights["bb"], before)
        assert list(program._compiled.values()) == compiled


@dataclass(frozen=True)
class Swish(TensorOperation):
    """x / (1 + exp(-x)) as a user's operation, whose elements neighbouring kernels can compute."""

    def result(self, *inputs: TensorType) -> TensorType:
        return inputs[0]

    def evaluate(self, *inputs: Any) -> Any:
        return inputs[0] / (1 + np.exp(-inputs[0]))

    def backward(self, node: TensorNode, gradient: TensorNode) -> list[TensorNode | None]:
        share = node.inputs[0].sigmoid()
        return [gradient * (share + node * (1.0 - share))]

    def is_elementwise(self, node: TensorNode) -> bool:
        return True

    def element(self, at: Any) -> Any:
        x = at.input(0)
        return at.op("divide", a=x, b=at.op("add", a=at.op("exp", x=at.op("negate", x=x)), b=1.0))


@dataclass(frozen=True)
class Doubled(TensorOperation):
    """Twice a tensor, as a user's operation with entries of its own: BLAS adds the tensor to itself."""

    def result(self, *inputs: TensorType) -> TensorType:
        return inputs[0]

    def evaluate(self, *inputs: Any) -> Any:
        return inputs[0] * 2

    def backward(self, node: TensorNode, gradient: TensorNode) -> list[TensorNode | None]:
        return [gradient * 2.0]

    def lower(self, step: LoweringStep) -> None:
        build = OpGraphBuilder()
        x = build.add("op.input", "x", name=step.input(0).name, type=str(step.node.type.dtype))
        twice = build.add("op.add", a=x["value"], b=x["value"])
        build.add("op.output", "y", name=step.out.name, value=twice["out"], type=str(step.node.type.dtype))
        step.build.compute(build.graph(), over=step.out)


def test_operations_of_your_own(device: Device) -> None:
    """A user's operations are in the function's code, and have numpy's values and gradients."""
    builder = GraphBuilder(dtype=f64)
    x = builder.dense_input("x", (3, 1))
    hidden = builder.apply(Swish(), builder.affine("a", 3, 4).forward(x))
    builder.affine("b", 4, 1).forward(builder.apply(Doubled(), hidden)).square()
    given = {"x": np.random.default_rng(0).normal(size=(6, 3, 1))}
    with builder.build(device, SGD(0.01)) as graph:
        expected = Simulation(graph.network)
        for _ in range(3):
            graph.step(given)
            expected.run("step", given)
        assert "Swish" in graph.function_code("forward")
        for name, value in graph.weights.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-10)
    numeric = Simulation(build_network(builder))
    numeric.run("forward", given)
    numeric.run("backward")
    slope, losses = numeric["aw.gradient"][0, 0], []
    for change in (1e-6, -1e-6):
        numeric.held["aw"] = builder.initial["aw"].draw() + change * np.eye(4, 3) * (np.arange(3) == 0)
        numeric.run("forward")
        losses.append(numeric["loss"].item())
    np.testing.assert_allclose(slope, (losses[0] - losses[1]) / 2e-6, rtol=1e-6)


class TestOwnFunctions:
    def test_they_run_as_one_launch(self, graph: TrainingGraph) -> None:
        """The instructions of a function run one after the other in one launch."""
        w, b = graph.leaf("aw"), graph.leaf("bw")
        graph.define("own", [Set(w, 2.0), Accumulate(w, w * 3.0), Write(b, b + w.sum())])
        before, launches = graph.weights["bw"], graph.launches
        graph.run("own")
        assert graph.launches == launches + 1
        np.testing.assert_array_equal(graph.weights["aw"], np.full((3, 4), 8.0))
        np.testing.assert_allclose(graph.weights["bw"], before + 96.0)
        graph.define("own", [Write(w, w.cast(f32).cast(f64) * 0.5)])
        graph.run("own")
        np.testing.assert_array_equal(graph.weights["aw"], np.full((3, 4), 4.0))

    def test_exchanging_two_variables(self, graph: TrainingGraph) -> None:
        """Both variables are read before either is written."""
        a, g = graph.leaf("aw"), graph.leaf("aw.gradient")
        graph.set("aw.gradient", 7.0)
        before = graph.weights["aw"]

        class Swap(Write):
            def writes(self):  # type: ignore[no-untyped-def]
                return {self.target: self.value, self.value: self.target}

        graph.define("swap", [Swap(a, g)])
        graph.run("swap")
        np.testing.assert_array_equal(graph.gradients("aw"), before)
        np.testing.assert_array_equal(graph.weights["aw"], np.full((3, 4), 7.0))


class TestRefusals:
    """Each mistake has one clear message, and the graph continues as before."""

    def test_inputs(self, graph: TrainingGraph) -> None:
        """Inputs with other names, numbers of examples or shapes are refused."""
        graph.forward(examples(3))
        loss = graph.loss
        with pytest.raises(InvalidOperation, match="input must be one of x, y, got 'z'"):
            graph.forward({"z": np.zeros(3)})
        with pytest.raises(ShapeMismatch, match="equally many examples, got 3 of 'x', 4 of 'y'"):
            graph.forward({"x": examples(3)["x"], "y": examples(4)["y"]})
        with pytest.raises(ShapeMismatch, match=r"'x' must have the shape \[3, 4, 1\], got \[3, 5, 1\]"):
            graph.forward({"x": np.zeros((3, 5, 1))})
        graph.forward(examples(3))
        assert graph.loss == loss

    def test_a_batch_without_all_inputs(self, graph: TrainingGraph) -> None:
        """A batch of another size must have all inputs, since the others would be outdated."""
        with pytest.raises(ExecutionFailed, match="input 'y' must be given for a batch of 4"):
            graph.forward({"x": examples(4)["x"]})
        graph.forward(examples(4))
        with pytest.raises(ExecutionFailed, match="input 'y' must be given for a batch of 2"):
            graph.forward({"x": examples(2)["x"]})
        graph.forward(examples(3))

    def test_nothing_was_given(self, graph: TrainingGraph) -> None:
        """Running a function before a batch was given is refused."""
        with pytest.raises(ExecutionFailed, match="input 'x' must be given, got none"):
            graph.forward()

    def test_sparse_rows(self, device: Device) -> None:
        """Rows outside of the column, and fractions, are refused."""
        with seeds_example().build(device) as graph:
            given = positions(3)
            given["inputs"][1, 0] = 768
            with pytest.raises(InvalidOperation, match="rows of sparse 'inputs' must be from 0 to 767, or -1, got"):
                graph.forward(given)
            with pytest.raises(InvalidOperation, match="must be whole numbers, got float64"):
                graph.forward({**positions(3), "inputs": np.zeros((3, 32))})

    def test_functions_and_variables(self, graph: TrainingGraph, device: Device) -> None:
        """Unknown functions and variables are refused."""
        with pytest.raises(InvalidOperation, match=r"function must be one of forward, .*, got 'nothing'"):
            graph.run("nothing")
        with pytest.raises(InvalidOperation, match=r"variable must be one of .*, got 'nothing'"):
            graph.values("nothing")
        with (
            regression().build(device) as untrained,
            pytest.raises(InvalidOperation, match="got 'step'; build with an optimiser"),
        ):
            untrained.step()

    def test_weights(self, graph: TrainingGraph) -> None:
        """Weights of other names or shapes are refused without a change."""
        before = graph.weights
        wrong = {**before, "aw": before["aw"] + 1, "c": before["bw"]}
        del wrong["bb"]
        with pytest.raises(InvalidOperation, match="got none for bb and some for c, which it doesn't have"):
            graph.set_weights(wrong)
        with pytest.raises(ShapeMismatch, match=r"weights 'bb' must have the shape \[2, 1\], got \[3, 1\]"):
            graph.set_weights({**before, "aw": before["aw"] + 1, "bb": np.zeros((3, 1))})
        with pytest.raises(InvalidOperation, match="'bb' must have real numbers, got <U1"):
            graph.set_weights({**before, "aw": before["aw"] + 1, "bb": np.array([["a"], ["b"]])})
        with pytest.raises(InvalidOperation, match="'aw' must have real numbers, got object"):
            graph.set("aw", cast(Any, None))
        np.testing.assert_array_equal(graph.weights["aw"], before["aw"])

    @pytest.mark.parametrize("count", [1.5, float("nan"), None, 0])
    def test_counts(self, graph: TrainingGraph, count: Any) -> None:
        """Wrong counts of steps and launches are refused."""
        for call in (graph.steps, lambda count: graph.profile("step", launches=count)):
            with pytest.raises(InvalidOperation, match=r"must be (a whole number|1 or more), got"):
                call(count)


def test_a_profile_names_what_each_operation_computes(graph: TrainingGraph) -> None:
    """The profile has all nodes of the function, and some of its kernels compute several nodes."""
    graph.forward(examples(5))
    found = graph.profile("forward", launches=3)
    names = {name for entry in found for name in entry.nodes}
    assert {"hidden", "loss"} <= names
    assert all(entry.time_ns >= 0 for entry in found)
    assert any(len(entry.nodes) > 1 for entry in found)  # element-wise operations share a kernel


def test_a_profile_times_one_operation_after_the_other(graph: TrainingGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation begins after the one before it has ended, also if neither needs the other."""
    times, read = [], Instrumented.read

    def noted(instrumented: Instrumented) -> np.ndarray[Any, Any]:
        times.append(read(instrumented))
        return times[-1]

    monkeypatch.setattr(Instrumented, "read", noted)
    graph.forward(examples(5))
    graph.profile("step", launches=1)
    for spans in times:
        assert len(spans) > 5
        assert np.all(spans["first_ns"][1:] >= spans["last_ns"][:-1])


def test_ancillary_buffers_are_named(graph: TrainingGraph) -> None:
    """A step keeps intermediate values in ancillary buffers of the batch's size; forward stores them in variables."""
    for count in (5, 9):
        graph.forward(examples(count))
        found = graph.ancillary("step")
        assert any(buffer.shape[:1] == (count,) and buffer.dtype == f64 for buffer in found)
        assert all(buffer.size_bytes > 0 for buffer in found)
    shapes = [buffer.shape for buffer in graph.ancillary("forward")]
    assert (9, 3) in shapes  # the product before its bias is added


def test_the_network_is_written_for_graphviz(graph: TrainingGraph, tmp_path: Path) -> None:
    """The drawing shows the network before and after the passes."""
    graph.dump_graphviz(tmp_path / "built.dot", optimised=False)
    graph.dump_graphviz(tmp_path / "optimised.dot")
    built, optimised = ((tmp_path / f"{name}.dot").read_text() for name in ("built", "optimised"))
    assert "Square" in built
    assert "AbsPowerError" in optimised
    assert "AbsPowerError" not in built


def test_memory_is_given_back(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a graph frees all of its memory."""
    graph = regression().build(device, AdamW())
    tensors, close = graph.tensors, graph.tensors.close
    pool = tensors.services.pool
    before = pool.used_bytes
    for count in (3, 9):
        graph.forward(examples(count))
        graph.backward()
        graph.step()
        graph.steps(2)
        graph.profile("forward", launches=1)
    monkeypatch.setattr(tensors, "close", lambda: None)
    graph.close()
    assert pool.used_bytes == before
    close()
