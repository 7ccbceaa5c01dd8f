"""Memory is zeroed, comes in buckets, and is reused; state stays in its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.compiler.checking.layouts import Layout
from warploom.engine.diagnostics import DeviceError
from warploom.engine.patch.changes import PortRef
from warploom.engine.runtime.memory.buffer_pool import BufferPool, bucket_bytes
from warploom.engine.runtime.memory.state_store import StateStore
from warploom.engine.runtime.model.context import DirtyTracker
from warploom.engine.types import f32, s32

GIB = 1 << 30


@dataclass
class FakeMemory:
    """An allocation that remembers its fill value."""

    device: FakeDevice
    pointer: int
    size_bytes: int
    content: int | None = None
    was_lent: bool = False

    def free(self) -> None:
        self.device.allocated.remove(self)


@dataclass
class FakeDevice:
    """Hands out addresses up to a limit of bytes."""

    limit_bytes: int = 1 << 50
    allocated: list[FakeMemory] = field(default_factory=list)
    count: int = 0

    def allocate(self, size_bytes: int) -> Any:
        used = sum(m.size_bytes for m in self.allocated)
        if used + size_bytes > self.limit_bytes:
            raise DeviceError(f"asked for {size_bytes}, free {self.limit_bytes - used}")
        self.count += 1
        self.allocated.append(FakeMemory(self, 4096 * self.count, size_bytes))
        return self.allocated[-1]

    def fill(self, memory: FakeMemory, value: int) -> None:
        memory.content = value


@pytest.fixture
def device() -> Any:
    """A device that counts allocations."""
    return FakeDevice()


@pytest.mark.parametrize(
    ("size", "bucket"),
    [
        (0, 256),
        (1, 256),
        (256, 256),
        (257, 512),
        (4096, 4096),
        (4097, 8192),
        (GIB - 1, GIB),
        (GIB, GIB),
        (GIB + 1, GIB + 1),
    ],
)
def test_buckets_are_powers_of_two_up_to_a_gigabyte(size: int, bucket: int) -> None:
    """Buckets are powers of two up to 1 GB, and larger allocations have exactly the requested size."""
    assert bucket_bytes(size) == bucket


@given(st.integers(1, 2 * GIB))
def test_a_bucket_holds_its_size_and_wastes_less_than_half(size: int) -> None:
    """From the smallest bucket on, a bucket is less than twice the requested size."""
    assert size <= bucket_bytes(size) < max(2 * size, 257)


def test_released_memory_is_used_again_and_zeroed(device: Any) -> None:
    """Released memory is zeroed and reused, but only for an allocation of the same bucket."""
    pool = BufferPool(device)
    first = pool.acquire(1000)
    device.fill(first, 7)
    pool.release(first)
    other: Any = pool.acquire(5000)
    again: Any = pool.acquire(600)
    assert (again.content, other.content) == (0, 0)
    assert again is first
    assert other is not first
    assert device.count == 2


def test_two_users_never_share_memory(device: Any) -> None:
    """Memory in use is never handed out a second time."""
    pool = BufferPool(device)
    made = [pool.acquire(300) for _ in range(5)]
    assert len({m.pointer for m in made}) == 5


def test_the_pool_knows_what_is_used_and_what_it_holds(device: Any) -> None:
    """The pool counts the bytes in use and the bytes that it has allocated."""
    pool = BufferPool(device)
    a, b = pool.acquire(300), pool.acquire(1000)
    assert (pool.used_bytes, pool.allocated_bytes) == (512 + 1024, 512 + 1024)
    pool.release(a)
    assert (pool.used_bytes, pool.allocated_bytes) == (1024, 512 + 1024)
    pool.trim()
    assert (pool.used_bytes, pool.allocated_bytes) == (1024, 1024)
    pool.release(b)
    pool.acquire(1)
    pool.close()
    assert (pool.used_bytes, pool.allocated_bytes, device.allocated) == (0, 0, [])


def test_unused_memory_is_freed_before_a_device_counts_as_full() -> None:
    """Before an allocation fails, the pool frees its unused memory of other sizes."""
    device: Any = FakeDevice(limit_bytes=4096)
    pool = BufferPool(device)
    small = [pool.acquire(256) for _ in range(16)]
    for memory in small[1:]:
        pool.release(memory)
    assert pool.acquire(2000).size_bytes == 2048
    with pytest.raises(DeviceError, match="asked for 2048, free 1792"):
        pool.acquire(2000)
    assert pool.used_bytes == 256 + 2048


def test_idle_memory_is_bounded(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool keeps as many idle bytes as are in use, or up to its limit; sizes that were released first go first."""
    monkeypatch.setattr("warploom.engine.runtime.memory.buffer_pool.MOST_IDLE_BYTES", 4096)
    pool = BufferPool(device)
    held = pool.acquire(8192)
    for size in (2048, 4096, 1024, 2048, 512):
        pool.release(pool.acquire(size))
    assert (pool.used_bytes, pool.idle_bytes) == (8192, 7680)
    pool.release(pool.acquire(1000, exact=True))
    pool.release(held, keep=False)
    assert (pool.used_bytes, pool.idle_bytes) == (0, 7680)
    pool.release(pool.acquire(256))
    assert sorted(memory.size_bytes for memory in device.allocated) == [256, 512, 1024, 2048]
    assert pool.idle_bytes == pool.allocated_bytes == 3840


