"""How kernel blocks launch: in place, over which port, with how much shared memory, and by which manifests."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Severity
from warploom.engine.patch.document import NodeRef
from warploom.engine.runtime.check.check_patch import check_patch

DOT = """extern "C" __global__ void dot(float* image{comment}
    , int at, int count) {{
    if (blockIdx.x == 0 && threadIdx.x == 0 && at < count) image[at] = 9.0f;
}}
"""


def _ports(patch: Patch, node: NodeRef) -> list[tuple[str, str]]:
    found = patch.block_type(node.id)
    assert found is not None
    return [(port.name, port.direction) for port in found.ports.values()]


def _reported(patch: Patch) -> list[str]:
    return [item.message for item in check_patch(patch)]


def _problem(patch: Patch, node: NodeRef) -> str:
    placed = patch.nodes[node.id]
    return str(patch.catalogue.resolve(placed.type, placed.parameters, lambda: patch.folder, trusted=True)[1])


@pytest.mark.parametrize(
    ("comment", "in_place"),
    [
        ("  // [inout] what is drawn into", ""),
        ("  /* [in, out] drawn into */", ""),
        ("  // in place", ""),
        ("", "image"),
    ],
)
def test_a_kernel_draws_into_the_picture_that_it_is_given(device: Device, comment: str, in_place: str) -> None:
    """A kernel draws into its picture if the source or the block says so, though the code only writes to it."""
    patch = Patch()
    node = patch.add("kernel.cuda", code=DOT.format(comment=comment), in_place=in_place, at=2)
    assert _ports(patch, node) == [("image", "in"), ("image_out", "out")]
    source, copy = patch.add("io.array", data=np.arange(5, dtype=np.float32)), patch.add("buffer.copy")
    patch.connect(source["out"], copy["x"])
    patch.connect(copy["out"], node["image"])
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(node["image_out"]), [0, 1, 9, 3, 4])


def test_a_ptx_draws_into_the_picture_as_its_manifest_says(tmp_path: Path) -> None:
    """A PTX kernel draws into a picture if its manifest or the block's `in_place` says so."""
    (tmp_path / "dot.ptx").write_text(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry dot(.param .u64 image)\n"
        "{ .reg .b64 %rd; .reg .f32 %f;\n"
        "ld.param.u64 %rd, [image]; mov.f32 %f, 0f41100000; st.global.f32 [%rd], %f; ret; }\n"
    )
    patch = Patch()
    node = patch.add("kernel.file", file=str(tmp_path / "dot.ptx"))
    assert _ports(patch, node) == [("image", "out")]
    patch.set(node, in_place="image")
    assert _ports(patch, node) == [("image", "in"), ("image_out", "out")]
    (tmp_path / "dot.json").write_text(
        json.dumps({"name": "dot", "parameters": [{"index": 0, "name": "image", "direction": "inout"}]})
    )
    fresh = Patch()
    assert _ports(fresh, fresh.add("kernel.file", file=str(tmp_path / "dot.ptx"))) == [
        ("image", "in"),
        ("image_out", "out"),
    ]


@pytest.mark.parametrize(
    ("comment", "values", "message"),
    [
        ("  // [in] drawn into", {}, "direction of image must be out, as the kernel uses it, got in"),
        ("", {"in_place": "at"}, "in_place must name pointers (image), got at"),
        ("", {"in_place": "image, nothing"}, "in_place must name pointers (image), got nothing"),
    ],
)
def test_a_direction_that_the_code_refutes_is_told(comment: str, values: dict[str, Any], message: str) -> None:
    """A manifest whose direction for a pointer contradicts the code is reported at the node."""
    patch = Patch()
    node = patch.add("kernel.cuda", code=DOT.format(comment=comment), **values)
    assert message in _problem(patch, node)


ROWS = """extern "C" __global__ void rows(const float* x, float* out, float* more, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 360) return;
    out[i] = x[i % 16] + n;
    if (i < 16) more[i] = x[i];
}
"""


def test_threads_go_over_the_first_output_unless_another_port_is_named(device: Device) -> None:
    """Without `over`, a first output with a shape of its own decides the threads, and a warning says so."""
    patch = Patch()
    node = patch.add("kernel.cuda", code=ROWS, shapes="out: [360]", thread_block="32")
    patch.connect(patch.add("io.array", data=np.arange(16, dtype=np.float32))["out"], node["x"])
    (reported,) = check_patch(patch)
    assert (reported.severity, reported.port) == (Severity.WARNING, "over")
    assert reported.message == (
        "over must be set, since the shape of out follows from no input; "
        "until then there is a thread for each of its elements"
    )
    assert reported.remedy == "set it to out, or to x"
    with Engine(patch, device=device) as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), np.arange(360) % 16 + 360)
        patch.set(node, over="out")
        assert engine.step().diagnostics == ()
        patch.set(node, over="x")
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(node["out"])[:16], np.arange(16) + 16)


