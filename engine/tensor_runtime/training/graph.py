"""`TrainingGraph`: a network on a device, and `GraphBuilder`, whose `build` creates it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from warploom.engine.descriptions.checks import shown
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.inspection import graph_dot
from warploom.engine.tensor_ir.networks.builder import RESERVED, STEP, NetworkBuilder
from warploom.engine.tensor_ir.networks.data import (
    BATCHES,
    EVALUATE,
    LOSSES,
    ORDER,
    SEEN,
    TOTAL,
    TRAIN,
    data_name,
    with_data,
)
from warploom.engine.tensor_ir.networks.functions import NetworkFunction, NetworkInstruction, Role
from warploom.engine.tensor_ir.networks.instructions import function_code, node_names
from warploom.engine.tensor_ir.networks.network import LOSS, Network, build_network
from warploom.engine.tensor_ir.networks.optimiser_options import DECAY, FROZEN, LIMITS, UPDATES, require_setting
from warploom.engine.tensor_ir.networks.optimisers import Optimiser
from warploom.engine.tensor_ir.types import real_number, whole_number
from warploom.engine.tensor_runtime.program import Ancillary, EntryTime, Program
from warploom.engine.tensor_runtime.program_block import MOST_TURNS, Wanted
from warploom.engine.tensor_runtime.tensors import TensorBuffer, Tensors
from warploom.engine.tensor_runtime.training.files import Formats, as_path, formats_of, load_weights, save_weights
from warploom.engine.tensor_runtime.training.formats import WeightFormat
from warploom.engine.tensor_runtime.training.variables import Variables, as_numbers
from warploom.engine.types import Array

#: The suffix of the name of a number in a file.
_NUMBER = ".number"
#: Arrays by input name.
InputArrays = Mapping[str, npt.ArrayLike]


class TrainingGraph:
    """A network on a device: its variables in memory, and its functions, each of which is one launch.

    The functions are forward, backward and zero_gradients, with an optimiser also update and step, and those that
    you `define`. Variables are inputs, weights, constants, node values by the names in `function_code`, their
    gradients, named NODE.gradient, the optimiser's state, and numbers that can be set. One thread may use the graph
    at a time. `close` frees its memory; after that, methods that need the memory raise InvalidOperation.
    """

    def __init__(self, network: Network, device: Device | str = "auto") -> None:
        """`device` is an open device, which stays open, or the name of a device to open."""
        self.network = network
        self.tensors = Tensors(device)
        self._functions = dict(network.functions)
        self._open_variables: Variables | None = Variables(self.tensors, network.variables)
        self._programs: dict[tuple[str, bool], _Runnable] = {}
        #: The number of examples in the data, and the number of losses that are kept.
        self._data: tuple[int, int] | None = None
        #: The number of launches so far.
        self.launches = 0

    @property
    def _variables(self) -> Variables:
        """The variables in memory. Raise InvalidOperation after `close`."""
        if self._open_variables is None:
            raise InvalidOperation("graph must be open, got one that was closed; build it again")
        return self._open_variables

    @property
    def batch(self) -> int:
        """The number of examples in the current batch; 0 before the first."""
        return self._variables.batch

    def set_inputs(self, inputs: InputArrays) -> None:
        """Upload inputs. Each has the batch as first axis; a sparse input is s32[batch, nnz], which ends at -1.

        Inputs that are left out keep their contents, unless the number of examples changes.
        """
        self._variables.set_inputs(inputs)

    def run(self, function: str, inputs: InputArrays | None = None) -> None:
        """Run a function, on new inputs if any are given. Reading a result, or `synchronize`, waits for it."""
        if inputs:
            self.set_inputs(inputs)
        self._launch(function)

    def forward(self, inputs: InputArrays | None = None) -> None:
        """Compute the values of all nodes."""
        self.run("forward", inputs)

    def backward(self) -> None:
        """Add the gradients of the loss, at the values from `forward`, to the existing gradients."""
        self.run("backward")

    def zero_gradients(self) -> None:
        """Set all gradients to 0."""
        self.run("zero_gradients")

    def update(self) -> None:
        """Let the optimiser change the weights, by the accumulated gradients."""
        self.run("update")

    def step(self, inputs: InputArrays | None = None) -> None:
        """Train on one batch: forward, backward and update in one.

        Gradients, and values that aren't kept, are not stored.
        """
        self.run("step", inputs)

    def steps(self, count: int, inputs: InputArrays | None = None) -> None:
        """Train `count` times on one batch, all in one launch."""
        count = _at_least_one("number of steps", count, MOST_TURNS)
        if inputs:
            self.set_inputs(inputs)
        self._launch("step", count)

    def set_data(self, inputs: InputArrays | Iterable[InputArrays], *, losses: int = 1000) -> None:
        """Upload all examples to train on: the first axis of each input has all examples instead of a batch.

        A generator may yield them in parts. Of data that is too large for memory, upload one part after the other:
        `np.load(path, mmap_mode="r")` reads only the examples that are taken from its array.

        The losses of the last `losses` steps are kept. A later call replaces the data; the same numbers of examples and
        losses need no new program.
        """
        losses = _at_least_one("number of losses", losses)
        count, arrays = self._variables.checked(inputs if isinstance(inputs, Mapping) else _joined(inputs))
        batched = [name for name, item in self.network.of_role(Role.INPUT).items() if item.leaf.type.batched]
        if missing := [name for name in batched if name not in arrays]:
            raise InvalidOperation(f"data must be given for all inputs, got none for {', '.join(missing)}")
        if self._data != (count, losses):
            self.network = with_data(self.network, count, losses)
            self._variables.replace(
                self.network.variables, [BATCHES, ORDER, LOSSES, SEEN, TOTAL, *map(data_name, batched)]
            )
            for name in (TRAIN, EVALUATE):
                self._functions[name] = self.network.functions[name]
                self._forget(name)
            self._data = (count, losses)
            self._variables.write(ORDER, np.arange(count))
        self._variables.write(BATCHES, 0.0)
        for name in batched:
            self._variables.write(data_name(name), arrays[name])

    def train(self, steps: int, *, batch: int, shuffle: int | None = None) -> None:
        """Train for `steps` steps on batches of the data, all in one launch.

        Examples are used in their given order, repeatedly. With `shuffle`, a seed, they are put into a random order
        first. Keep launches short: the host device stops a loop after 10 s. LoopStopped then reports the number of
        completed steps; the next step may be partly done.
        """
        if self._data is None:
            raise InvalidOperation("data must be set by set_data before train")
        steps, batch = _at_least_one("number of steps", steps, MOST_TURNS), _at_least_one("batch size", batch)
        count, _ = self._data
        if shuffle is not None:
            if whole_number("seed of the shuffled order", shuffle) < 0:
                raise InvalidOperation(f"seed of the shuffled order must be 0 or more, got {shuffle}")
            self._variables.write(ORDER, np.random.default_rng(shuffle).permutation(count))
        self._variables.resize(batch)
        self._launch(TRAIN, steps)

    def evaluate(self, *, batch: int) -> float:
        """Return the loss of all examples of the data at the current weights: their sum, or with `average` their mean.

        This takes one launch, and another one for the last examples if they are no whole batch. Training on the data
        continues where it was.
        """
        if self._data is None:
            raise InvalidOperation("data must be set by set_data before evaluate")
        count, _ = self._data
        batch = min(_at_least_one("batch size", batch), count)
        for name in (SEEN, TOTAL):
            self._variables.write(name, 0.0)
        for size, turns in ((batch, count // batch), (count % batch, 1)):
            if size:
                self._variables.resize(size)
                self._launch(EVALUATE, turns)
        total = float(self._variables.read(TOTAL))
        return total / count if self.network.average else total

    @property
    def losses(self) -> Array:
        """The losses of the last steps on the data, as many as are kept, oldest first."""
        if self._data is None:
            return np.zeros(0)
        _, kept = self._data
        count = int(self._variables.read(BATCHES))
        found = self._variables.read(LOSSES)
        return np.roll(found, -(count % kept)) if count > kept else found[:count]

    def synchronize(self) -> None:
        """Wait until all launched work is done."""
        self.tensors.synchronize()

    @property
    def loss(self) -> float:
        """The loss of the last batch in `forward`, before the weights were updated."""
        if LOSS not in self.network.variables:
            raise InvalidOperation("network must be built with a loss to have one; it has values('output')")
        return float(self._variables.read(LOSS).item())

    def values(self, name: str) -> Array:
        """Return a copy of a variable in its shape, after a batch axis if it is batched."""
        return self._variables.read(name)

    def gradients(self, name: str) -> Array:
        """Return a copy of the gradients of a weight, or of a node's values."""
        return self._variables.read(f"{name}.gradient")

    def set(self, name: str, value: npt.ArrayLike) -> None:
        """Set the contents of a variable, such as weights, or a number that the next launch uses.

        Numbers are those of the network (`NetworkBuilder.number`) and of the optimiser: `rate`, `clip_norm`, `decay`,
        `frozen`, `weight_minimum` and `weight_maximum`, or `l0w.decay` and so on for weights l0w that have these
        options.
        """
        weight, _, option = name.rpartition(".") if isinstance(name, str) else ("", "", "")
        if option in (DECAY, FROZEN, *LIMITS, "clip_norm") and name not in self.network.variables:
            setting = "weight_limit" if option in LIMITS else option
            remedy = f"options={{{weight!r}: WeightOptions({setting}=...)}}" if weight else f"{setting}=..."
            raise InvalidOperation(f"number {name!r} must be an option of the optimiser; build with {remedy}")
        if self._variables.variable(name).role is Role.INPUT:
            raise InvalidOperation(f"input {name!r} must be set by set_inputs, which knows the batch")
        self._variables.write(name, self._checked_number(name, value))

    def _checked_number(
        self, name: str, value: npt.ArrayLike, beside: Mapping[str, Array] = MappingProxyType({})
    ) -> npt.ArrayLike:
        """Return a variable's new contents. If it is a number, raise InvalidOperation for one out of range.

        `beside` are the variables that are set with it.
        """
        if self._variables.variable(name).role is not Role.NUMBER:
            return value
        value = value.item() if isinstance(value, np.ndarray) and value.shape == () else value
        number = real_number(f"number {name!r}", value)
        if name in RESERVED or "." in name:
            require_setting(name, number)
            self._require_limit(name, number, beside)
        return number

    def _require_limit(self, name: str, number: float, beside: Mapping[str, Array]) -> None:
        """Raise InvalidOperation if a number is a limit of weights that is beyond the other one."""
        weight, dot, option = name.rpartition(".")
        if option not in LIMITS:
            return
        other = f"{weight}{dot}{LIMITS[1 - LIMITS.index(option)]}"
        if other not in self.network.variables:  # an infinite limit is none
            return
        bound = float((beside[other] if other in beside else self._variables.read(other)).item())
        if not (number < bound if option == LIMITS[0] else number > bound):
            side = "below" if option == LIMITS[0] else "above"
            raise InvalidOperation(f"{name} must be {side} {other}, which is {bound:g}, got {number:g}; set that first")

    def reset_optimiser(self) -> None:
        """Set the optimiser's state to that before its first update. Weights, numbers and schedules stay."""
        self.function("update")  # raises an error without an optimiser
        for name in self.network.of_role(Role.STATE):
            if _is_kept(name) and name != STEP:
                self._variables.write(name, 0.0)

    @property
    def weights(self) -> dict[str, Array]:
        """Copies of all weights by name."""
        return {name: self._variables.read(name) for name in self.network.of_role(Role.WEIGHTS)}

    def set_weights(self, weights: Mapping[str, npt.ArrayLike]) -> None:
        """Set all weights. If a name or a shape is wrong, nothing changes, and the error names it."""
        there = self.network.of_role(Role.WEIGHTS)
        if not isinstance(weights, Mapping):
            raise InvalidOperation(f"weights must be arrays by their names, got {shown(weights)}")
        missing, unknown = [*(there.keys() - weights.keys())], [*(weights.keys() - there.keys())]
        if missing or unknown:
            found = [f"none for {', '.join(sorted(missing))}"] * bool(missing)
            found += [f"some for {', '.join(sorted(unknown))}, which it doesn't have"] * bool(unknown)
            raise InvalidOperation(f"weights must be those of the network, got {' and '.join(found)}")
        arrays = {name: as_numbers(name, value) for name, value in weights.items()}
        for name, array in arrays.items():
            shape = there[name].leaf.type.shape
            if array.shape != shape:
                raise ShapeMismatch(f"weights {name!r} must have the shape {list(shape)}, got {list(array.shape)}")
        for name, array in arrays.items():
            self._variables.write(name, array)

    def save(
        self,
        path: str | Path,
        formats: Formats | None = None,
        *,
        state: bool = False,
        dtype: str | None = None,
        header: bytes = b"",
        padding: int = 1,
        fill: bytes = b"\0",
    ) -> None:
        """Write the weights to a .npz, .safetensors or .bin file, in their formats; see `files.save_weights`.

        `dtype`, such as "i16", is the format of those without one. With `state`, the file also has all that training
        continues with: the optimiser's state, the number of steps, and numbers such as `rate`.
        """
        arrays, chosen = self.weights, formats_of(formats, self.network.of_role(Role.WEIGHTS))
        if dtype is not None:
            default = WeightFormat(dtype)
            chosen = {**chosen, **{name: default for name in arrays if name not in chosen}}
        if state:
            if as_path("file of weights", path).suffix == ".bin":
                raise InvalidOperation("state must be saved in a .npz or .safetensors file, got a .bin file")
            arrays |= {name: self._variables.read(name) for name in self.network.of_role(Role.STATE) if _is_kept(name)}
            arrays |= {name + _NUMBER: self._variables.read(name) for name in self.network.of_role(Role.NUMBER)}
        save_weights(path, arrays, chosen, header=header, padding=padding, fill=fill)

    def load(self, path: str | Path) -> None:
        """Read all weights from such a file, and the optimiser's state if the file and this graph have one.

        A file with a state has the numbers too: set those that shall differ, such as `rate`, after loading. If a name
        or a shape is wrong, nothing changes, and the error names it.
        """
        arrays = load_weights(path)
        states = {name.removesuffix(_NUMBER): arrays.pop(name) for name in [*arrays] if _is_kept(name)}
        there = {**self.network.of_role(Role.STATE), **self.network.of_role(Role.NUMBER)}
        counts = [array for name, array in states.items() if name.rpartition(".")[2] == UPDATES]
        if counts or STEP in states:
            # This graph may count updates in another way: those of weights that can be frozen by themselves.
            count = counts[0] if counts else states[STEP]
            states = {name: count for name in there if name.rpartition(".")[2] == UPDATES} | states
        try:
            states = {name: as_numbers(name, array) for name, array in states.items() if name in there}
            for name, array in states.items():
                if array.shape != there[name].leaf.type.shape:
                    shape = list(there[name].leaf.type.shape)
                    raise ShapeMismatch(f"{name!r} must have the shape {shape}, got {list(array.shape)}")
                self._checked_number(name, array, states)
            self.set_weights(arrays)
        except (InvalidOperation, ShapeMismatch) as problem:
            raise type(problem)(f"{path}: {problem}") from None
        for name, array in states.items():
            self._variables.write(name, array)

    def leaf(self, name: str) -> TensorNode:
        """Return the leaf that stands for a variable in your own functions' instructions."""
        return self.network.leaf(name)

    def define(self, name: str, instructions: Iterable[NetworkInstruction]) -> None:
        """Add or replace a function: a sequence of instructions (Write, Accumulate, Set, or your own)."""
        self._functions[name] = NetworkFunction.of(name, instructions).optimised()
        self._forget(name)

    def function(self, name: str) -> NetworkFunction:
        """Return a function. Raise InvalidOperation when the name is unknown."""
        if not isinstance(name, str) or name not in self._functions:
            known = ", ".join(self._functions)
            remedy = "; build with an optimiser" if name in ("update", "step") else ""
            raise InvalidOperation(f"function must be one of {known}, got {shown(name)}{remedy}")
        return self._functions[name]

    def function_code(self, name: str) -> str:
        """Return the instructions of a function, one per line."""
        return function_code(self.function(name))

    def profile(self, name: str, *, launches: int = 10) -> list[EntryTime]:
        """Run a function several times, and return the time that each of its operations takes alone on the device.

        A kernel may do several instructions: `nodes` are the nodes that it computes, by their names in `function_code`.
        """
        launches = _at_least_one("number of launches", launches)
        runnable = self._runnable(name, is_loop=False)
        inputs, outputs = self._buffers(runnable)
        return runnable.program.profile(inputs, outputs, self.batch or 1, launches=launches)

    def ancillary(self, name: str) -> list[Ancillary]:
        """Return the buffers besides variables that a function needs for the current batch, with their nodes."""
        return self._runnable(name, is_loop=False).program.ancillary(self.batch or 1)

    def dump_graphviz(self, path: str | Path, *, optimised: bool = True) -> None:
        """Write the network, after or before the passes, as a DOT file. Raise InvalidOperation on failure."""
        root = self.network.optimised if optimised else self.network.built
        try:
            as_path("DOT file", path).write_text(graph_dot([root]), encoding="utf-8", newline="\n")
        except OSError as problem:
            raise InvalidOperation(f"graph must be written to {path}, got: {problem}") from problem

    def close(self) -> None:
        """Free all resources on the device. A second call does nothing."""
        if self._open_variables is None:
            return
        for runnable in self._programs.values():
            runnable.program.close()
        self._programs.clear()
        self._open_variables.close()
        self._open_variables = None
        self.tensors.close()

    def __enter__(self) -> Self:
        _ = self._variables
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _forget(self, name: str) -> None:
        """Free the programs of a function that was replaced."""
        for key in [key for key in self._programs if key[0] == name]:
            self._programs.pop(key).program.close()

    def _launch(self, name: str, turns: int | None = None) -> None:
        if not self.function(name).writes:
            return
        runnable = self._runnable(name, is_loop=turns is not None)
        inputs, outputs = self._buffers(runnable)
        runnable.program.run(inputs, outputs, self.batch or 1, turns=turns or 1)
        self.launches += 1

    def _buffers(self, runnable: _Runnable) -> tuple[list[TensorBuffer], list[TensorBuffer]]:
        buffer = self._variables.buffer
        return [buffer(name) for name in runnable.inputs], [buffer(name) for name in runnable.outputs]

    def _runnable(self, name: str, *, is_loop: bool) -> _Runnable:
        """Return a function as a program, which is created once."""
        key = (name, is_loop)
        found = self._programs.get(key)
        if found is None:
            _ = self._variables  # a closed graph creates no programs
            found = self._programs[key] = _Runnable.of(self.tensors, self.function(name), is_loop=is_loop)
        return found


