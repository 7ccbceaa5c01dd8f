"""Sparse products against dense ones in f64, on every device."""

import numpy as np
import pytest
from scipy.sparse import random_array

from tests.fuzzing import seeds
from tests.libraries.calls import Caller
from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.libraries.call import OperandError
from warploom.engine.libraries.host.sparse import first_wrong
from warploom.engine.libraries.sparse import BAD_OFFSET, SparseProduct
from warploom.engine.types import Array, f32, f64, s32
from warploom.engine.types.layout import Layout


def csr(rows: int, columns: int, dtype: str, seed: int, density: float = 0.2) -> tuple[dict[str, Array], Array]:
    """Return a sparse matrix with some empty rows, as operands and as a dense matrix in f64."""
    made = random_array((rows, columns), density=density, format="csr", rng=np.random.default_rng(seed), dtype=dtype)
    parts = {
        "offsets": made.indptr.astype(np.int32),
        "columns": made.indices.astype(np.int32),
        "values": made.data.astype(dtype),
    }
    return parts, made.toarray().astype(np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 5), (65, 129), (1023, 1027)])
@pytest.mark.parametrize("k", [None, 1, 7])
def test_a_product_is_the_dense_one(caller: Caller, dtype: str, rows: int, columns: int, k: int | None) -> None:
    """Products with vectors and matrices are those of the dense matrix, also transposed, for alpha in either memory."""
    parts, dense = csr(rows, columns, dtype, rows + columns, 1.0 if rows == 1 else 0.05)
    rng, tolerance = np.random.default_rng(k or 0), 1e-5 if dtype == "float32" else 1e-13
    for transpose in (False, True):
        shape = (rows if transpose else columns, *([] if k is None else [k]))
        x = rng.standard_normal(shape).astype(dtype)
        call = SparseProduct(transpose, columns if transpose else 0)
        found = caller(call, {**parts, "x": x}, numbers={"alpha": -1.5}, on_device=transpose)["out"]
        expected = -1.5 * (dense.T if transpose else dense) @ x
        assert np.allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_nan_and_infinity_pass_through_where_there_are_entries(caller: Caller) -> None:
    """A NaN or infinity in x reaches only rows with an entry in that column."""
    parts = {
        "offsets": np.array([0, 1, 2, 2], np.int32),
        "columns": np.array([0, 1], np.int32),
        "values": np.array([2, 3], np.float32),
    }
    found = caller(SparseProduct(), {**parts, "x": np.array([np.nan, np.inf], np.float32)})["out"]
    assert np.isnan(found[0]) and np.isposinf(found[1]) and found[2] == 0


def test_operands_that_dont_fit_are_refused() -> None:
    """A bad operand is refused with an error at its slot."""
    good = {"offsets": Layout(s32, (4,)), "columns": Layout(s32, (5,)), "values": Layout(f32, (5,))}
    for slot, layout, words in (
        ("offsets", Layout(f32, (4,)), "elements must be s32"),
        ("offsets", Layout(s32, (1,)), "two elements or more"),
        ("columns", Layout(s32, (5,), (2,)), "one dimension without gaps"),
        ("values", Layout(f32, (4,)), "must have 5 elements as columns"),
        ("x", Layout(f64, (3,)), "elements must be f32, as in values"),
        ("x", Layout(f32, (3, 3, 3)), "a vector or a matrix"),
    ):
        with pytest.raises(OperandError, match=words) as refused:
            SparseProduct().results({**good, "x": Layout(f32, (3,)), slot: layout})
        assert refused.value.slot == slot
    with pytest.raises(OperandError, match="must have 3 rows, as the matrix has, got 5"):
        SparseProduct(True, 9).results({**good, "x": Layout(f32, (5,))})
    with pytest.raises(OperandError, match="width of a transposed matrix"):
        SparseProduct(True).results({**good, "x": Layout(f32, (3,))})


