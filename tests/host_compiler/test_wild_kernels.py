"""Whole algorithms as people write them (wild/*.cu), against numpy, scipy and Python."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import scipy.sparse
import scipy.sparse.csgraph

from tests.device.conftest import compile_cuda
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelFault
from warploom.engine.kernel_sources.cuda.library import toolkit_folders
from warploom.engine.types import Array

HERE = Path(__file__).parent / "wild"
OLD, NEW = "compute_75", "compute_100"  # the two PTX dialects
FAST, DEBUG, WIDE = "-use_fast_math", "-G", "--device-int128"

Wild = Callable[..., list[Array]]


@pytest.fixture(scope="module")
def device() -> Iterator[HostDevice]:
    """A host device with a short time limit for kernels."""
    opened = HostDevice(cores=2, kernel_time_limit_s=10)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def module(device: HostDevice) -> Callable[..., Any]:
    """Load each file once for each dialect and each set of compiler options."""

    @cache
    def load(name: str, dialect: str, *options: str) -> Any:
        return device.load_module(compile_cuda((HERE / f"{name}.cu").read_text(), dialect, *options))

    return load


@pytest.fixture(scope="module")
def wild(device: HostDevice, module: Callable[..., Any]) -> Wild:
    """Launch a kernel and return its arrays: `wild((file, dialect, ...), kernel, grid, thread_block, *arguments)`."""

    def run(
        source: tuple[str, ...], name: str, grid: Any, block: Any, *args: Any, shared_bytes: int = 0
    ) -> list[Array]:
        given = [device.upload(item) if isinstance(item, np.ndarray) else item for item in args]
        sizes = [(item,) if isinstance(item, int) else item for item in (grid, block)]
        try:
            device.launch(module(*source).kernel(name), *sizes, given, shared_bytes=shared_bytes)
            return [item.download() for item in given if hasattr(item, "download")]
        finally:
            for item in given:
                if hasattr(item, "download"):
                    item.free()

    return run


@pytest.fixture
def rng() -> np.random.Generator:
    """A random generator with the same numbers in every run."""
    return np.random.default_rng(7)


def zeros(count: int | tuple[int, ...], dtype: Any = np.int32) -> Array:
    """Return zeros, of 32-bit integers by default."""
    return np.zeros(count, dtype)


# -- images and grids --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [("clamped_reads", OLD), ("clamped_reads", NEW, FAST)])
def test_filters_that_clamp_their_coordinates(wild, rng, source):
    """A blur and a median agree with scipy inside the image, at its edges, and if thread blocks reach beyond them."""
    image = rng.random((43, 61), np.float32)
    grid, size = (4, 3), (image, np.zeros_like(image), 61, 43)
    kernel = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
    blurred = scipy.ndimage.convolve(image.astype(np.float64), kernel, mode="nearest")
    np.testing.assert_allclose(wild(source, "blur", grid, (16, 16), *size)[1], blurred, rtol=1e-5)
    assert np.array_equal(
        wild(source, "median", grid, (16, 16), *size)[1], scipy.ndimage.median_filter(image, 3, mode="nearest")
    )


def test_the_least_of_unsigned_numbers_that_wrap(wild):
    """The minimum of unsigned numbers that wrap treats 0 - 1 as the largest number."""
    x = np.arange(400, dtype=np.float32)
    out = wild(("clamped_reads", OLD), "left_or_last", 2, 64, x, zeros(128, np.float32), 200)[1]
    assert out.tolist() == [205, *range(5, 132)]


def test_stencil_with_planes_in_shared_memory(wild, rng):
    """A seven-point stencil with zeros outside equals numpy's on a grid that is no multiple of the thread block."""
    v = rng.random((7, 19, 45), np.float32)
    p = np.pad(v, 1)
    middle = slice(1, -1)
    expected = -6 * v + sum(
        p[z, y, x]
        for axis in range(3)
        for side in (slice(2, None), slice(None, -2))
        for z, y, x in [[side if axis == k else middle for k in range(3)]]
    )
    out = wild(("stencil_planes", OLD), "laplace", (2, 3), (32, 8), v, np.zeros_like(v), 45, 19, 7)[1]
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize(("bits", "threads"), [(1, 1), (6, 32), (9, 100), (10, 128)])
def test_fourier_transform_in_shared_memory(wild, rng, bits, threads):
    """A Fourier transform of three signals with more or fewer points than threads, and its inverse, equal numpy's."""
    size = 1 << bits
    x = (rng.standard_normal((3, size)) + 1j * rng.standard_normal((3, size))).astype(np.complex64)
    source = ("fft", NEW)
    out = wild(source, "fft", 3, threads, x.view(np.float32), bits, np.float32(-1), shared_bytes=8 * size)[0]
    np.testing.assert_allclose(out.view(np.complex64), np.fft.fft(x), atol=1e-3)
    back = wild(source, "fft", 3, threads, out, bits, np.float32(1), shared_bytes=8 * size)[0]
    np.testing.assert_allclose(back.view(np.complex64) / size, x, atol=1e-5)


