"""Asynchronous copies, stores and reductions, and the barrier objects that count their bytes."""

import numpy as np
import pytest

from warploom.engine.diagnostics import KernelFault

RNG = np.random.default_rng(13)


def _kernel(body, *, version="8.6", target="sm_100", bytes_=512):
    """Return a kernel of one thread that uses shared memory `m` (bytes) and the barrier object `b`, from `x` to `y`."""
    return f""".version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 px, .param .u64 py, .param .u64 pz) {{
  .reg .b64 %x, %y, %z, %s<6>; .reg .b32 %m, %b, %c, %t, %r<8>; .reg .b16 %h<4>; .reg .pred %p;
  .shared .align 128 .b8 m[{bytes_}]; .shared .align 8 .b64 b; .shared .align 8 .b64 c;
  ld.param.u64 %x, [px]; ld.param.u64 %y, [py]; ld.param.u64 %z, [pz];
  mov.u32 %m, m; mov.u32 %b, b; mov.u32 %c, c; mov.u32 %t, %tid.x;
  {body}
  ret; }}"""


WAIT = "again: mbarrier.try_wait.parity.shared::cta.b64 %p, [b], 0; @!p bra again;".replace("@!p", "@!%p")
IN = "cp.async.bulk.shared::{}.global.mbarrier::complete_tx::bytes{} [m], [%x], 64, [b]{};"
OUT = (
    "fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%y], [m], 64;"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
)
START = "mbarrier.init.shared::cta.b64 [b], 1; mbarrier.arrive.expect_tx.shared::cta.b64 %s0, [b], 64;"


@pytest.mark.parametrize(
    "copy",
    [
        IN.format("cluster", "", ""),
        IN.format("cta", ".L2::cache_hint", ", %s5").replace("cp.", "mov.b64 %s5, 0; cp.", 1),
        IN.format("cluster", ".multicast::cluster", ", %h1").replace("cp.", "mov.b16 %h1, 1; cp.", 1),
    ],
)
def test_blocks_of_memory_travel_in_and_out(run, copy):
    """Bulk copies into and out of shared memory are complete once the barrier object has counted their bytes."""
    x = RNG.integers(0, 256, 64).astype(np.uint8)
    y = run(_kernel(START + copy + WAIT + OUT), "k", 1, 1, x, np.zeros(80, np.uint8), np.zeros(4, np.int32))[1]
    assert np.array_equal(y, np.concatenate([x, np.zeros(16, np.uint8)]))


def test_a_copy_for_other_thread_blocks_only_leaves_memory_alone(run):
    """A multicast copy without bit 0 in its mask, the only thread block of the cluster, leaves memory unchanged."""
    copy = "mov.b16 %h1, 2; st.shared.u32 [m], 77;" + IN.format("cluster", ".multicast::cluster", ", %h1")
    body = copy.replace("[b], 0", "[b], 0") + "ld.shared.u32 %r0, [m]; st.global.u32 [%y], %r0;"
    body = "mbarrier.init.shared::cta.b64 [b], 1;" + body
    y = run(_kernel(body), "k", 1, 1, np.zeros(64, np.uint8), np.zeros(4, np.int32), np.zeros(4, np.int32))[1]
    assert y[0] == 77


def test_masked_copies_write_the_bytes_of_the_mask(run):
    """Bit i of the mask enables byte i of every sixteen."""
    mask = 0b1010_0000_1100_0111
    fill = "".join(f"ld.global.b64 %s1, [%x+{8 * i}]; st.shared.b64 [m+{8 * i}], %s1;" for i in range(8))
    copy = f"mov.b16 %h1, {mask}; cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%y], [m], 64, %h1;"
    x, before = RNG.integers(0, 256, 64).astype(np.uint8), np.full(64, 7, np.uint8)
    y = run(_kernel(fill + copy), "k", 1, 1, x, before, np.zeros(4, np.int32))[1]
    assert np.array_equal(y, np.where(mask >> np.arange(64) % 16 & 1, x, before))


