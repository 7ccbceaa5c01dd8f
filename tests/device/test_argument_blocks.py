"""Argument blocks, which are written in one call, contain each argument as `pack` returns it."""

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.device.arguments import ArgumentError, pack, pack_arguments
from warploom.engine.device.slab import fresh_bytes
from warploom.engine.ptx.tree import KernelParameter

SIZES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "f16": 2, "u32": 4, "s32": 4, "f32": 4, "b32": 4}
SIZES |= {"u64": 8, "s64": 8, "f64": 8, "b64": 8, "b8": 12}


class Place:
    """An object with an address, as kernels see a buffer."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer


values = st.one_of(
    st.integers(-(2**64), 2**65),
    st.integers(-3, 300),
    st.floats(),
    st.sampled_from([0.5, 2.0, 1e30, 70000.0]),
    st.booleans(),
    st.builds(np.float32, st.floats(width=32)),
    st.builds(np.float64, st.floats()),
    st.builds(np.int32, st.integers(-(2**31), 2**31 - 1)),
    st.builds(np.uint8, st.integers(0, 255)),
    st.builds(np.bool_, st.booleans()),
    st.builds(Place, st.integers(0, 2**64 - 1)),
    st.just(np.zeros((), "V12")[()]),
    st.just(np.zeros(3, np.float32)),
)
kinds = st.sampled_from([*SIZES, None])


def layout(types: list[str | None]) -> tuple[KernelParameter, ...]:
    """Place parameters as PTX does, each at a multiple of its size; parameters without a type have 8 bytes."""
    made, offset = [], 0
    for index, kind in enumerate(types):
        size = SIZES[kind] if kind else 8
        offset = -(-offset // min(size, 8)) * min(size, 8)
        made.append(KernelParameter(f"p{index}", offset, size, kind))
        offset += size
    return tuple(made)


def outcome(act: Any) -> object:
    """Return a call's result, or the message of its ArgumentError."""
    try:
        return act()
    except ArgumentError as refusal:
        return str(refusal)


@given(st.lists(st.tuples(kinds, values), max_size=6))
def test_a_block_holds_what_each_argument_packs_to(arguments: list[tuple[str | None, object]]) -> None:
    """A block contains each argument's bytes at its offset, and refuses what `pack` refuses, with the same message."""
    parameters = layout([kind for kind, _ in arguments])
    given_values = [value for _, value in arguments]

    def expected() -> bytes:
        block = bytearray(max([8, *(p.offset + p.size_bytes for p in parameters)]))
        for parameter, value in zip(parameters, given_values, strict=True):
            block[parameter.offset : parameter.offset + parameter.size_bytes] = pack(parameter, value)
        return bytes(block)

    for _ in range(2):  # the second time uses the cache
        assert outcome(lambda: pack_arguments(parameters, given_values).block.tobytes()) == outcome(expected)


@given(kinds, values, values, st.booleans())
def test_setting_one_argument_is_packing_it(kind: str | None, before: object, after: object, fast: bool) -> None:
    """Setting one argument writes the bytes that `pack` returns, directly or through a writer.

    A refused value changes nothing and is not counted as a new version.
    """
    parameters = layout(["u32", kind, "u32"])
    try:
        block = pack_arguments(parameters, [7, before, 8])
    except ArgumentError:
        return
    place = slice(parameters[1].offset, parameters[1].offset + parameters[1].size_bytes)
    content = block.block.tobytes()
    written: dict[str, None] = {}
    refusal = outcome(partial(block.writer(1, written, "here"), after) if fast else lambda: block.set(1, after))
    assert list(written) == (["here"] if fast and refusal is None else [])
    if refusal is None:
        assert block.version == 1
        assert block.block.tobytes()[place] == pack(parameters[1], after)
    else:
        assert refusal == outcome(lambda: pack(parameters[1], after))
        assert (block.version, block.block.tobytes()) == (0, content)
    assert (block.block[:4].view(np.uint32)[0], block.block[parameters[2].offset]) == (7, 8)


@pytest.mark.parametrize("others", [[], ["u32", "f32"]])
@pytest.mark.parametrize("pointer", [0, 4096])
def test_a_buffer_is_no_number(others: list[str | None], pointer: int) -> None:
    """A parameter of type f64, or smaller than an address, refuses a buffer."""
    for kind, wanted in (("f64", "number \\(f64\\)"), ("f32", "4-byte value"), ("u16", "2-byte value")):
        parameters = layout([*others, kind, *others])
        numbers = [1 for _ in others]
        for _ in range(2):  # the second time uses the cache
            with pytest.raises(ArgumentError, match=f"must be a {wanted}, got a buffer"):
                pack_arguments(parameters, [*numbers, Place(pointer), *numbers])
            block = pack_arguments(parameters, [*numbers, 1, *numbers])
            with pytest.raises(ArgumentError, match=f"must be a {wanted}, got a buffer"):
                block.set(len(others), Place(pointer))


def test_parameters_of_two_kernels_are_told_apart() -> None:
    """Parameter lists that differ only in type pack the same values to different bytes, even as new lists."""
    for kind, expected in (("f32", np.float32(2).tobytes()), ("u32", np.uint32(2).tobytes())):
        for _ in range(3):
            assert pack_arguments([KernelParameter("p", 0, 4, kind)], [2]).block.tobytes()[:4] == expected


@pytest.mark.parametrize("size", [0, 1, 8, 17, 4096, 40000])
def test_pieces_of_memory_are_zeroed_aligned_and_their_own(size: int) -> None:
    """Pieces of argument memory are zeroed, aligned and disjoint, even when many threads take them at once."""
    found = []

    def work(number: int) -> None:
        for _ in range(40):
            piece = fresh_bytes(size)
            assert piece.address % 16 == 0
            assert piece.bytes.ctypes.data == piece.address
            assert not piece.bytes.any()
            piece.bytes[:] = number
            found.append((number, piece))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 160
    for number, piece in found:
        assert (piece.bytes == number).all()
        assert piece.bytes.size == size