@pytest.mark.parametrize(("rows", "columns", "inner"), [(64, 64, 64), (33, 50, 71), (1, 100, 3), (100, 1, 17)])
def test_matrix_product_of_any_size(wild, rng, rows, columns, inner):
    """A tiled matrix product equals numpy's for any size; tiles at the edges are filled with zeros."""
    a, b = rng.random((rows, inner), np.float32), rng.random((inner, columns), np.float32)
    grid = (-(-columns // 16), -(-rows // 16))
    c = np.zeros((rows, columns), np.float32)
    out = wild(("matmul", OLD), "any_size", grid, (16, 16), a, b, c, rows, columns, inner)[2]
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)


def test_matrix_product_in_registers(wild, rng):
    """A matrix product with vector loads and sixteen sums per thread equals numpy's."""
    a, b = rng.random((2, 128, 128), np.float32)
    out = wild(("matmul", OLD), "in_registers", (2, 2), 256, a, b, np.zeros_like(a), 128)[2]
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)


@pytest.mark.parametrize("kernel", ["thread_per_row", "warp_per_row"])
def test_sparse_product(wild, rng, kernel):
    """A sparse product equals scipy's for rows of different lengths, even empty ones."""
    matrix = scipy.sparse.random(300, 200, 0.03, format="csr", random_state=1)
    dtype = np.float32 if kernel == "thread_per_row" else np.float64
    x = rng.random(200).astype(dtype)
    given = (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(dtype), x)
    threads = 300 * (1 if kernel == "thread_per_row" else 32)
    out = wild(("sparse", NEW), kernel, -(-threads // 128), 128, 300, *given, np.zeros(300, dtype))[4]
    np.testing.assert_allclose(out, matrix @ x, rtol=1e-5)


# -- sums, scans, sorts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [("warp_synchronous", OLD), ("warp_synchronous", NEW, DEBUG)])
def test_warps_in_step_through_volatile_memory(wild, rng, source):
    """Without barriers, an unrolled last warp reduces and a warp scans correctly through volatile memory."""
    x = rng.integers(-1000, 1000, 20_011).astype(np.int32)
    assert wild(source, "reduce", 11, 256, x, zeros(11), len(x))[1].sum() == x.sum()
    y = x[:256].copy()
    assert np.array_equal(wild(source, "scan_warps", 1, 256, y, zeros(256))[1], y.reshape(8, 32).cumsum(1).ravel())


def test_the_last_thread_block_adds_up(wild, rng):
    """The last thread block adds up all results; its counter wraps, so the kernel can run again."""
    x = rng.integers(-1000, 1000, 33_333).astype(np.int32)
    for _ in range(2):
        out = wild(("last_block", NEW), "reduce", 29, 256, x, zeros(29), zeros(1), len(x))[2]
        assert out[0] == x.sum()


def test_scan_by_looking_back(wild, rng):
    """A single-pass scan over 120 thread blocks, which wait for each other, equals numpy's."""
    x = rng.integers(-100, 100, 30_600).astype(np.int32)
    blocks = -(-len(x) // 256)
    out = wild(
        ("look_back", OLD), "scan", blocks, 256, x, np.zeros_like(x), zeros((blocks, 3)), zeros(1), len(x)
    )[1]  # fmt: skip
    assert np.array_equal(out, x.cumsum())


def test_radix_sort(wild, rng):
    """A radix sort of 32-bit keys in eight passes keeps every key and sorts all of them."""
    keys = rng.integers(0, 2**32, 5_003, dtype=np.uint32)
    expected, source, blocks = np.sort(keys), ("radix_sort", OLD), 20
    for shift in range(0, 32, 4):
        counts = wild(source, "count_digits", blocks, 256, keys, zeros(16 * blocks, np.uint32), len(keys), shift)[1]
        start = wild(source, "sum_before", 1, 1, counts, 16 * blocks)[0]
        keys = wild(source, "scatter", blocks, 256, keys, np.zeros_like(keys), start, len(keys), shift)[1]
    assert np.array_equal(keys, expected)


@pytest.mark.parametrize(("count", "threads"), [(1, 1), (2, 1), (31, 31), (777, 128), (1000, 33)])
def test_bitonic_sort_of_any_length(wild, rng, count, threads):
    """A bitonic sort equals numpy's for lengths that are no power of two and threads that are no multiple of a warp."""
    x = rng.standard_normal(count).astype(np.float32)
    out = wild(("small_sorts", NEW), "bitonic", 1, threads, x, count, shared_bytes=4096)[0]
    assert np.array_equal(out, np.sort(x))


def test_odd_even_sort_and_quicksort(wild, rng):
    """An odd-even sort with 301 barriers and a quicksort whose recursion depends on the data sort their input."""
    x = rng.integers(-999, 999, 301).astype(np.int32)
    assert np.array_equal(wild(("small_sorts", NEW), "odd_even", 1, 301, x, 301, shared_bytes=1204)[0], np.sort(x))
    rows = rng.integers(0, 999, (66, 77)).astype(np.int32)
    assert np.array_equal(wild(("small_sorts", NEW), "sort_rows", 2, 33, rows, 77)[0], np.sort(rows, 1))


def test_merge_along_diagonals(wild, rng):
    """A merge in which each thread finds its start by a binary search in both lists gives the sorted list."""
    a, b = (np.sort(rng.integers(0, 999, count)).astype(np.int32) for count in (5_003, 2_999))
    out = wild(("merge_path", OLD), "merge", 9, 128, a, len(a), b, len(b), zeros(8_002), 7)[2]
    assert np.array_equal(out, np.sort(np.concatenate([a, b])))


@pytest.mark.parametrize("kernel", ["aggregated", "voted", "in_order"])
def test_compaction(wild, rng, kernel):
    """A compaction keeps every positive number once; with one thread block it also keeps the order."""
    x = rng.integers(-50, 50, 10_001).astype(np.int32)
    blocks = 1 if kernel == "in_order" else 40
    _, out, kept = wild(("compaction", NEW), kernel, blocks, 256, x, np.zeros_like(x), zeros(1), len(x))
    out, expected = out[: kept[0]], x[x > 0]
    assert np.array_equal(out, expected) if kernel == "in_order" else sorted(out) == sorted(expected)


def test_groups_of_cooperative_groups(wild, rng):
    """Sums and scans of half warps stay within their half; labelled partitions have the right sizes and ranks."""
    source = ("tile_groups", "compute_90", *(f"-I{folder}" for folder in toolkit_folders()))
    x = rng.integers(-100, 100, 512).astype(np.int32)
    _, sums, before = wild(source, "tiles", 4, 128, x, zeros(32), zeros(512))
    tiles = x.reshape(-1, 16)
    assert np.array_equal(sums, tiles.sum(1))
    assert np.array_equal(before.reshape(-1, 16), tiles.cumsum(1) - tiles)

    positive = abs(x[:64])
    _, sizes, ranks = wild(source, "labels", 1, 64, positive, zeros((2, 32)), zeros((2, 32)))
    label = positive.reshape(2, 32) % 3
    same = label[:, :, None] == label[:, None, :]
    assert np.array_equal(sizes, same.sum(2))
    assert np.array_equal(ranks, np.tril(same, -1).sum(2))


# -- threads that wait for each other ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_named_barriers(wild, rng, dialect):
    """Named barriers synchronise separate halves, a warp that only arrives, and a pipeline of two stages."""
    t = np.arange(128)
    expected = t // 64 * 64 + 63 - t % 64
    expected[64:] += 2 * np.arange(64)
    assert np.array_equal(wild(("named_barriers", dialect), "halves", 1, 128, zeros(128))[0], expected)
    x = rng.random((7, 96), np.float32)
    out = wild(("named_barriers", dialect), "pipeline", 1, 128, x, zeros(96, np.float32), 7)[1]
    np.testing.assert_allclose(out, x.sum(0)[::-1], rtol=1e-6)


def test_thread_blocks_that_exchange_values(wild):
    """Two thread blocks exchange numbers, and four meet at a barrier of the grid."""
    out = wild(("talking_blocks", OLD), "hand_over", 2, 32, zeros(1), zeros(1), zeros(30), 30)[2]
    assert out.tolist() == [i * i for i in range(30)]
    x = np.arange(128, dtype=np.int32)
    out = wild(("talking_blocks", OLD), "reverse_all", 4, 32, zeros(1), zeros(1), x, 3)[2]
    assert np.array_equal(out, x[::-1] + 3)
    assert wild(("talking_blocks", OLD), "watch", 2, 64, zeros(1), zeros(64))[1].tolist() == [7] * 64


@pytest.mark.parametrize("source", [("locks", OLD), ("locks", NEW, DEBUG)])
def test_locks_between_lanes(wild, rng, source):
    """Lanes of one warp take a lock in turn, even if the atomic is in a function that is not inlined."""
    bucket = rng.integers(0, 10, 1_000).astype(np.int32)
    counts = wild(source, "per_bucket", 8, 128, zeros(10), zeros(10), bucket, len(bucket))[1]
    assert np.array_equal(counts, np.bincount(bucket, minlength=10))
    assert wild(source, "ticket", 3, 70, zeros(1), zeros(1), zeros(1))[2][0] == 210


def test_task_queue(wild):
    """Threads of two thread blocks process every task of a tree once, and wait for tasks."""
    queue = zeros(3 + 1024)
    queue[1:4] = 1
    visits = wild(("task_queue", NEW), "work", 2, 32, queue, zeros(512), 500)[1]
    assert visits.tolist() == [0] + [1] * 499 + [0] * 12


def test_breadth_first_search_and_components(wild):
    """Breadth-first search and union-find agree with scipy, with atomic queues in one launch or one for each level."""
    graph = scipy.sparse.random(900, 900, 0.002, format="csr", random_state=2)
    graph = ((graph + graph.T) > 0).astype(float).tocsr()
    distance = scipy.sparse.csgraph.shortest_path(graph, unweighted=True, indices=0)
    start, neighbour = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    out = wild(("graphs", NEW), "search", 1, 256, start, neighbour, np.full(900, -1, np.int32), 0)[2]
    assert np.array_equal(out, np.where(np.isinf(distance), -1, distance))

    out = np.full(900, -1, np.int32)
    out[0], front, level = 0, zeros(1), 1
    while len(front):
        given = (start, neighbour, out, front, len(front), level, zeros(901))
        out, _, reached = wild(("graphs", NEW), "expand", -(-len(front) // 64), 64, *given)[2:]
        front, level = reached[1 : 1 + reached[0]].copy(), level + 1
    assert np.array_equal(out, np.where(np.isinf(distance), -1, distance))

    edges = np.stack(graph.nonzero(), 1).astype(np.int32)
    parent = wild(
        ("graphs", NEW), "unite", -(-len(edges) // 256), 256, np.arange(900, dtype=np.int32), edges, len(edges)
    )
    component = wild(("graphs", NEW), "flatten", 4, 256, parent[0], 900)[0]
    count, label = scipy.sparse.csgraph.connected_components(graph)
    least = np.full(count, 900)
    np.minimum.at(least, label, np.arange(900))
    assert np.array_equal(component, least[label])


def test_loops_that_count_do_not_wait(module):
    """A loop over edges, whose end doesn't depend on its atomics, is not marked as spinning; a lock's loop is."""
    assert not module("graphs", NEW).kernel("expand").spins
    assert module("locks", OLD).kernel("per_bucket").spins


def test_hash_table(wild, rng):
    """Threads that insert equal keys at once add up their counts, and missing keys are not found."""
    keys, values = rng.integers(0, 2_000, 3_000), rng.integers(0, 100, 3_000)
    table = np.tile(np.array([0xFFFFFFFF, 0], np.uint32), (4_001, 1))
    entries = np.stack([keys, values], 1).astype(np.uint32)
    table = wild(("hash_table", OLD), "insert", 12, 256, table, 4_001, entries, 3_000)[0]
    wanted = np.stack([np.arange(2_500), np.zeros(2_500)], 1).astype(np.uint32)
    found = wild(("hash_table", OLD), "look_up", 10, 256, table, 4_001, wanted, 2_500)[1][:, 1]
    sums = np.bincount(keys, values, minlength=2_500)
    assert np.array_equal(found, np.where(np.isin(np.arange(2_500), keys), sums, 0xFFFFFFFF))


# -- C++ ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_pointers_that_are_not_arguments(device, module, dialect):
    """Pointers in lists and tables, one pointer to three memories, and an end pointer address the right memory."""
    loaded = module("chosen_pointers", dialect)

    def launch(name: str, threads: int, *args: object) -> None:
        device.launch(loaded.kernel(name), (1,), (threads,), args)

    nodes = [device.upload(np.zeros(2, np.int64)) for _ in range(5)]
    for value, node in enumerate(nodes, 1):
        following = nodes[value].pointer if value < len(nodes) else 0
        device.write(node.memory, np.array([value, following], np.int64))
    total = device.upload(np.zeros(1, np.int64))
    launch("sum_list", 1, nodes[0], total)
    assert total.download()[0] == 15

    rows = [device.upload(np.arange(8, dtype=np.float32) + 10 * i) for i in range(3)]
    table = device.upload(np.array([row.pointer for row in rows], np.uint64))
    out = device.upload(np.zeros(8, np.float32))
    for index, chosen in ((-1, 1), (0, 0), (2, 2)):
        launch("argument_or_table", 8, rows[1], table, out, index)
        assert out.download().tolist() == [10 * chosen + i for i in range(8)]
    launch("until_end", 8, rows[0], np.uint64(rows[0].pointer + 32), out)
    assert out.download().tolist() == list(range(8))

    ones, sums = device.upload(np.ones(4, np.int32)), device.upload(np.zeros(8, np.int32))
    for choice, expected in enumerate((15, 10 * (4 + 2 * 2 + 3), 8 + 8 + 6 + 4)):
        launch("any_space", 8, ones, sums, choice)
        assert sums.download().tolist() == [expected] * 8
    for buffer in (*nodes, *rows, total, table, out, ones, sums):
        buffer.free()


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_integers_of_128_bits(wild, rng, dialect):
    """128-bit quotients and remainders by 64 bits, and a signed quotient, equal Python's."""
    words = rng.integers(0, 2**64, (64, 3), dtype=np.uint64)
    words[:6] = [[0, 12345, 1000003], [0, 100, 7], [5, 100, 7], [2**60, 17, 99], [2**63, 1, 2**63], [0, 0, 1]]
    words[20:40, 2] >>= np.uint64(40)
    out = wild(("wide_integers", dialect, WIDE), "divide", 1, 64, words, np.zeros((64, 4), np.uint64))[1]
    for (high, low, by), got in zip(words.tolist(), out.tolist(), strict=True):
        quotient, rest = divmod(high << 64 | low, by)
        product = (high - (high >> 63 << 64)) * (low - (low >> 63 << 64))
        signed = abs(product) // 1000003 * (-1 if product < 0 else 1)
        assert got == [quotient >> 64, quotient % 2**64, rest, signed % 2**64]


def test_virtual_functions_pointers_and_lambdas(wild, rng):
    """Virtual functions, function pointers and lambdas are called depending on the data."""
    i, source = np.arange(64), ("objects", OLD)
    circle = rng.integers(0, 2, 64).astype(np.int32)
    out = wild(source, "shapes", 1, 64, circle, zeros(64, np.float32))[1]
    np.testing.assert_allclose(out, np.where(circle, 3 * (i + 1) ** 2 * (1 - 2000), i * i * 2001), rtol=1e-6)
    out = wild(source, "on_heap", 1, 64, zeros(64, np.float32))[0]
    assert np.array_equal(out, np.where(i % 3, 3 * i * i, i * i))
    which = rng.integers(0, 3, 64).astype(np.int32)
    out = wild(source, "calls", 1, 64, which, zeros(64, np.float32), np.float32(2.5))[1]
    np.testing.assert_allclose(out, np.choose(which, [i + 3, i * 3, i**3]) + (2.5 + i) * 2.5 + i + 6.5)


def test_an_interpreter_kernel(wild):
    """An interpreter with a switch in a loop over a local stack has Python's results."""
    program = np.array([3, 0, 7, 2, 4, 3, 1, 0, 3, 5, 1, 2, 7, 3, 6, 3, 0, 100, 1, 0, 1, 1], np.uint8)

    def expected(thread: int) -> int:
        first = thread * 7
        number = -(first * (first + thread + 3))
        return number + 1 if thread > 5 else number + 100 + 1

    out = wild(("interpreter", NEW), "run", 1, 32, program, len(program), zeros(32))[1]
    assert out.tolist() == [expected(thread) for thread in range(32)]


def _philox(counter: list[int], key: list[int]) -> list[int]:
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            second >> 32 ^ counter[1] ^ key[0],
            second & 0xFFFFFFFF,
            first >> 32 ^ counter[3] ^ key[1],
            first & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def test_random_numbers(wild, rng):
    """Philox and PCG generate the numbers of their definitions, and random darts approximate pi."""
    source = ("random_numbers", OLD)
    out = wild(source, "fill", 2, 50, np.zeros((100, 4), np.uint32), 123, 456)[0]
    assert out.tolist() == [_philox([i, 0, 7, 0], [123, 456]) for i in range(100)]

    def pcg(state: int, steps: int) -> int:
        for _ in range(steps):
            mixed, turn = (state >> 18 ^ state) >> 27 & 0xFFFFFFFF, state >> 59
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (mixed >> turn | mixed << (-turn & 31)) & 0xFFFFFFFF

    states = rng.integers(0, 2**64, 64, dtype=np.uint64)
    assert wild(source, "pcg", 1, 64, states, zeros(64, np.uint32), 5)[1].tolist() == [pcg(int(s), 5) for s in states]
    hits = wild(source, "darts", 8, 128, zeros(1, np.uint32), 100)[0][0]
    assert abs(4 * hits / (8 * 128 * 100) - np.pi) < 0.02


def test_structs_by_value(device, wild, module, rng):
    """A struct argument of 4 KB has every field in its place, and its address may be taken."""
    layout = [("count", "i4"), ("weights", "f4", 800), ("scales", "f8", 60), ("offsets", "i2", 101), ("bias", "i1")]
    settings = np.zeros((), np.dtype(layout, align=True))
    settings["count"], settings["bias"] = 250, -5
    settings["weights"], settings["scales"], settings["offsets"] = rng.random(800), rng.random(60), np.arange(101)
    out = wild(("struct_arguments", NEW), "apply", 1, 256, settings[()], zeros(256, np.float32))[0]
    i = np.arange(250)
    expected = settings["weights"][i] * settings["scales"][i * 7 % 60] + settings["offsets"][100 - i % 101] - 5
    np.testing.assert_allclose(out, [*expected, *np.zeros(6)], rtol=1e-5, atol=1e-5)

    data = device.upload(np.arange(64, dtype=np.float32))
    view = np.array((data.pointer, 3), np.dtype([("data", "u8"), ("stride", "i4")], align=True))
    out = wild(("struct_arguments", NEW), "through", 1, 20, view[()], zeros(20, np.float32))[0]
    assert out.tolist() == [3 * i for i in range(20)]
    data.free()


def test_parameters_at_generic_addresses(device):
    """With -G, struct parameters that NVRTC reads by `ld.param` at an address from `cvta.param` have their values."""
    ptx = """.version 9.0
.target sm_75
.address_size 64
.visible .entry k(.param .align 8 .b8 s[24], .param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %rd<6>;
  mov.b64 %rd0, s; cvta.param.u64 %rd1, %rd0; ld.param.u64 %rd2, [out];
  mov.u32 %r0, %tid.x; mul.wide.u32 %rd3, %r0, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.param.b32 %r1, [%rd4+4]; st.global.b32 [%rd5], %r1; ret; }"""
    out = device.upload(zeros(5))
    kernel = device.load_module(ptx).kernel("k")
    device.launch(kernel, (1,), (5,), [np.array([(range(6),)], [("s", "i4", 6)])[0], out])
    assert out.download().tolist() == [1, 2, 3, 4, 5]
    out.free()


def test_faults_name_the_source_line(wild):
    """A trap in a function and a bad store name the source line, compiled with debug or line information."""
    x = np.arange(32, dtype=np.int32)
    assert wild(("checked", NEW, DEBUG), "twice", 1, 32, x, zeros(32), 32)[1].tolist() == [2 * i for i in range(32)]
    with pytest.raises(KernelFault, match="trap") as fault:
        wild(("checked", NEW, DEBUG), "twice", 1, 32, x, zeros(32), 20)
    assert fault.value.thread == (20, 0, 0)
    lines = (HERE / "checked.cu").read_text().splitlines()
    with pytest.raises(KernelFault, match=r"no live buffer|not in the buffer") as fault:
        wild(("checked", OLD, "-lineinfo"), "past_the_end", 4, 64, zeros(200, np.float32), 230)
    assert fault.value.thread == (8, 0, 0)
    assert fault.value.thread_block == (3, 0, 0)
    assert lines[fault.value.source_line - 1].strip() == "out[i] = 1;"