REVERSED = """extern "C" __global__ void reversed(const float* x, float* out) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""


def test_dynamic_shared_memory_is_a_parameter_of_the_block(device: Device) -> None:
    """The bytes of shared memory must be set on the block, since only the code's author knows them."""
    patch = Patch()
    node = patch.add("kernel.cuda", code=REVERSED, thread_block="64")
    x = np.arange(64, dtype=np.float32)
    patch.connect(patch.add("io.array", data=x)["out"], node["x"])
    assert _reported(patch) == ["shared_bytes must be the bytes of shared memory that reversed needs, got nothing"]
    patch.set(node, shared_bytes=256)
    assert _reported(patch) == []
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(node["out"]), x[::-1])
    static = patch.add(
        "kernel.cuda", code=REVERSED.replace("extern __shared__ float tile[]", "__shared__ float tile[64]")
    )
    found = patch.block_type(static.id)
    assert found is not None and "shared_bytes" not in found.parameters


PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 a) { ret; }
"""


@pytest.mark.parametrize(
    ("fields", "parameter", "message"),
    [
        ({"block_size": 0}, {}, "block_size must be 1 to 3 whole numbers from 1 with a product of at most 1024, got 0"),
        ({"block_size": [16, 0]}, {}, "got [16, 0]"),
        ({"block_size": [64, 64]}, {}, "got [64, 64]"),
        ({"block_size": []}, {}, "got []"),
        ({"req_threads": [0]}, {}, "req_threads must be 1 to 3 whole numbers"),
        ({"max_threads": 0}, {}, "max_threads must be at least 1, got 0"),
        ({"shared_memory_dynamic": -1}, {}, "shared_memory_dynamic must be at least 0, got -1"),
        (
            {},
            {"element_type": "flaot"},
            "element_type of a must be the name of a scalar or vector, such as f32, float4",
        ),
    ],
)
def test_what_a_manifest_can_not_mean_is_refused(
    tmp_path: Path, fields: dict[str, Any], parameter: dict[str, Any], message: str
) -> None:
    """An impossible field is reported with the manifest's file."""
    (tmp_path / "fill.ptx").write_text(PTX)
    manifest = {"name": "fill", "parameters": [{"index": 0, "name": "a", "is_pointer": True, **parameter}], **fields}
    (tmp_path / "fill.json").write_text(json.dumps(manifest))
    patch = Patch()
    found = _problem(patch, patch.add("kernel.file", file=str(tmp_path / "fill.ptx")))
    assert message in found and "fill.json" in found


PLANE = """extern "C" __global__ void plane(const float* x, float* out, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < width && j < height) out[j * width + i] = x[j * width + i] + 1.0f;
}
"""


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("kernel.cuda", {"code": PLANE}),
        ("kernel.expression", {"expression": "x + 1 + 0 * u"}),
        ("kernel.expression", {"expression": "x + 1 + 0 * py"}),
        ("kernel.expression", {"expression": "x + 1"}),
    ],
)
@pytest.mark.parametrize("shape", [(7,), (5, 2), (1, 1, 5, 2), (5, 1, 2), (2, 3, 5, 7)])
def test_a_kernel_computes_all_elements_or_is_refused(
    device: Device, kind: str, values: dict[str, str], shape: tuple[int, ...]
) -> None:
    """Stacks are refused if a kernel that counts along two axes would compute only their first image."""
    patch = Patch()
    x = np.random.default_rng(len(shape)).random(shape, np.float32)
    node = patch.add(kind, **values)
    patch.connect(patch.add("io.array", data=x)["out"], node["x"])
    counts_axes = values != {"expression": "x + 1"}
    with Engine(patch, device=device) as engine:
        messages = [item.message for item in engine.step().diagnostics]
        if counts_axes and np.prod(shape[:-2]) > 1:
            port = "x" if kind == "kernel.expression" else "out"
            assert messages == [f"{port} must have at most 2 axes, since the kernel counts along 2: reshape it"]
        else:
            assert messages == []
            np.testing.assert_array_equal(engine.read(node["out"]), x + np.float32(1))


@pytest.mark.parametrize("read", ["image[px, py]", "sample(image, u, v)"])
@pytest.mark.parametrize("shape", [(12,), (3, 4), (1, 3, 4), (2, 3, 4)])
def test_an_image_that_is_read_elsewhere_is_no_stack(device: Device, read: str, shape: tuple[int, ...]) -> None:
    """Stacks are refused if an op graph that reads an image elsewhere would read only their first image."""
    patch = Patch()
    node = patch.add("kernel.expression", expression=f"x + {read}", reads="x, image")
    for port, size in (("x", (3, 4)), ("image", shape)):
        patch.connect(patch.add("io.array", data=np.ones(size, np.float32))["out"], node[port])
    with Engine(patch, device=device) as engine:
        reported = [(item.port, item.message) for item in engine.step().diagnostics]
        text = "image must have at most 2 axes, since the kernel counts along 2: reshape it"
        assert reported == ([("image", text)] if shape[0] == 2 else [])
