"""Data for networks, and measures of how well networks learn."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.blocks.running import apply, problems, run
from warploom import Engine, Patch
from warploom.blocks.tensor.digits import load_digits
from warploom.engine.types import Array


def batches(x: Array, y: Array, frames: int, **parameters: Any) -> list[tuple[Array, Array]]:
    """Return the batches of x and y of some frames."""
    patch = Patch()
    node = patch.add("tensor.batches", **parameters)
    for name, data in (("x", x), ("y", y)):
        patch.connect(patch.add("io.array", data=data)["out"], node[name])
    found = []
    with Engine(patch, device="host") as engine:
        for _ in range(frames):
            assert not engine.step().diagnostics
            found.append((engine.read(node["x_batch"]), engine.read(node["y_batch"])))
    return found


@pytest.mark.parametrize(("rows", "size"), [(1, 3), (2, 1), (5, 5), (7, 3), (64, 16), (100, 33), (257, 300)])
def test_every_row_comes_once_before_any_comes_again(rows: int, size: int) -> None:
    """Every row is used once per round, in order or shuffled, and rows of x and y stay together."""
    x = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
    y = np.arange(rows, dtype=np.uint16).reshape(rows, 1) * 7
    frames = -(-3 * rows // size)
    taken = {}
    for order in ("shuffled", "in order"):
        found = batches(x, y, frames, size=size, order=order)
        numbers = np.concatenate([b[:, 0] for b, _ in found]).astype(int) // 3
        assert np.array_equal(np.concatenate([b for b, _ in found]), x[numbers])
        assert np.array_equal(np.concatenate([b for _, b in found]), y[numbers])
        taken[order] = numbers
        for start in range(0, len(numbers) - rows + 1, rows):
            assert sorted(numbers[start : start + rows]) == list(range(rows))
    assert np.array_equal(taken["in order"], np.arange(len(taken["in order"])) % rows)
    if rows >= 64:
        assert not np.array_equal(taken["shuffled"][:rows], taken["shuffled"][rows : 2 * rows])


def test_each_turn_of_a_loop_takes_other_rows() -> None:
    """A loop of three iterations, each with a batch of two rows, uses all six rows in one frame."""
    x = np.arange(6, dtype=np.float32).reshape(6, 1)
    patch = Patch()
    data, loop, node = (
        patch.add("io.array", data=x),
        patch.add("control.for", count=3),
        patch.add("tensor.batches", size=2),
    )
    total, last = patch.add("buffer.state", shape="2, 1"), patch.add("math.add")
    keep = patch.add("buffer.assign")
    for name in ("x", "y"):
        patch.connect(data["out"], node[name])
    patch.connect(node["x_batch"], last["x"])
    patch.connect(total["out"], last["y"])
    patch.connect(total["out"], keep["target"])
    patch.connect(last["out"], keep["value"])
    patch.move_into([node, last, keep], loop)
    for frames in (1, 2):
        assert run(patch, total["out"], frames=frames)[0].sum() == 15 * frames


def test_shuffled_rows_are_spread() -> None:
    """A shuffled row's first positions over many rounds are spread evenly, by a chi-squared test."""
    x = np.arange(16, dtype=np.float32).reshape(16, 1)
    seen = Counter(int(batch[0, 0]) for batch, _ in batches(x, x, 320, size=16))
    assert sum((seen[row] - 20) ** 2 / 20 for row in range(16)) < 50


def test_y_has_as_many_rows_as_x() -> None:
    """A different number of rows is reported at y."""
    patch = Patch()
    node = patch.add("tensor.batches")
    for name, rows in (("x", 4), ("y", 5)):
        patch.connect(patch.add("io.array", data=np.zeros((rows, 2), np.float32))["out"], node[name])
    assert (node.id, "y", "y must have as many rows as x") in [
        (at, port, text[:32]) for at, port, text in problems(patch)
    ]


def test_digits_are_those_of_the_data_set() -> None:
    """Each digit is as frequent as in the data set's description, and the first picture is the known one."""
    images, numbers = load_digits()
    assert np.bincount(numbers).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (images.min(), images.max(), images.shape) == (0, 1, (1797, 64))
    # The first picture of scikit-learn's documentation, a zero.
    assert (16 * images[0, :16]).tolist() == [0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0]


def test_digits_are_split() -> None:
    """The digits come in some order, split into disjoint parts for training and test."""
    data, numbers = load_digits()
    expected = sorted((tuple(row.astype(float)), int(number)) for row, number in zip(data, numbers, strict=True))
    parts = {}
    for part in ("all", "training", "test"):
        images = apply("tensor.digits", {}, port="images", part=part, seed=3)
        targets = apply("tensor.digits", {}, port="targets", part=part, seed=3)
        assert (targets.sum(axis=1) == 1).all() and targets.shape[1] == 10
        parts[part] = [
            (tuple(row.astype(float)), int(n)) for row, n in zip(images, targets.argmax(axis=1), strict=True)
        ]
    assert sorted(parts["all"]) == expected
    assert sorted(parts["training"] + parts["test"]) == expected
    assert len(parts["test"]) == round(len(expected) * 0.2)


@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (1, 10), (255, 3), (257, 2), (1000, 10)])
def test_accuracy_is_numpys(rows: int, classes: int) -> None:
    """Accuracy equals numpy's comparison of `argmax`, also for rows with equal elements."""
    random = np.random.default_rng(rows)
    x, targets = (random.integers(0, 5, (rows, classes)).astype(np.float32) for _ in range(2))
    expected = np.float32((x.argmax(axis=1) == targets.argmax(axis=1)).sum()) / np.float32(rows)
    assert apply("tensor.accuracy", {"x": x, "targets": targets})[0] == expected


@pytest.mark.parametrize(("rows", "columns", "zoom"), [(1, 8, 1), (5, 2, 3), (9, 3, 2)])
def test_weight_tiles_lie_beside_each_other(rows: int, columns: int, zoom: int) -> None:
    """Each weight is a square, coloured by its sign and as bright as its size, between lines of one pixel."""
    x = np.random.default_rng(rows).uniform(-1, 1, (rows, 6)).astype(np.float32)
    image = apply("tensor.weight_tiles", {"x": x}, port="image", tile_width=3, columns=columns, zoom=zoom, range=1.0)
    across, down = min(rows, columns), -(-rows // columns)
    assert image.shape == (down * (2 * zoom + 1) + 1, across * (3 * zoom + 1) + 1, 4)
    for tile in range(rows):
        top, left = tile // columns * (2 * zoom + 1) + 1, tile % columns * (3 * zoom + 1) + 1
        for row in range(2):
            for column in range(3):
                value = x[tile, 3 * row + column]
                square = image[top + row * zoom :, left + column * zoom :][:zoom, :zoom]
                assert np.ptp(square, axis=(0, 1)).max() == 0
                red, _, blue, _ = square[0, 0]
                assert (red > blue) == (value > 0)
                assert max(red, blue) == pytest.approx(0.02 + abs(value) * (1.0 if value > 0 else 0.95), rel=1e-5)
    assert np.array_equal(image[0], np.broadcast_to(image[0, 0], image[0].shape))


def test_a_tile_must_divide_the_rows() -> None:
    """A tile width that doesn't divide the rows is refused at x."""
    patch = Patch()
    node = patch.add("tensor.weight_tiles", tile_width=4)
    patch.connect(patch.add("io.array", data=np.zeros((2, 6), np.float32))["out"], node["x"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "x") and "multiple of tile_width" in text