INTEGERS = {
    ("add", "u32"): lambda a, b: a + b,
    ("min", "s32"): np.minimum,
    ("max", "u32"): np.maximum,
    ("inc", "u32"): lambda a, b: np.where(a >= b, 0, a + 1),
    ("dec", "u32"): lambda a, b: np.where((a == 0) | (a > b), b, a - 1),
    ("and", "b32"): lambda a, b: a & b,
    ("or", "b64"): lambda a, b: a | b,
    ("xor", "b32"): lambda a, b: a ^ b,
    ("add", "u64"): lambda a, b: a + b,
    ("max", "s64"): np.maximum,
    ("add", "f32"): lambda a, b: a + b,
    ("add", "f64"): lambda a, b: a + b,
    ("add.noftz", "f16"): lambda a, b: a + b,
    ("max", "f16"): np.maximum,
}


@pytest.mark.parametrize(("operation", "kind"), INTEGERS)
def test_bulk_reductions_into_global_memory(run, operation, kind):
    """Every element of the block in shared memory is combined with an element of global memory."""
    dtype = np.dtype({"b": "u", "u": "u", "s": "i", "f": "f"}[kind[0]] + str(int(kind[1:]) // 8))
    count = 64 // dtype.itemsize
    x, y = (RNG.integers(0, 100, count).astype(dtype) for _ in range(2))
    fill = "".join(f"ld.global.b64 %s1, [%x+{8 * i}]; st.shared.b64 [m+{8 * i}], %s1;" for i in range(8))
    copy = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{kind} [%y], [m], 64;"
    done = "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
    found = run(_kernel(fill + "fence.proxy.async;" + copy + done), "k", 1, 1, x, y, np.zeros(4, np.int32))[1]
    assert np.array_equal(found, INTEGERS[operation, kind](y, x).astype(dtype))


def test_bulk_reductions_into_shared_memory(run):
    """A bulk reduction into shared memory combines each element, and counts its bytes at the barrier object."""
    fill = "".join(
        f"ld.global.u32 %r0, [%x+{4 * i}]; st.shared.u32 [m+{4 * i}], %r0; st.shared.u32 [m+{256 + 4 * i}], {i};"
        for i in range(16)
    )
    copy = (
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [m+256], [m], 64, [b];"
    )
    out = "".join(f"ld.shared.u32 %r0, [m+{256 + 4 * i}]; st.global.u32 [%y+{4 * i}], %r0;" for i in range(16))
    x = RNG.integers(0, 1000, 16).astype(np.uint32)
    body = fill + "fence.proxy.async;" + START + copy + WAIT + out
    y = run(_kernel(body), "k", 1, 1, x, np.zeros(16, np.uint32), np.zeros(4, np.int32))[1]
    assert np.array_equal(y, x + np.arange(16))


def test_stores_and_reductions_that_announce_their_bytes(run):
    """st.async and red.async write to the shared memory that mapa returned, and count their bytes at the barrier."""
    begin = """mbarrier.init.shared::cta.b64 [b], 1; mov.u32 %r7, 0; st.shared.u32 [m+32], 10;
      mapa.shared::cluster.u32 %m, %m, 0; mapa.shared::cluster.u32 %b, %b, %r7;
      mbarrier.arrive.expect_tx.shared::cta.b64 %s0, [b], 32;"""
    store = """mov.u32 %r1, 11; mov.u32 %r2, 12; mov.b64 %s1, 13; mov.u32 %r3, 5;
      st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%m], %r1, [%b];
      st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%m+16], {%r1, %r2, %r1, %r2}, [%b];
      st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%m+8], %s1, [%b];
      mbarrier.test_wait.parity.shared::cta.b64 %p, [b], 0; selp.u32 %r4, 1, 0, %p; st.global.u32 [%y+36], %r4;
      red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%m+32], %r3, [%b];"""
    loads = "".join(f"ld.shared.u32 %r0, [m+{4 * i}]; st.global.u32 [%y+{4 * i}], %r0;" for i in range(9))
    y = run(_kernel(begin + store + WAIT + loads), "k", 1, 1, np.zeros(4), np.zeros(10, np.uint32), np.zeros(4))[1]
    expected = [11, 0, 13, 0, 11, 12, 11, 12, 15, 0]
    assert np.array_equal(np.delete(y, 1), np.delete(expected, 1))  # no store writes word 1


def test_asynchronous_stores_to_global_memory(run):
    """With a scope instead of a barrier object, st.async and red.async are releasing stores and reductions."""
    body = """mov.u32 %r1, 9; mov.f64 %s1, 2.5;
      st.async.release.gpu.global.u32 [%y], %r1; st.async.release.sys.global.f64 [%y+8], %s1;
      red.async.release.gpu.global.add.u32 [%y+4], %r1; red.async.mmio.release.sys.global.or.b32 [%y+4], %r1;"""
    y = run(_kernel(body), "k", 1, 1, np.zeros(4), np.array([0, 2, 0, 0], np.uint32), np.zeros(4))[1]
    assert list(y[:2]) == [9, 11]
    assert y[2:].view(np.float64)[0] == 2.5


@pytest.mark.parametrize("form", ["st.bulk.shared::cta [%m+16], %s1, 0;", "st.bulk.weak [%s2], %s1, 0;"])
def test_bulk_stores_of_zeros(run, form):
    """st.bulk fills a block of shared memory with zeros."""
    fill = "".join(f"st.shared.u32 [m+{4 * i}], {i + 1};" for i in range(16))
    point = "mov.u64 %s1, 32; cvt.u64.u32 %s2, %m; cvta.shared.u64 %s2, %s2; add.u64 %s2, %s2, 16;"
    out = "".join(f"ld.shared.u32 %r0, [m+{4 * i}]; st.global.u32 [%y+{4 * i}], %r0;" for i in range(16))
    y = run(_kernel(fill + point + form + out), "k", 1, 1, np.zeros(4), np.zeros(16, np.uint32), np.zeros(4))[1]
    index = np.arange(16)
    assert np.array_equal(y, np.where((index >= 4) & (index < 12), 0, index + 1))


def test_a_bulk_copy_past_a_buffer_is_an_error(run):
    """A bulk copy past the end of a buffer is a fault, like any other access."""
    with pytest.raises(KernelFault, match="address"):
        run(_kernel(START + IN.format("cta", "", "")), "k", 1, 1, np.zeros(16, np.uint8), np.zeros(4), np.zeros(4))


def test_arrivals_of_every_kind(run):
    """Barrier objects count arrivals, drops and expected bytes, and their state has the number of pending arrivals."""

    def phase(index):
        return (
            f"mbarrier.test_wait.parity.shared::cta.b64 %p, [b], {index & 1}; selp.u32 %r0, 1, 0, %p;"
            f"st.global.u32 [%y+{4 * index}], %r0;"
        )

    def pending(index):
        return f"mbarrier.pending_count.b64 %r0, %s0; st.global.u32 [%y+{4 * index}], %r0;"

    body = [
        "mbarrier.init.b64 [b], 3;",
        "mbarrier.arrive.b64 %s0, [b];",
        pending(8),  # before this arrival
        "mbarrier.arrive.noComplete.shared::cta.b64 %s0, [b], 1;",
        pending(9),
        phase(0),  # one arrival is missing
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], 8;",
        "mbarrier.arrive_drop.shared.b64 _, [b];",
        phase(2),  # eight bytes are missing
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [b], 8;",
        phase(4),  # complete: the next phase expects two
        "mbarrier.arrive_drop.expect_tx.shared::cta.b64 %s0, [b], 4;",
        pending(10),
        "mbarrier.arrive.shared::cta.b64 %s0, [b], 1;",
        phase(1),  # four bytes are missing
        "mbarrier.complete_tx.shared::cta.b64 [b], 4;",
        phase(3),  # complete: the next phase expects one
        "mbarrier.arrive.b64 %s0, [b];",
        pending(11),
        "mbarrier.test_wait.shared::cta.b64 %p, [b], %s0; selp.u32 %r0, 1, 0, %p; st.global.u32 [%y+48], %r0;",
        "mbarrier.try_wait.shared::cta.b64 %p, [b], %s0, 100; selp.u32 %r0, 1, 0, %p; st.global.u32 [%y+52], %r0;",
        "mbarrier.inval.b64 [b];",
    ]
    y = run(_kernel("\n".join(body)), "k", 1, 1, np.zeros(4), np.zeros(14, np.uint32), np.zeros(4))[1]
    assert list(y[:5]) == [0, 0, 0, 1, 1]
    assert list(y[8:]) == [3, 2, 2, 1, 1, 1]
