"""Random numbers: Philox's known answers, the same numbers on every device, and their distributions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.protocol.messages import Reset
from warploom.engine.types import Array

#: Counter, key and words of Philox4x32-10, as Random123 publishes them: zeros, ones, and digits of pi.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
SOURCE = """
#include "philox.cuh"
extern "C" __global__ void words(const uint4* counter, const uint2* key, uint4* out) { *out = philox(*counter, *key); }
extern "C" __global__ void logs(const float* x, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = log_of(x[i]);
}
extern "C" __global__ void turns(const unsigned int* x, float2* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = cosine_and_sine(x[i]);
}
"""
UNIFORM, NORMAL, INTEGERS = range(3)


def philox(counter: Sequence[Any], key: Sequence[Any]) -> Array:
    """Return Philox4x32-10 of counters and keys, which are broadcast; shape [..., 4]."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.asarray(word, np.uint64) for word in key]
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> half) ^ c[1] ^ k[0], p1 & low, (p0 >> half) ^ c[3] ^ k[1], p0 & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return np.stack(np.broadcast_arrays(*c), axis=-1).astype(np.uint32)


def words(count: int, seed: int, frame: int, distribution: int) -> Array:
    """Return the first words of a block's numbers."""
    return philox((np.arange((count + 3) // 4), 0, frame, distribution), (seed, 0)).reshape(-1)[:count]


def numbers(block: str, device: Device | str = "host", frames: int = 1, **parameters: Any) -> list[Array]:
    """Return a block's output in each of some frames."""
    patch = Patch()
    node = patch.add(f"random.{block}", **parameters)
    found = []
    with Engine(patch, device=device) as engine:
        for _ in range(frames):
            assert not engine.step().diagnostics
            found.append(engine.read(node["out"]))
    return found


def launch(device: Device, entry: str, x: Array, out: Array) -> Array:
    """Return the output of a kernel of `SOURCE` for an array."""
    made = compile_cuda(SOURCE, Path("test.cu"), device.info.architecture, [KERNELS_FOLDER])
    target = device.upload(out)
    kernel = device.load_module(made.cubin or made.ptx).kernel(entry)
    blocks = -(-len(x) // 256)
    device.launch(kernel, grid=(blocks,), thread_block=(256,), args=[device.upload(x), target, np.int32(len(x))])
    device.synchronize()
    return target.download()


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_its_known_answers(
    device: Device, counter: list[int], key: list[int], expected: list[int]
) -> None:
    """The kernel and this file's oracle return Random123's published vectors."""
    assert philox(counter, key).tolist() == expected
    made = compile_cuda(SOURCE, Path("test.cu"), device.info.architecture, [KERNELS_FOLDER])
    given = [device.upload(np.array(item, np.uint32)) for item in (counter, key, [0] * 4)]
    kernel = device.load_module(made.cubin or made.ptx).kernel("words")
    device.launch(kernel, grid=(1,), thread_block=(1,), args=given)
    device.synchronize()
    assert given[2].download().tolist() == expected


def test_logarithm_cosine_and_sine_are_within_two_ulp(device: Device) -> None:
    """Logarithm, cosine and sine are within 2 ulp over the range that normal numbers need."""
    x = np.concatenate([np.geomspace(2.0**-33, 1, 100_001), 1 - np.arange(1, 4096) * 2.0**-24]).astype(np.float32)
    expected = np.log(x.astype(float))
    found = launch(device, "logs", x, np.empty_like(x))
    assert np.abs(found - expected)[expected != 0].max() < 30
    assert (np.abs(found - expected) <= 2 * np.spacing(np.abs(expected).astype(np.float32))).all()
    turns = np.arange(0, 2**32, 65_521, dtype=np.uint64).astype(np.uint32)
    part = (turns + np.uint32(2**29)).astype(float) % 2**30 - 2**29  # in quarter turns, exactly
    near, far = (function(part * (2 * np.pi / 2**32)) for function in (np.cos, np.sin))
    quarter = (turns + np.uint32(2**29)) >> 30
    cosine, sine = np.choose(quarter, [near, -far, -near, far]), np.choose(quarter, [far, near, -far, -near])
    exact = np.stack([cosine, sine], axis=1)
    found = launch(device, "turns", turns, np.empty((len(turns), 2), np.float32))
    assert (np.abs(found - exact) <= 2 * np.spacing(np.abs(exact).astype(np.float32))).all()


@pytest.mark.parametrize("size", [1, 7, 1023, 1027])
def test_numbers_are_those_of_philox(device: Device, size: int) -> None:
    """Uniform numbers and integers equal Philox's to the bit, in each frame."""
    for frame, found in enumerate(numbers("uniform", device, frames=3, shape=str(size), seed=size)):
        expected = (words(size, size, frame, UNIFORM) >> 8).astype(np.float32) / np.float32(2**24)
        np.testing.assert_array_equal(found, expected)
    for frame, found in enumerate(numbers("integers", device, frames=2, shape=str(size), seed=9, low=-50, high=2000)):
        pairs = words(2 * size, 9, frame, INTEGERS).reshape(-1, 2).astype(object)
        exact = [-50 + (((int(a) << 32) | int(b)) * 2050 >> 64) for a, b in pairs]
        np.testing.assert_array_equal(found, exact)


def test_normal_numbers_are_box_and_mullers(device: Device) -> None:
    """Normal numbers are within f32's rounding of the Box-Muller transform of the uniform numbers."""
    (found,) = numbers("normal", device, shape="100001", seed=3, mean=2.0, deviation=0.5)
    a, b = words(100_002, 3, 0, NORMAL).reshape(-1, 2).T
    share = (a.astype(np.float32).astype(float) * 2.0**-32 + 2.0**-33).astype(np.float32)
    radius, angle = np.sqrt(-2 * np.log(share.astype(float))), b * (2 * np.pi / 2**32)
    exact = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:100_001]
    np.testing.assert_allclose(found, 2 + 0.5 * exact, rtol=0, atol=1e-6)


def test_numbers_change_with_frame_seed_and_distribution_alone(device: Device) -> None:
    """Numbers differ between frames, unless this is switched off, and between seeds; a reset repeats the first ones."""
    given: dict[str, Any] = {"shape": "5, 7", "seed": 4}
    first, second = numbers("uniform", device, frames=2, **given)
    assert first.shape == (5, 7) and not np.intersect1d(first, second).size
    once, again = numbers("uniform", device, frames=2, changing=False, **given)
    np.testing.assert_array_equal(once, first)
    np.testing.assert_array_equal(again, first)
    (other,) = numbers("uniform", device, shape="5, 7", seed=5)
    assert not np.intersect1d(first, other).size
    patch = Patch()
    node = patch.add("random.uniform", **given)
    with Engine(patch, device=device) as engine:
        for _ in range(3):
            engine.step()
        engine.post(Reset())
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), first)


def test_the_first_numbers_of_a_longer_list_are_those_of_a_shorter_one() -> None:
    """The first numbers of a longer list equal those of a shorter one."""
    (long,), (short,) = (numbers("normal", shape=size) for size in ("1000", "37"))
    np.testing.assert_array_equal(long[:37], short)


@pytest.mark.parametrize(
    ("low", "high", "all_of"),
    [(0, 1, {0}), (5, 5, {5}), (9, -3, {9}), (-1, 2, {-1, 0, 1}), (2**31 - 2, 2**31 - 1, {2**31 - 2})],
)
def test_integers_stay_in_their_range(low: int, high: int, all_of: set[int]) -> None:
    """Integers stay below the upper end, and are the lower end if the range is empty."""
    (found,) = numbers("integers", shape="300", low=low, high=high)
    assert set(found.tolist()) == all_of


def test_integers_may_have_the_whole_range() -> None:
    """Integers may span the whole range of 32 bits, without an overflow."""
    (found,) = numbers("integers", shape="20000", low=-(2**31), high=2**31 - 1)
    assert found.min() < -(2**31) + 2**20 and found.max() > 2**31 - 2**20
    assert abs(found.astype(float).mean()) < 6 * 2**32 / np.sqrt(12 * 20000)


def test_distributions_pass_statistical_tests() -> None:
    """Kolmogorov-Smirnov and chi-squared tests pass; neighbours, frames and seeds are not correlated."""
    size = 1 << 18
    uniform, later = (x.astype(float) for x in numbers("uniform", frames=2, shape=str(size)))
    normal, then = (x.astype(float) for x in numbers("normal", frames=2, shape=str(size)))
    (whole,) = numbers("integers", shape=str(size), low=0, high=37)
    (seeded,) = numbers("uniform", shape=str(size), seed=2)
    assert scipy.stats.kstest(uniform, "uniform").pvalue > 1e-4
    assert scipy.stats.kstest(normal, "norm").pvalue > 1e-4
    assert scipy.stats.chisquare(np.bincount(whole, minlength=37)).pvalue > 1e-4
    assert scipy.stats.chisquare(np.bincount((uniform * 1024).astype(int), minlength=1024)).pvalue > 1e-4
    limit = 5 / np.sqrt(size)
    assert abs(uniform.mean() - 0.5) < limit * np.sqrt(1 / 12) and abs(uniform.var() - 1 / 12) < limit / 10
    assert abs(normal.mean()) < limit and abs(normal.var() - 1) < limit * np.sqrt(2)
    assert abs(scipy.stats.skew(normal)) < limit * np.sqrt(6) and abs(scipy.stats.kurtosis(normal)) < limit * np.sqrt(
        24
    )
    assert 4 < np.abs(normal).max() < 6.8
    pairs = [(uniform, later), (normal, then), (uniform, seeded), (uniform, normal)]
    pairs += [(x[lag:], x[:-lag]) for x in (uniform, normal) for lag in (1, 2, 3, 4, 1024)]
    for x, y in pairs:
        assert abs(np.corrcoef(x, y)[0, 1]) < limit


@pytest.mark.parametrize("kind", ["uniform", "normal", "integers"])
def test_new_blocks_have_other_numbers(kind: str, tmp_path: Path) -> None:
    """A new block gets a free seed unless one is given; the same script and a saved patch repeat the numbers."""

    def make() -> Patch:
        patch = Patch()
        for name, given in (("a", {}), ("b", {}), ("c", {"seed": 1}), ("d", {}), ("e", {"seed": 7}), ("f", {})):
            patch.add(f"random.{kind}", node_id=name, shape="50", **given)
        return patch

    def read(patch: Patch) -> dict[str, Array]:
        with Engine(patch, device="host") as engine:
            engine.step()
            return {node: engine.read(PortRef(node, "out")) for node in patch.nodes}

    patch = make()
    assert [patch.value(node, "seed") for node in "abcdef"] == [1, 2, 1, 3, 7, 4]
    found = read(patch)
    assert len({found[node].tobytes() for node in "abdef"}) == 5
    np.testing.assert_array_equal(found["a"], found["c"])
    save_patch(patch, tmp_path / "a.loom")
    for again in (make(), load_patch(tmp_path / "a.loom")):
        for node, array in read(again).items():
            np.testing.assert_array_equal(array, found[node])


def test_a_new_seed_is_free_in_every_order_of_edits() -> None:
    """After deletes, undo and copies, a new block gets a free seed; emitters' seeds count too."""
    patch = Patch()
    first, second = patch.add("random.uniform"), patch.add("value.random")
    assert (patch.value(first, "seed"), patch.value(second, "seed")) == (1, 2)
    patch.remove(first)
    assert patch.value(patch.add("particles.emitter"), "seed") == 1
    patch.undo()
    assert patch.value(patch.add("field.drop"), "seed") == 1
    patch.set(second, seed=3)
    assert [patch.value(patch.add("random.normal"), "seed") for _ in range(3)] == [2, 4, 5]
    for number in range(1, 1001):
        if number not in (1, 2, 3, 4, 5):
            patch.add("random.uniform", seed=number)
    assert patch.value(patch.add("particles.emitter"), "seed") == 1  # all seeds up to 1000 are taken