@pytest.mark.parametrize(
    ("offsets", "columns", "words"),
    [
        ([0, 1, 2], [0, 3], "columns must be those of the matrix, got another one at 1"),
        ([0, 1, 2], [-1, 2], "columns must be those of the matrix, got another one at 0"),
        ([0, 1, 2], [2, -(2**31)], "columns must be those of the matrix, got another one at 1"),
        ([0, 3, 2], [0, 1], "offsets must rise from 0 to the number of columns, got another one at 2"),
        ([1, 1, 2], [0, 1], "offsets must rise from 0 to the number of columns, got another one at 0"),
        ([0, 1, 1], [0, 1], "offsets must rise from 0 to the number of columns, got another one at 2"),
        ([0, -(2**31), 2], [0, 1], "offsets must rise from 0 to the number of columns, got another one at 1"),
        ([0, 1, 2], [0, 2], ""),
    ],
)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize(("dtype", "shape"), [("f4", ()), ("f8", (5,))])
def test_no_column_is_read_that_is_not_there(
    caller: Caller, offsets: list[int], columns: list[int], words: str, transpose: bool, dtype: str, shape: tuple[int]
) -> None:
    """A wrong column or offset makes the result NaN and is reported by the info word."""
    call = SparseProduct(transpose, 3 if transpose else 0)
    parts = {"offsets": np.array(offsets, np.int32), "columns": np.array(columns, np.int32)}
    x = np.ones((2 if transpose else 3, *shape), dtype)
    found = caller(call, {**parts, "values": np.ones(2, dtype), "x": x})
    assert np.isnan(found["out"]).all() if words else not np.isnan(found["out"]).any()
    word = int(found["info"][0])
    assert (call.problem(word)[0] if word else "") == words


@pytest.mark.parametrize("seed", seeds(20))
def test_the_kernels_report_what_the_host_does(device: Device, seed: int) -> None:
    """The kernels report the first wrong offset or column, as the host does, and their copies are safe to read."""
    draw = np.random.default_rng(seed)
    rows, entries, width = (int(draw.choice([1, 2, 7, 300, 3001])) for _ in range(3))
    offsets = np.sort(draw.integers(0, entries + 1, rows + 1)).astype(np.int32)
    offsets[0], offsets[-1] = 0, entries
    columns = draw.integers(0, width, entries).astype(np.int32)
    for array in (offsets, columns):
        wrong = draw.integers(0, len(array), int(draw.choice([0, 0, 1, 3])))
        array[wrong] = draw.choice([-(2**31), -1, 0, width, 2**31 - 1], len(wrong))
    architecture = device.info.architecture
    module = device.load_module(load_image(KERNELS_FOLDER / "sparse.cu", architecture).payload(architecture))
    word, safe_columns, safe_offsets = (
        device.upload(np.full(size, first, dtype))
        for size, first, dtype in ((1, 0, np.uint32), (entries, -9, np.int32), (rows + 1, -9, np.int32))
    )
    given = [device.upload(array) for array in (offsets, columns)]
    check, copy = module.kernel("check_matrix"), module.kernel("copy_offsets")
    device.launch(check, (2,), (256,), [word, safe_columns, *given, rows, entries, width])
    device.launch(copy, (2,), (256,), [safe_offsets, word, given[0], rows, entries])
    expected = first_wrong(offsets, columns, width)
    assert int(word.download()[0]) == expected
    is_there = (columns >= 0) & (columns < width)
    np.testing.assert_array_equal(safe_columns.download(), np.where(is_there, columns, 0))
    in_last_row = np.append(np.zeros(rows), entries)
    np.testing.assert_array_equal(safe_offsets.download(), in_last_row if expected & BAD_OFFSET else offsets)
    for buffer in (word, safe_columns, safe_offsets, *given):
        buffer.free()
    module.unload()


def test_every_device_says_that_a_right_matrix_is_right(caller: Caller) -> None:
    """The info word of a valid matrix is 0, whatever its memory held before."""
    parts, _ = csr(7, 5, "float32", 1)
    assert caller(SparseProduct(), {**parts, "x": np.ones(5, np.float32)})["info"] == 0


def test_a_wrong_matrix_is_told_at_its_node_and_the_engine_runs_on(caller: Caller) -> None:
    """A wrong matrix in a loop is reported at its node; once it is fixed, the next frame has a result."""
    patch = Patch()
    columns = np.array([0, 7], np.int32)
    operands = {
        "offsets": np.array([0, 1, 2], np.int32),
        "entries": np.array([2, 3], np.float32),
        "x": np.array([1, 10, 100], np.float32),
    }
    loop = patch.add("control.for", count=2)
    product = patch.add("sparse.multiply", region=loop.body)
    for name, values in operands.items():
        patch.connect(patch.add("io.array", data=values)["out"], product[name])
    source = patch.add("io.array", data=columns)
    patch.connect(source["out"], product["columns"])
    with Engine(patch, device=caller.device) as engine:
        for _ in range(2):
            (problem,) = engine.step().diagnostics
            assert (problem.node, problem.port) == (product.id, "out")
            assert problem.message == "columns must be those of the matrix, got another one at 1"
            assert np.isnan(engine.read(product["out"])).all()
        patch.set(source, data=np.array([0, 2], np.int32))
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(product["out"]), [2, 300])
