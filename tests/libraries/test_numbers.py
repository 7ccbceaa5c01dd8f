"""Numbers of library calls, whether known, live or in a buffer, arrive in the type in which the call computes."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, In, Out, any_type, param, port
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.device.device import Device
from warploom.engine.libraries.blas import Axpy, Copy, Geam, Gemm, Gemv, Scal, SolveTriangular
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.libraries.sparse import SparseProduct
from warploom.engine.types import Array

Operands = Mapping[str, Array]

#: A sparse matrix [[2, 0, 0], [0, 3, 5]].
_CSR = {"offsets": np.array([0, 1, 3], np.int32), "columns": np.array([0, 1, 2], np.int32)}
_DENSE = np.array([[2, 0, 0], [0, 3, 5]])
FULL = ("float32", "float64", "complex64", "complex128")


def _sparse(given: Operands, alpha: float, beta: float) -> Array:
    return alpha * _DENSE @ given["x"].astype(np.float64)


#: For each call with numbers: its element types, its operands' shapes, and its formula in f64 or c128.
CALLS: dict[LibraryCall, tuple[tuple[str, ...], dict[str, tuple[int, ...]], Callable[..., Array]]] = {
    Gemm(): (
        ("float16", *FULL),
        {"a": (3, 5), "b": (5, 2), "c": (3, 2)},
        lambda at, alpha, beta: alpha * at["a"] @ at["b"] + beta * at["c"],
    ),
    Gemv(): (
        FULL,
        {"a": (3, 5), "x": (5,), "y": (3,)},
        lambda at, alpha, beta: alpha * at["a"] @ at["x"] + beta * at["y"],
    ),
    Geam(): (FULL, {"a": (3, 5), "b": (3, 5)}, lambda at, alpha, beta: alpha * at["a"] + beta * at["b"]),
    Axpy(): (FULL, {"x": (7,), "y": (7,)}, lambda at, alpha, beta: alpha * at["x"] + at["y"]),
    Scal(): (FULL, {"x": (7,)}, lambda at, alpha, beta: alpha * at["x"]),
    SolveTriangular(unit_diagonal=True): (
        FULL,
        {"a": (3, 3), "b": (3, 2)},
        lambda at, alpha, beta: np.linalg.solve(np.triu(at["a"], 1) + np.eye(3), alpha * at["b"]),
    ),
    SparseProduct(): (FULL[:2], {"x": (3,)}, _sparse),
}
CASES = [(call, dtype) for call, (dtypes, _, _) in CALLS.items() for dtype in dtypes]
#: The ways to pass a number to a call.
WAYS = ("known", "live", "buffer")


class Scaled(Block, id="tests.scaled"):
    """Makes a library call whose numbers are known, live, or read from buffers."""

    p: In[any_type] = port(doc="The first operand.", optional=True)
    q: In[any_type] = port(doc="The second operand.", optional=True)
    r: In[any_type] = port(doc="The third operand.", optional=True)
    s: In[any_type] = port(doc="The fourth operand.", optional=True)
    alpha_at: In[any_type] = port(doc="The first number.", optional=True)
    beta_at: In[any_type] = port(doc="The second number.", optional=True)
    out: Out[any_type] = port(shape="captured", dtype="captured", doc="The result.")
    call: int = param(0, structural=True, doc="Which call of CALLS.")
    ways: str = param("", doc="How each number is passed.")
    alpha: float = param(0.0, doc="The first number.")
    beta: float = param(0.0, doc="The second number.")

    def describe(self, build: BlockBuilder) -> None:
        """Record one call; a call that works in place gets a copy of its operand."""
        call = [*CALLS][self.call]
        ways = self.ways.split()
        numbers = {
            name: {"known": KNOWN[name], "live": getattr(self, name), "buffer": getattr(self, f"{name}_at")}[way]
            for name, way in zip(call.numbers, ways, strict=True)
        }
        slots = [slot for slot in (*call.inputs, *sorted(call.changed)) if slot != "bias"]
        given: dict[str, BufferHandle] = dict(zip(slots, (self.p, self.q, self.r, self.s), strict=False))
        for slot in call.changed:
            from_there = given.pop(slot)
            build.capture(Copy().on(x=from_there, y=self.out))
        build.capture(call.on(**given, **{call.outputs[0]: self.out}, **numbers))


KNOWN = {"alpha": -1.7, "beta": 0.3}


def _operands(call: LibraryCall, dtype: str) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    made = {}
    for slot, shape in CALLS[call][1].items():
        values = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if dtype.startswith("c") else 0)
        made[slot] = values.astype(dtype)
    return made


def _wide(dtype: str) -> np.dtype[Any]:
    return np.dtype("complex128" if dtype.startswith("c") else "float64")


@pytest.mark.parametrize(("call", "dtype"), CASES, ids=[f"{call.label}-{dtype}" for call, dtype in CASES])
def test_numbers_of_a_call_are_those_that_are_shown(device: Device, call: LibraryCall, dtype: str) -> None:
    """A call computes with its numbers, whether they are known, live or in a buffer.

    Changing a live number is a HOT update.
    """
    operands, oracle = _operands(call, dtype), CALLS[call][2]
    own = {**_CSR, "values": np.array([2, 3, 5], dtype)} if isinstance(call, SparseProduct) else {}
    wide = {slot: values.astype(_wide(dtype)) for slot, values in operands.items()}
    tolerance = {"float16": 3e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-14)
    number = {"float16": "float32"}.get(dtype, dtype)
    for ways in product(WAYS, repeat=len(call.numbers)):
        patch = Patch()
        block = patch.add("tests.scaled", call=[*CALLS].index(call), ways=" ".join(ways), **KNOWN)
        for name, values in zip("pqrs", {**own, **operands}.values(), strict=False):
            patch.connect(patch.add("io.array", data=values)["out"], block[name])
        stored = {}
        for name, way in zip(call.numbers, ways, strict=True):
            if way == "buffer":
                stored[name] = patch.add("io.array", data=np.array([KNOWN[name]], number))
                patch.connect(stored[name]["out"], block[f"{name}_at"])
        with Engine(patch, device=device.info.name) as engine:
            report = engine.step()
            assert not report.diagnostics, (ways, report.diagnostics)
            expected = oracle(wide, **KNOWN)
            np.testing.assert_allclose(engine.read(block["out"]), expected, rtol=tolerance, atol=tolerance)
            if "live" in ways:
                given = {n: -3.1 if way == "live" else KNOWN[n] for n, way in zip(call.numbers, ways, strict=True)}
                patch.set(block, **{n: value for n, value in given.items() if value != KNOWN[n]})
                assert engine.step().update_level is UpdateLevel.HOT
                expected = oracle(wide, **{**KNOWN, **given})
                np.testing.assert_allclose(engine.read(block["out"]), expected, rtol=tolerance, atol=tolerance)


def test_every_call_with_numbers_is_tried_here() -> None:
    """Every call with numbers is in `CALLS`, and names the slot that decides their type."""
    import warploom.engine.libraries.dnn
    import warploom.engine.libraries.fft
    import warploom.engine.libraries.images
    import warploom.engine.libraries.lapack  # noqa: F401 - these imports register their calls

    with_numbers = {each for each in LibraryCall.__subclasses__() if each.numbers}
    assert with_numbers == {type(call) for call in CALLS}
    for call in with_numbers:
        assert call.scaled in (*call.inputs, *call.outputs) and call.scaled not in call.optional
    assert all(not each.scaled for each in LibraryCall.__subclasses__() if not each.numbers)


def test_a_number_in_a_buffer_of_another_type_is_refused() -> None:
    """A buffer of another type is refused, since its bits would be read as another number."""
    patch = Patch()
    block = patch.add("tests.scaled", call=[*CALLS].index(Scal()), ways="buffer")
    patch.connect(patch.add("io.array", data=np.ones(3))["out"], block["p"])
    patch.connect(patch.add("io.array", data=np.ones(1, np.float32))["out"], block["alpha_at"])
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
    assert (problem.node, problem.port) == (block.id, "alpha_at")
    assert problem.message == "alpha of scal must be one f64, got f32[1]"