OWNER = PortRef("n", "out")
LAYOUT = Layout(f32, (100,))


def test_state_is_claimed_again_as_long_as_its_layout_stays(device: Any) -> None:
    """State of the same layout is claimed again with its contents; another shape or type starts from zero."""
    pool = BufferPool(device)
    states = StateStore(pool, device)
    state = states.claim(OWNER, LAYOUT)
    memory = state.memory
    states.commit({OWNER: state}, ["n"])
    device.fill(memory, 9)
    again: Any = states.claim(OWNER, LAYOUT).memory
    assert again.content == 9
    assert again is memory
    for other in (Layout(f32, (99,)), Layout(s32, (100,))):
        claimed: Any = states.claim(OWNER, other).memory
        assert claimed is not memory
        assert claimed.content == 0


def test_state_of_a_block_that_is_left_out_is_kept_until_the_block_goes(device: Any) -> None:
    """A disconnected block continues where it stopped; a deleted one frees its memory."""
    pool = BufferPool(device)
    states = StateStore(pool, device)
    state = states.claim(OWNER, LAYOUT)
    states.commit({OWNER: state}, ["n", "m"])
    states.commit({}, ["n", "m"])
    assert states.claim(OWNER, LAYOUT).memory is state.memory
    states.commit({}, ["m"])
    assert pool.used_bytes == 0


def test_a_new_layout_frees_the_old_memory_only_when_it_is_committed(device: Any) -> None:
    """Before the commit, the old graph still uses the old memory; an abandoned claim frees only the new memory."""
    pool = BufferPool(device)
    states = StateStore(pool, device)
    old = states.claim(OWNER, LAYOUT)
    states.commit({OWNER: old}, ["n"])
    larger = Layout(f32, (1000,))
    states.abandon({OWNER: states.claim(OWNER, larger)})
    assert pool.used_bytes == old.memory.size_bytes
    states.abandon({OWNER: states.claim(OWNER, LAYOUT)})
    assert pool.used_bytes == old.memory.size_bytes
    new = states.claim(OWNER, larger)
    states.commit({OWNER: new}, ["n"])
    content: Any = new.memory
    assert pool.used_bytes == content.size_bytes
    device.fill(content, 5)
    states.clear()
    assert content.content == 0


def test_changes_are_taken_once() -> None:
    """The first frame builds the graph; later, each change is returned once."""
    dirty = DirtyTracker()
    assert dirty.structure
    assert dirty.take_structure() == ("first build", "engine", ())
    dirty.mark_structure("connection a", nodes=("y", "x"))
    dirty.mark_structure("block b", nodes=("b", "x"))
    dirty.mark_structure("connection a", nodes=("y", "x"))
    assert dirty.take_structure() == ("connection a, block b", "edit", ("y", "x", "b"))
    for number in range(100):
        dirty.mark_structure("block", number, source="block file")
    assert dirty.take_structure() == ("block 0, block 1, block 2, block 3 and 96 more", "block file", ())
    assert not dirty.structure
    dirty.kernel_files |= frozenset({Path("a.cu")})
    dirty.kernel_files |= frozenset({Path("b.cu")})
    assert dirty.take_kernel_files() == {Path("a.cu"), Path("b.cu")}
    assert dirty.take_kernel_files() == frozenset()


def test_memory_is_zeroed_unless_that_is_not_needed(device: Any) -> None:
    """Memory is zeroed, unless the caller says that it will overwrite all of it."""
    pool = BufferPool(device)
    first = pool.acquire(100, zeroed=False)
    assert first.content is None
    pool.release(first)
    again = pool.acquire(100)
    assert again is first
    assert again.content == 0
