"""Every operation, applied to tensors of small, odd and broadcast shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.tensor_ir.operations.differences import Given, floats
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.fused import DualSparseAffineActivate, SparseAffineActivate
from warploom.engine.tensor_ir.operations.indexing import ScatterAdd
from warploom.engine.tensor_ir.operations.matrices import MatMul
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo, ReduceAcrossBatch
from warploom.engine.tensor_ir.operations.rules import RULES
from warploom.engine.tensor_ir.operations.shaping import Pad
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul, SparseOuter
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import Shape, boolean, f64, s32

BATCH = 3
#: The range of operands in which differences can be taken, and the kinks of their functions.
_RANGES: Mapping[str, tuple[float, float]] = {
    "log": (0.3, 3),
    "log1p": (-0.6, 2),
    "sqrt": (0.3, 3),
    "power": (0.3, 2),
    "pow": (0.3, 2),
    "tan": (-1, 1),
    "div": (0.5, 2),
}
_KINKS: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("abs", "relu", "sqr_relu", "abs_pow", "reciprocal"), (0.0,)),
    **dict.fromkeys(("crelu", "screlu"), (0.0, 1.0)),
    "floor": tuple(range(-2, 3)),
    "ceil": tuple(range(-2, 3)),
    "round": (-1.5, -0.5, 0.5, 1.5),
    "sign": (0.0,),
}
_NUMBERS: Mapping[str, Sequence[tuple[float, ...]]] = {
    "power": [(3,), (2,), (1,), (0.5,), (-1,), (1.7,), (0,)],
    "abs_pow": [(2,), (1,), (2.6,), (3,)],
    "abs_power_error": [(2,), (2.5,)],
}
#: Shapes of operands that are broadcast, and whether they are batched.
BROADCASTS: Sequence[Sequence[tuple[Shape, bool]]] = [
    [((5, 3), False), ((5, 3), False)],
    [((3,), False), ((5, 3), False)],
    [((5, 1), True), ((1, 3), False)],
    [((), False), ((7,), True)],
    [((3,), True), ((5, 3), True)],
    [((2, 1, 3), True), ((3, 1), False)],
    [((1,), False), ((), True)],
    [((4, 1), False), ((4, 1), True)],
]


@dataclass(frozen=True)
class Case:
    """An operation applied to values. `oracle` computes the same with torch tensors that have a leading batch axis.

    For an operation of the table, `row` and `numbers` identify it.
    """

    name: str
    build: Callable[..., TensorNode]
    given: Sequence[Given] = field(repr=False)
    oracle: Callable[..., Any] | None = None
    row: str = ""
    numbers: Sequence[float] = ()

    def __str__(self) -> str:
        shapes = ",".join(f"{list(each.type.shape)}{'b' * each.type.batched}" for each in self.given)
        return f"{self.name}-{shapes}".replace(" ", "")


def tensor(shape: Shape, batched: bool = False) -> TensorType:
    """Return the type of a tensor of f64."""
    return TensorType(shape, f64, batched)


def elementwise_case(label: str, name: str, numbers: Sequence[float], given: Sequence[Given]) -> Case:
    """Return an operation of the table applied to values."""
    return Case(
        label,
        lambda first, *others: first.elementwise(name, *others, numbers=numbers),
        given,
        row=name,
        numbers=numbers,
    )


def elementwise_cases() -> Iterator[Case]:
    """Return each differentiable operation of the table for each way to broadcast."""
    for name, rule in RULES.items():
        if not Elementwise(name, (1.0,) * rule.numbers).is_differentiable or rule.kind == "choice":
            continue
        for numbers in _NUMBERS.get(name, [()]):
            label = "_".join([name, *(f"{number:g}" for number in numbers)])
            if rule.arity == 1:
                shapes: Sequence[Sequence[tuple[Shape, bool]]] = [[((7,), True)], [((5, 3), False)], [((), False)]]
            else:
                shapes = [*BROADCASTS, *(list(reversed(pair)) for pair in BROADCASTS[1:5])]
            for operands in shapes[: None if numbers == _NUMBERS.get(name, [()])[0] else 1]:
                yield elementwise_case(label, name, numbers, _operands(name, operands))
    for shapes in (*BROADCASTS, *(pair[::-1] for pair in BROADCASTS[2:4])):
        condition = Given(TensorType((5, 1), boolean), np.array([[True], [False], [True], [True], [False]]))
        if shapes[0][0][-2:-1] not in ((), (1,), (5,)) or shapes[1][0][-2:-1] not in ((), (1,), (5,)):
            condition = Given(TensorType((), boolean, True), np.array([True, False, True]))
        yield elementwise_case("where", "where", (), [condition, *_operands("where", shapes)])


def _operands(name: str, operands: Sequence[tuple[Shape, bool]]) -> list[Given]:
    rng = np.random.default_rng(len(name))
    low, high = _RANGES.get(name, (-2, 2))
    kinks = _KINKS.get(name, ())
    return [floats(rng, tensor(*each), BATCH, low=low, high=high, kinks=kinks) for each in operands]


def _given(*operands: tuple[Shape, bool], low: float = -2, high: float = 2) -> list[Given]:
    rng = np.random.default_rng(7)
    return [floats(rng, tensor(*each), BATCH, low=low, high=high) for each in operands]


def _rows(shape: Shape, size: int, *, batched: bool) -> Given:
    """Return indices with duplicates, one of them too small and one too large."""
    value = np.random.default_rng(3).integers(0, size, (*([BATCH] if batched else []), *shape))
    return Given(TensorType(shape, s32, batched), value)


def column(size: int, nnz: int, *, batched: bool = True, seed: int = 5) -> Given:
    """Return a sparse column that ends before its last place in each example, with one row named twice."""
    value = np.random.default_rng(seed).integers(0, size, (*([BATCH] if batched else []), nnz))
    value[..., -2] = -1
    value[..., 0] = value[..., 1]
    return Given(TensorType((size, 1), f64, batched, nnz), value)


def matrix_cases() -> Iterator[Case]:
    """Return products of matrices: each transposed or not, batched or not, with and without the sum over the batch."""
    shapes = {False: (4, 3), True: (3, 4)}, {False: (3, 5), True: (5, 3)}
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            for batched in ((False, False), (True, False), (False, True), (True, True)):
                for sum_batch in (False, True)[: 1 + any(batched)]:
                    product = MatMul(transpose_a, transpose_b, sum_batch)

                    def oracle(torch: Any, a: Any, b: Any, product: MatMul = product) -> Any:
                        a, b = (a.mT if product.transpose_a else a), (b.mT if product.transpose_b else b)
                        return (a @ b).sum(0, keepdim=True) if product.sum_batch else a @ b

                    given = _given((shapes[0][transpose_a], batched[0]), (shapes[1][transpose_b], batched[1]))
                    name = f"matmul_{'NT'[transpose_a]}{'NT'[transpose_b]}{'_summed' * sum_batch}"
                    yield Case(name, _apply(product), given, oracle)
    yield Case("matmul_column", _apply(MatMul()), _given(((4, 3), False), ((3, 1), True)), lambda torch, a, b: a @ b)
    yield Case("matmul_stack", _apply(MatMul()), _given(((2, 4, 3), True), ((3, 5), False)), _stacked(MatMul()))
    yield Case(
        "matmul_stacks", _apply(MatMul(True)), _given(((2, 1, 3, 4), False), ((5, 3, 1), True)), _stacked(MatMul(True))
    )


def _stacked(product: MatMul) -> Callable[..., Any]:
    def oracle(torch: Any, a: Any, b: Any) -> Any:
        count = max(a.ndim, b.ndim)
        a, b = (each.reshape(each.shape[0], *(1,) * (count - each.ndim), *each.shape[1:]) for each in (a, b))
        return (a.mT if product.transpose_a else a) @ b

    return oracle


def _apply(operation: Any) -> Callable[..., TensorNode]:
    return lambda first, *others: first.apply(operation, *others)


def shape_cases() -> Iterator[Case]:
    """Return reductions and operations that rearrange elements."""
    batched, alone = _given(((4, 3, 2), True)), _given(((4, 3, 2), False))
    for given in (batched, alone):
        yield Case("sum", lambda x: x.sum(1), given, lambda torch, x: x.sum(2))
        yield Case("sum_all", lambda x: x.sum(), given, lambda torch, x: x.sum((1, 2, 3)))
        yield Case("sum_kept", lambda x: x.sum((0, -1), keepdims=True), given, lambda torch, x: x.sum((1, 3), True))
        yield Case("mean", lambda x: x.mean((0, 2)), given, lambda torch, x: x.mean((1, 3)))
        yield Case("max", lambda x: x.max(0), given, lambda torch, x: x.amax(1))
        yield Case("min", lambda x: x.min(), given, lambda torch, x: x.amin((1, 2, 3)))
        yield Case("reshape", lambda x: x.reshape(6, -1), given, lambda torch, x: x.reshape(len(x), 6, 4))
        yield Case("transpose", lambda x: x.transpose((1, 2, 0)), given, lambda torch, x: x.permute(0, 2, 3, 1))
        yield Case("transpose_last", lambda x: x.transpose((1, 0)), given, lambda torch, x: x.mT)
        yield Case("slice", lambda x: x[1:, -1, ::2], given, lambda torch, x: x[:, 1:, -1, ::2])
        yield Case("slice_steps", lambda x: x[::3, 1::2], given, lambda torch, x: x[:, ::3, 1::2])
        yield Case(
            "pad",
            lambda x: x.pad((1, 0), (0, 2), (0, 0), value=7.0),
            given,
            lambda torch, x: torch.nn.functional.pad(x, (0, 0, 0, 2, 1, 0), value=7.0),
        )
        yield Case("pad_between", _apply(Pad((0, 2, 0), (1, 0, 0), (2, 0, 1))), given)
        yield Case("softmax", lambda x: x.softmax(1), given, lambda torch, x: x.softmax(2))
        yield Case("log_softmax", lambda x: x.log_softmax(), given, lambda torch, x: x.log_softmax(3))
        yield Case("repeat", lambda x: x.repeat(3, 1), given, lambda torch, x: x.repeat(1, 1, 3, 1))
        yield Case("pairwise_mul", lambda x: x.pairwise_mul(), given, lambda torch, x: x[:, :2] * x[:, 2:])
        yield Case("copy", lambda x: x.copy(), given, lambda torch, x: x * 1)
    yield Case("sum_batch", lambda x: x.sum_batch(), batched, lambda torch, x: x.sum(0, True))
    yield Case("mean_batch", lambda x: x.mean_batch(), batched, lambda torch, x: x.mean(0, True))
    for name in ("max", "min"):
        yield Case(
            f"{name}_batch",
            lambda x, name=name: x.apply(ReduceAcrossBatch(name)),
            batched,
            lambda torch, x, name=name: getattr(x, f"a{name}")(0, True),
        )
    for type_ in (tensor((5, 4, 3, 2)), tensor((4, 3, 2), True)):
        yield Case(
            "broadcast",
            _apply(BroadcastTo(type_)),
            alone,
            lambda torch, x, type_=type_: x.expand(BATCH if type_.batched else 1, *type_.shape),
        )
    given = _given(((2, 3), True), ((1, 3), False), ((4, 3), True))
    yield Case("concat", lambda a, *others: a.concat(*others), given, _concat(1))
    given = _given(((2, 3), False), ((2, 1), False))
    yield Case("concat_last", lambda a, *others: a.concat(*others, axis=-1), given, _concat(2))


def _concat(axis: int) -> Callable[..., Any]:
    def oracle(torch: Any, *given: Any) -> Any:
        batch = max(len(each) for each in given)
        return torch.concat([each.expand(batch, *each.shape[1:]) for each in given], axis)

    return oracle


def index_cases() -> Iterator[Case]:
    """Return gather and scatter-add, with tables and indices batched or not."""
    for table in (False, True):
        for batched in (False, True):
            rows = _rows((3, 2), 5, batched=batched)
            yield Case("gather", lambda x, i: x.gather(i), [*_given(((5, 2), table)), rows], _gather)
            rows = _rows((), 4, batched=batched)
            yield Case("gather_last", lambda x, i: x.gather(i, -1), [*_given(((2, 4), table)), rows])
            rows = _rows((2,), 5, batched=batched)
            yield Case(
                "scatter_add",
                lambda x, u, i: x.scatter_add(i, u, 1),
                [*_given(((3, 5, 2), table), ((3, 2, 2), table)), rows],
            )
    add = ScatterAdd(0, 4, sum_batch=True)
    for batches in ((True, True), (True, False), (False, True)):
        rows = _rows((3,), 4, batched=batches[0])
        yield Case("scatter_summed", lambda u, i: i.apply(add, u), [*_given(((3, 2), batches[1])), rows])
    yield Case("select", lambda x, i: x.select(i, 3), [*_given(((6, 1), True)), _rows((1, 1), 3, batched=True)])
    chosen = Given(TensorType((3, 1), f64, True, 1), np.array([[2], [0], [-1]]))
    yield Case("select_sparse", lambda x, i: x.select(i), [*_given(((6, 1), True)), chosen])


def _gather(torch: Any, x: Any, i: Any) -> Any:
    batch = max(len(x), len(i))
    x, i = x.expand(batch, *x.shape[1:]), i.expand(batch, *i.shape[1:])
    return torch.stack([each[rows] for each, rows in zip(x, i, strict=True)])


def sparse_cases() -> Iterator[Case]:
    """Return products with sparse columns, and fused operations."""
    for transposed in (False, True):
        weights: tuple[Shape, bool] = ((6, 4) if transposed else (4, 6), False)
        for batched in (False, True):
            yield Case(
                f"sparse_matmul{'_T' * transposed}",
                _apply(SparseMatMul(transposed)),
                [*_given(weights), column(6, 4, batched=batched)],
                _sparse(transposed),
            )
            yield Case(
                f"sparse_outer{'_T' * transposed}",
                _apply(SparseOuter(6, transposed)),
                [*_given(((4, 1), True)), column(6, 4, batched=batched)],
            )
        given = [*_given(weights, ((4, 1), False), low=-0.2, high=0.5), column(6, 4), column(6, 5, seed=6)]
        for activation in (None, "screlu", "sigmoid"):
            label = f"{activation}{'_T' * transposed}"
            single = SparseAffineActivate(activation, transposed)
            dual = DualSparseAffineActivate(activation, transposed)
            yield Case(f"sparse_{label}", lambda w, b, i, _, f=single: w.apply(f, i, b), given)
            yield Case(f"sparse_alone_{label}", lambda w, b, i, _, f=single: w.apply(f, i), given)
            yield Case(f"dual_{label}", lambda w, b, i, j, f=dual: w.apply(f, i, j, b), given)


def _sparse(transposed: bool) -> Callable[..., Any]:
    def oracle(torch: Any, weights: Any, rows: Any) -> Any:
        table = weights[0] if transposed else weights[0].mT
        dense = torch.zeros(len(rows), len(table), dtype=weights.dtype)
        for at, example in enumerate(rows.tolist()):
            for row in example:
                if row < 0:
                    break
                dense[at, row] += 1
        return (dense @ table)[..., None]

    return oracle


def all_cases() -> list[Case]:
    """Return all cases."""
    return [*elementwise_cases(), *matrix_cases(), *shape_cases(), *index_cases(), *sparse_cases()]
