"""Training on examples that all are on the device: each step takes its own batch of them."""

from __future__ import annotations

from dataclasses import replace

from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.networks.builder import STEP
from warploom.engine.tensor_ir.networks.functions import NetworkFunction, NetworkVariable, Role
from warploom.engine.tensor_ir.networks.network import LOSS, Network
from warploom.engine.tensor_ir.operations.leaves import BatchSize, Leaf, Numbers
from warploom.engine.tensor_ir.operations.reductions import broadcast_to
from warploom.engine.tensor_ir.operations.sparse import SparseColumn
from warploom.engine.tensor_ir.passes.rewriting import substitute
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import f64, s32

#: The function, and its variables: the number of batches so far, the order of the examples, the last steps' losses.
TRAIN, BATCHES, ORDER, LOSSES = "train", "batches", "order", "losses"


def data_name(name: str) -> str:
    """Return the name of the variable that holds all examples of an input."""
    return f"{name}.data"


def with_data(network: Network, count: int, kept: int) -> Network:
    """Return a network with a function `train`, which runs `step` on the next batch of `count` examples.

    `order`, s32[count], has the order of the examples. Batch t, as counted by `batches`, takes the examples at t *
    batch, t * batch + 1 and so on, and wraps around at the end. Its loss is stored in element t of `losses`, [kept],
    which wraps around too. Raise InvalidOperation without an optimiser, or without inputs.
    """
    if "step" not in network.functions:
        raise InvalidOperation("network must have an optimiser to be trained; build with one")
    batched = {name: item for name, item in network.of_role(Role.INPUT).items() if item.leaf.type.batched}
    if not batched:
        raise InvalidOperation("network must have an input with the batch in front to be trained on data, got none")
    beside = network.leaf(STEP)
    taken = _leaf(beside, BATCHES, TensorType((), f64))
    order = _leaf(beside, ORDER, TensorType((count,), s32))
    losses = _leaf(beside, LOSSES, TensorType((kept,), network.leaf(LOSS).type.dtype))
    data = {name: _leaf(beside, data_name(name), _together(item.leaf.type, count)) for name, item in batched.items()}
    position = _wrapped(
        taken * taken._apply(BatchSize(f64)) + taken._apply(Numbers(TensorType((), f64, batched=True))), count
    )
    rows = order.gather(position.cast(s32))
    inputs = {item.leaf: _taken(data[name], rows, item.leaf.type) for name, item in batched.items()}
    writes = network.functions["step"].writes
    values = dict(zip(writes, substitute(list(writes.values()), inputs), strict=True))
    is_now = taken._apply(Numbers(TensorType((kept,), f64))).equal(_wrapped(taken, kept))
    loss = values[network.leaf(LOSS)].reshape(())
    values[losses] = is_now.where(broadcast_to(loss, losses.type), losses)
    values[taken] = taken + 1.0
    variables = {
        **network.variables,
        BATCHES: NetworkVariable(BATCHES, taken, Role.STATE),
        ORDER: NetworkVariable(ORDER, order, Role.DATA, None),
        LOSSES: NetworkVariable(LOSSES, losses, Role.STATE),
        **{leaf.name: NetworkVariable(leaf.name, leaf, Role.DATA, None) for leaf in data.values()},
    }
    functions = {**network.functions, TRAIN: NetworkFunction(TRAIN, values).optimised()}
    return replace(network, variables=variables, functions=functions)


def _leaf(beside: TensorNode, name: str, type_: TensorType) -> TensorNode:
    return beside.graph.add(Leaf(type_), name=name, requires_grad=False)


def _together(type_: TensorType, count: int) -> TensorType:
    """Return the type of all examples of an input; for a sparse input, that of the row numbers."""
    if type_.nnz is not None:
        return TensorType((count, type_.nnz), s32)
    return TensorType((count, *type_.shape), type_.dtype)


def _wrapped(number: TensorNode, size: int) -> TensorNode:
    """Return a number modulo a size; both are whole numbers in f64."""
    return number - (number / size).elementwise("floor") * size


def _taken(data: TensorNode, rows: TensorNode, type_: TensorType) -> TensorNode:
    """Return a batch of examples."""
    found = data.gather(rows)
    return found if type_.nnz is None else found._apply(SparseColumn(type_.shape[0], type_.dtype), found)
