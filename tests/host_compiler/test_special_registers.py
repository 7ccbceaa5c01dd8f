"""The values of special registers in every thread of a launch."""

import numpy as np
import pytest

HEAD = ".version 8.7\n.target sm_100\n.address_size 64\n"


def _kernel(names, kind="u32"):
    size = int(kind[1:]) // 8
    lines = "".join(
        f"mov.{kind} %r, {name}; st.global.{kind} [%o+{size * index}], %r;" for index, name in enumerate(names)
    )
    return (
        HEAD
        + f""".extern .shared .align 4 .b8 dynamic[];
    .visible .entry k(.param .u64 out) {{
      .reg .b64 %o; .reg .b32 %t, %n, %m, %b; .reg .{kind} %r; .shared .align 8 .b8 fixed[40];
      st.shared.u8 [fixed], 1; st.shared.u8 [dynamic], 1;
      mov.u32 %t, %tid.z; mov.u32 %n, %ntid.y; mov.u32 %m, %tid.y; mad.lo.u32 %t, %t, %n, %m;
      mov.u32 %n, %ntid.x; mov.u32 %m, %tid.x; mad.lo.u32 %t, %t, %n, %m;
      mov.u32 %b, %ctaid.y; mov.u32 %n, %nctaid.x; mov.u32 %m, %ctaid.x; mad.lo.u32 %b, %b, %n, %m;
      mad.lo.u32 %t, %b, 30, %t;
      ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, {size * len(names)}, %o;
      {lines} ret; }}"""
    )


def test_thread_and_block_indices_and_sizes(run):
    """Indices and sizes of threads, thread blocks and one-block clusters equal the launch's in every axis."""
    shapes = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    names = [f"%{shape}.{axis}" for shape in shapes for axis in "xyzw"]
    out = run(
        _kernel(names), "k", (2, 3), (5, 3, 2), np.zeros((3, 2, 2, 3, 5, len(shapes), 4), np.uint32), shared_bytes=4
    )[0]
    b, a, z, y, x = np.indices((3, 2, 2, 3, 5))
    none = np.zeros_like(x)
    expected = {
        "tid": (x, y, z, none),
        "ntid": (5, 3, 2, 0),
        "ctaid": (a, b, none, none),
        "nctaid": (2, 3, 1, 0),
        "clusterid": (a, b, none, none),
        "nclusterid": (2, 3, 1, 0),
        "cluster_ctaid": (0, 0, 0, 0),
        "cluster_nctaid": (1, 1, 1, 0),
    }
    for index, shape in enumerate(shapes):
        for axis in range(4):
            assert (out[..., index, axis] == expected[shape][axis]).all(), (shape, axis)


def test_lanes_and_memory(run):
    """Lanes and their masks continue across a thread block's rows, and sizes of shared memory are in bytes."""
    names = [f"%lanemask_{kind}" for kind in ("eq", "lt", "le", "gt", "ge")]
    names += ["%laneid", "%warpid", "%cluster_ctarank", "%cluster_nctarank", "%dynamic_smem_size", "%total_smem_size"]
    out = run(_kernel(names), "k", 1, (6, 6), np.zeros((36, len(names)), np.uint32), shared_bytes=100)[0]
    found = dict(zip(names, out.T.astype(np.uint64), strict=True))
    lane = np.arange(36, dtype=np.uint64) % 32
    bit = np.uint64(1) << lane
    everyone = np.uint64(0xFFFFFFFF)
    assert (found["%laneid"] == lane).all()
    assert (found["%warpid"] == np.arange(36) // 32).all()
    assert (found["%lanemask_eq"] == bit).all()
    assert (found["%lanemask_lt"] == bit - 1).all()
    assert (found["%lanemask_le"] == (bit - 1 | bit)).all()
    assert (found["%lanemask_gt"] == everyone - (bit - 1 | bit)).all()
    assert (found["%lanemask_ge"] == everyone - (bit - 1)).all()
    assert (found["%cluster_ctarank"] == 0).all()
    assert (found["%cluster_nctarank"] == 1).all()
    assert (found["%dynamic_smem_size"] == 100).all()
    assert (found["%total_smem_size"] >= 140).all()


def test_clocks_go_on(run):
    """Clocks of cycles and of nanoseconds advance, read as one number or as halves."""
    names = ["%clock64", "%globaltimer", "%clock64", "%globaltimer"]
    first, since, later, then = run(_kernel(names, "u64"), "k", 1, (1,), np.zeros(4, np.uint64), shared_bytes=4)[0]
    assert first < later
    assert 10**18 < since <= then


@pytest.mark.parametrize("clock", ["%clock", "%globaltimer_lo"])
def test_a_time_that_was_read_before_a_barrier_stays_what_it_was(run, clock):
    """Each thread reads a clock once, whether its value is used before or after a barrier."""
    body = f"""
      .reg .b32 %before, %at; .reg .b64 %o, %place;
      ld.param.u64 %o, [o];
      mov.u32 %at, %tid.x;
      mad.wide.u32 %place, %at, 8, %o;
      mov.u32 %before, {clock};
      st.global.u32 [%place], %before;
      bar.sync 0;
      st.global.u32 [%place+4], %before;
      ret;"""
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o) {{{body}\n}}"
    found = run(text, "k", 1, (64,), np.zeros((64, 2), np.uint32))[0]
    assert (found[:, 0] == found[:, 1]).all()