class _Runnable(NamedTuple):
    """A function as a program, with the names of the variables that are its inputs and outputs."""

    program: Program
    inputs: list[str]
    outputs: list[str]

    @staticmethod
    def of(tensors: Tensors, function: NetworkFunction, *, is_loop: bool) -> _Runnable:
        """Return a function as a program. A variable that is written but not read is an output, and isn't replaced."""
        reads = function.reads
        wanted = [Wanted(node, leaf if leaf in reads else None) for leaf, node in function.writes.items()]
        outputs = [leaf.name for leaf in function.writes if leaf not in reads]
        program = Program(tensors, reads, wanted, is_loop=is_loop, names=node_names(function))
        return _Runnable(program, [leaf.name for leaf in reads], outputs)


def _joined(parts: Iterable[InputArrays]) -> InputArrays:
    """Return parts of the data as one. Raise InvalidOperation if they don't have the same inputs."""
    found: dict[str, list[Array]] = {}
    if not isinstance(parts, Iterable):
        raise InvalidOperation(f"data must be arrays by their names, or parts of them, got {shown(parts)}")
    for number, part in enumerate(parts):
        if not isinstance(part, Mapping) or (number and part.keys() != found.keys()):
            names = f"inputs {', '.join(found)}" if number else "arrays by their names"
            raise InvalidOperation(f"part {number} of the data must have {names}, got {shown(part)}")
        for name, array in part.items():
            found.setdefault(name, []).append(as_numbers(name, array))
    try:
        return {name: np.concatenate(arrays) for name, arrays in found.items()}
    except ValueError as problem:
        raise ShapeMismatch(f"parts of the data must have examples of one shape, got: {problem}") from problem


def _at_least_one(subject: str, count: int, most: int = 2**63 - 1) -> int:
    found = whole_number(subject, count)
    if not 1 <= found <= most:
        rule = "1 or more" if found < 1 else f"at most {most}"
        raise InvalidOperation(f"{subject} must be {rule}, got {count}")
    return found


def _is_kept(name: str) -> bool:
    """Whether a variable belongs to the state of training, by its name in a file."""
    return name in (STEP, UPDATES) or "." in name


class GraphBuilder(NetworkBuilder):
    """Collects a network; see `engine.tensor_ir.networks.NetworkBuilder`."""

    def build(
        self,
        device: Device | str = "auto",
        optimiser: Optimiser | None = None,
        *,
        average: bool = False,
        inference: bool = False,
    ) -> TrainingGraph:
        """Verify the network, simplify it, write its functions, and put it on a device. Raise TensorError if it is
        wrong.

        The loss is the sum over the batch, or with `average` the mean. An optimiser is needed for training. With
        `inference`, the root is no loss: `forward` computes it for each example, as `values("output")`. So it is
        without an optimiser if the root isn't one number.
        """
        return TrainingGraph(build_network(self, optimiser, average=average, inference=inference), device)
