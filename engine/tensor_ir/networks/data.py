"""Training and evaluation on examples that all are on the device: each step takes its own batch of them."""

from __future__ import annotations

from collections.abc import Mapping
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
#: Another function, and its variables: the number of examples so far, and the sum of their losses.
EVALUATE, SEEN, TOTAL = "evaluate", "data.seen", "data.total"


def data_name(name: str) -> str:
    """Return the name of the variable that holds all examples of an input."""
    return f"{name}.data"


def with_data(network: Network, count: int, kept: int) -> Network:
    """Return a network with functions `train`, which runs `step` on the next batch of `count` examples, and `evaluate`,
    which adds up the loss of batches.

    `order`, s32[count], has the order of the examples. Batch t, as counted by `batches`, takes the examples at t *
    batch, t * batch + 1 and so on, and wraps around at the end. Its loss is stored in element t of `losses`, [kept],
    which wraps around too. `evaluate` takes the examples from number `data.seen` on, and adds their loss to
    `data.total`. Raise InvalidOperation without an optimiser, or without inputs.
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
    size, numbers = taken._apply(BatchSize(f64)), taken._apply(Numbers(TensorType((), f64, batched=True)))

    def batch_from(first: TensorNode) -> Mapping[TensorNode, TensorNode]:
        """Return the inputs that hold a batch of the data, which begins at a number in the order."""
        rows = order.gather(_wrapped(first + numbers, count).cast(s32))
        return {item.leaf: _taken(data[name], rows, item.leaf.type) for name, item in batched.items()}

    writes = network.functions["step"].writes
    values = dict(zip(writes, substitute(list(writes.values()), batch_from(taken * size)), strict=True))
    is_now = taken._apply(Numbers(TensorType((kept,), f64))).equal(_wrapped(taken, kept))
    loss = values[network.leaf(LOSS)].reshape(())
    values[losses] = is_now.where(broadcast_to(loss, losses.type), losses)
    values[taken] = taken + 1.0
    seen, total = (_leaf(beside, name, TensorType((), f64)) for name in (SEEN, TOTAL))
    (loss,) = substitute(
        [network.functions["forward"].writes.get(network.leaf(LOSS), network.leaf(LOSS))], batch_from(seen)
    )
    loss = loss.reshape(()).cast(f64)
    sums = {total: total + (loss * size if network.average else loss), seen: seen + size}
    variables = {
        **network.variables,
        **{leaf.name: NetworkVariable(leaf.name, leaf, Role.DATA) for leaf in (seen, total)},
        BATCHES: NetworkVariable(BATCHES, taken, Role.STATE),
        ORDER: NetworkVariable(ORDER, order, Role.DATA, None),
        LOSSES: NetworkVariable(LOSSES, losses, Role.STATE),
        **{leaf.name: NetworkVariable(leaf.name, leaf, Role.DATA, None) for leaf in data.values()},
    }
    functions = {
        **network.functions,
        TRAIN: NetworkFunction(TRAIN, values).optimised(),
        EVALUATE: NetworkFunction(EVALUATE, sums).optimised(),
    }
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
