"""`kernel.file` makes a block of a `.cu` or `.ptx` file, with the ports and parameters of its kernel."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.waiting import next_report, until
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.blocktypes.block import Block
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import Diagnostic, PatchError, Severity
from warploom.engine.patch.changes import ParameterChanged, PortRef
from warploom.engine.protocol.messages import KernelFilesChanged
from warploom.engine.runtime.check.check_patch import check_patch

SHARPEN = """
// Move values away from their neighbours.
extern "C" __global__ void sharpen(
    const float* x,       // what is sharpened
    float* out,           // the result
    float amount,         // [0, 4] = 0.5, how much
    bool wraps,           // = true, at the ends
    int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int left = wraps ? (i + count - 1) % count : max(i - 1, 0);
    out[i] = x[i] + amount * (x[i] - x[left]);
}
"""

PLASMA = """
extern "C" __global__ void plasma(float4* image, float scale, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    image[y * width + x] = make_float4(x * scale, y * scale, width, height);
}
"""

BY_HAND = """.version 7.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 a, .param .u64 b, .param .u32 k)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [k];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p, %r5, %r1;
    @%p ret;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f, [%rd4]; add.f32 %f, %f, %f; st.global.f32 [%rd5], %f;
    ret;
}
"""


def _type(patch: Patch, node: str) -> type[Block]:
    found = patch.block_type(node)
    assert found is not None
    return found


def _place(patch: Patch, file: Path, text: str, **values: object) -> str:
    file.write_text(text)
    return patch.add("kernel.file", node_id="kernel", file=str(file), **values).id


def _problem(patch: Patch, node: str) -> Diagnostic:
    placed = patch.nodes[node]
    _, problem = patch.catalogue.resolve(placed.type, placed.parameters, lambda: patch.folder, trusted=True)
    assert problem is not None
    return problem


def test_ports_parameters_and_help_come_from_the_source(tmp_path: Path) -> None:
    """Pointers become ports, numbers become sliders with the range in their comment, and `count` is the size."""
    patch = Patch()
    node = _place(patch, tmp_path / "sharpen.cu", SHARPEN)
    found = _type(patch, node)
    assert [(p.name, p.direction, str(p.dtype), p.doc) for p in found.ports.values()] == [
        ("x", "in", "f32", "What is sharpened"),
        ("out", "out", "f32", "The result"),
    ]
    own = {name: spec for name, spec in found.parameters.items() if not spec.structural}
    assert list(own) == ["amount", "wraps"]
    amount, wraps = own.values()
    assert (amount.type, amount.minimum, amount.maximum, amount.default, amount.doc) == ("float", 0, 4, 0.5, "How much")
    assert (wraps.type, wraps.default, wraps.doc) == ("bool", True, "At the ends")
    assert (found.title, found.summary) == ("Sharpen", "Move values away from their neighbours.")


def test_it_runs_and_its_sliders_are_hot(tmp_path: Path) -> None:
    """A kernel's block has the right results, even for a partly filled thread block, and its sliders are HOT."""
    values = np.random.default_rng(1).normal(size=1027).astype(np.float32)
    patch = Patch()
    node = _place(patch, tmp_path / "sharpen.cu", SHARPEN)
    source = patch.add("io.array", data=values)
    patch.connect(source["out"], patch[node]["x"])
    with Engine(patch, device="host") as engine:
        assert engine.step().diagnostics == ()
        for amount, wraps in ((0.5, True), (2.0, False)):
            patch.set(node, amount=amount, wraps=wraps)
            level = engine.step().update_level
            left = np.roll(values, 1) if wraps else np.concatenate([values[:1], values[:-1]])
            expected = values + np.float32(amount) * (values - left)
            np.testing.assert_allclose(engine.read(PortRef(node, "out")), expected, rtol=1e-6, atol=1e-6)
        assert level is UpdateLevel.HOT


def test_a_kernel_without_inputs_makes_outputs_of_a_size_that_is_set(tmp_path: Path) -> None:
    """The size is a parameter of the block, and a launch in two dimensions makes outputs of [height, width]."""
    patch = Patch()
    node = _place(patch, tmp_path / "plasma.cu", PLASMA, width=19, height=7, scale=0.5)
    with Engine(patch, device="host") as engine:
        assert engine.step().diagnostics == ()
        image = engine.read(PortRef(node, "image"))
    assert image.shape[:2] == (7, 19)
    assert [float(v) for v in image[6, 18].tolist()] == [9.0, 3.0, 19.0, 7.0]


def test_ptx_without_names_takes_the_bound_of_its_threads_for_the_size(tmp_path: Path) -> None:
    """Without names in the PTX, the number that a thread index is compared with is the number of elements."""
    patch = Patch()
    node = _place(patch, tmp_path / "twice.ptx", BY_HAND)
    assert list(_type(patch, node).ports) == ["a", "b"]
    source = patch.add("io.array", data=np.arange(1023, dtype=np.float32))
    patch.connect(source["out"], patch[node]["a"])
    with Engine(patch, device="host") as engine:
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(PortRef(node, "b")), 2 * np.arange(1023, dtype=np.float32))


def test_a_manifest_adds_to_what_the_ptx_says(tmp_path: Path) -> None:
    """The `.json` file beside a `.ptx` file adds names, element types, help, and the meanings of numbers."""
    (tmp_path / "twice.json").write_text(
        '{"name": "twice", "summary": "Double.", "parameters": ['
        '{"index": 0, "name": "x", "element_type": "f32", "direction": "in"},'
        '{"index": 1, "name": "y", "element_type": "f32", "direction": "out", "help": "Twice x."},'
        '{"index": 2, "name": "limit", "semantic": "parameter", "minimum": 0, "maximum": 99, "default": 3}]}'
    )
    patch = Patch()
    node = _place(patch, tmp_path / "twice.ptx", BY_HAND)
    found = _type(patch, node)
    assert [(port.name, port.doc) for port in found.outputs()] == [("y", "Twice x.")]
    limit = found.parameters["limit"]
    assert (limit.minimum, limit.maximum, limit.default) == (0, 99, 3)


def test_an_entry_point_is_chosen_by_name(tmp_path: Path) -> None:
    """Each kernel of a file can be a block; for an unknown name, the message lists the names that exist."""
    patch = Patch()
    node = _place(patch, tmp_path / "both.cu", SHARPEN + PLASMA, entry="plasma")
    assert list(_type(patch, node).ports) == ["image"]
    patch.set(node, entry="")
    assert list(_type(patch, node).ports) == ["x", "out"]
    patch.set(node, entry="plasmas")
    assert _problem(patch, node).message.startswith("entry point plasmas must be one of sharpen, plasma in both.cu")


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        ({"over": "inn"}, "over must be a port (x, out), got 'inn'"),
        ({"shapes": "x: [3]"}, "shapes must name outputs (out), got x"),
        (
            {"shapes": "out: 3"},
            "shape of out: shape rule must be same, same(port), broadcast(a,b), scalar or [..], got '3'",
        ),
        ({"shapes": "[3]"}, "shapes must be like 'out: [N, 16]; sum: [1]', got '[3]'"),
        ({"thread_block": "many"}, "thread_block must be 1 to 3 numbers such as '16, 16', got 'many'"),
    ],
)
def test_wrong_wishes_are_reported(tmp_path: Path, values: dict[str, object], reported: str) -> None:
    """Each impossible setting is reported with its rule."""
    patch = Patch()
    node = _place(patch, tmp_path / "sharpen.cu", SHARPEN, **values)
    assert _problem(patch, node).message == reported


@pytest.mark.parametrize(
    ("parameters", "body", "ports"),
    [
        ("float* x, float* x_out, int n", "x[0] += 1; x_out[0] = x[0];", ["x", "x_out_", "x_out"]),
        ("const float* lambda, float* region", "region[0] = lambda[0];", ["lambda_", "region_"]),
    ],
)
def test_names_that_a_port_can_not_have_get_an_underscore(
    tmp_path: Path, parameters: str, body: str, ports: list[str]
) -> None:
    """A port gets an underscore if its name is that of another port, a Python keyword or a member of a block."""
    patch = Patch()
    text = f'extern "C" __global__ void k({parameters}) {{ {body} }}'
    assert list(_type(patch, _place(patch, tmp_path / "k.cu", text)).ports) == ports


def test_a_default_beyond_its_range_is_told(tmp_path: Path) -> None:
    """A default outside the range in its comment is reported with the parameter's name."""
    patch = Patch()
    node = _place(patch, tmp_path / "sharpen.cu", SHARPEN.replace("[0, 4] = 0.5", "[0, 4] = 7"))
    assert _problem(patch, node).message == "block kernel.file: default of parameter amount must be at most 4, got 7.0"


def test_a_path_that_no_file_can_have_is_told() -> None:
    """A node whose path contains a null character can be added, and reports that character."""
    patch = Patch()
    node = patch.add("kernel.file", file="a\0b.cu").id
    assert "null" in _problem(patch, node).message


def test_files_that_are_missing_or_wrong_are_told_on_the_node(tmp_path: Path) -> None:
    """A node without a path is incomplete; problems of a missing or wrong file are reported with file and line."""
    patch = Patch()
    node = patch.add("kernel.file", node_id="kernel").id
    with Engine(patch, device="host") as engine:
        (waiting,) = engine.step().diagnostics
        assert waiting.is_incomplete
        assert (waiting.port, waiting.message) == ("file", "file must name a kernel, got nothing")
        patch.set(node, file=str(tmp_path / "none.cu"))
        (reported,) = engine.step().diagnostics
        assert (reported.node, reported.message) == (node, f"kernel file must exist, got {tmp_path / 'none.cu'}")
        patch.restore([ParameterChanged(node, name, 1.0, None) for name in ("gain", "radius")])  # of the lost kernel
        assert [item.message for item in check_patch(patch)] == [reported.message]
        (tmp_path / "wrong.cu").write_text('extern "C" __global__ void k(float* out) {\n  out[0] = nothing;\n}\n')
        patch.set(node, file=str(tmp_path / "wrong.cu"))
        (reported,) = engine.step().diagnostics
        assert (reported.node, reported.line) == (node, 2) and "nothing" in reported.message
        with pytest.raises(PatchError):
            patch[node]["out"]


def test_a_saved_file_swaps_code_and_changes_ports_while_the_patch_runs(tmp_path: Path) -> None:
    """A save with the same signature swaps the function (CODE); another signature changes ports and parameters."""
    file = tmp_path / "k.cu"
    head = 'extern "C" __global__ void k(const float* x, float* out, int n)'
    text = head + "{{ int i = threadIdx.x; if (i < n) out[i] = {}; }}"
    patch = Patch()
    node = _place(patch, file, text.format("x[i] + 1"))
    source = patch.add("io.array", data=np.arange(5, dtype=np.float32))
    patch.connect(source["out"], patch[node]["x"])

    def save(contents: str) -> None:
        (tmp_path / "k.new").write_text(contents)
        (tmp_path / "k.new").replace(file)

    def shows(added: int) -> bool:
        return np.array_equal(engine.read(PortRef(node, "out")), np.arange(5) + added)

    with Engine(patch, device="host") as engine:
        engine.watch_files()  # also watches the files that blocks read
        engine.start()
        until(lambda: shows(1))
        save(text.format("x[i] + 2"))
        until(lambda: shows(2))
        save(text.format("x[i] + gain").replace("int n", "float gain, int n"))
        until(lambda: "gain" in _type(patch, node).parameters)
        patch.set(node, gain=7.0)
        until(lambda: shows(7))
        save("what is this")
        report = next_report(engine, lambda report: report.diagnostics)
        assert report.diagnostics[0].node == node
        assert shows(7)


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ({"needs_review": True}, "its parameters"),
        ({"needs_review": ["a", "k"]}, "a, k"),
        ({"needs_review": False}, ""),
        ({}, ""),
    ],
)
def test_a_manifest_that_needs_review_is_a_warning_on_the_node(
    tmp_path: Path, facts: dict[str, object], names: str
) -> None:
    """The kernel runs despite the warning, which disappears once the manifest states that it was reviewed."""
    parameters = [
        {"index": 0, "name": "a", "ptx_type": "u64", "is_pointer": True, "direction": "in"},
        {"index": 1, "name": "b", "ptx_type": "u64", "is_pointer": True, "direction": "out"},
        {"index": 2, "name": "k", "ptx_type": "u32", "is_pointer": False},
    ]
    manifest = tmp_path / "twice.json"
    manifest.write_text(json.dumps({"name": "twice", "parameters": parameters, **facts}))
    patch = Patch()
    node = _place(patch, tmp_path / "twice.ptx", BY_HAND)
    source = patch.add("io.array", data=np.arange(5, dtype=np.float32))
    patch.connect(source["out"], patch[node]["a"])
    with Engine(patch, device="host") as engine:
        found = engine.step().diagnostics
        assert engine.read(patch[node]["b"]).tolist() == [0, 2, 4, 6, 8]
    assert [item.message for item in found] == (
        [f"directions of {names} in twice must be reviewed, got a guess"] if names else []
    )
    assert [(item.severity, item.node, item.file) for item in found] == (
        [(Severity.WARNING, node, str(manifest))] if names else []
    )


def test_what_ptx_does_not_tell_is_a_warning_until_a_manifest_says_it(tmp_path: Path) -> None:
    """Without a manifest, a pointer that the kernel stores somewhere gets a warning, since its use is unknown."""
    hidden = BY_HAND.replace("ret;\n}", "st.global.u64 [%rd2], %rd1;\n    ret;\n}")
    patch = Patch()
    node = _place(patch, tmp_path / "twice.ptx", hidden)
    source = patch.add("io.array", data=np.arange(8, dtype=np.float32))
    patch.connect(source["out"], patch[node]["a"])
    (reported,) = (item for item in check_patch(patch) if item.severity is Severity.WARNING)
    assert reported.message == "directions of a in twice must be reviewed, got a guess"
    assert "twice.json" in reported.remedy


def test_a_node_is_called_as_its_entry_point(tmp_path: Path) -> None:
    """The entry point is the node's id, numbered where it is taken, and its title; a wrong file has the type's."""
    (tmp_path / "filters.cu").write_text(SHARPEN + PLASMA)
    (tmp_path / "wrong.cu").write_text("int")
    patch = Patch()
    for values, expected in (
        ({"file": "filters.cu"}, ("sharpen", "Sharpen")),
        ({"file": "filters.cu", "entry": "plasma"}, ("plasma", "Plasma")),
        ({"file": "filters.cu", "entry": "sharpen"}, ("sharpen_2", "Sharpen")),
        ({"file": "wrong.cu"}, ("file", "Kernel File")),
        ({}, ("file_2", "Kernel File")),
    ):
        path = {"file": str(tmp_path / values["file"])} if values else {}
        node = patch.add("kernel.file", **{**values, **path})
        assert (node.id, patch.title(node.id)) == expected


def test_other_words_in_a_manifest_change_no_kernel(tmp_path: Path) -> None:
    """Another help text or summary is shown at once, and no code is swapped; another limit of threads counts."""
    path, manifest = tmp_path / "twice.ptx", tmp_path / "twice.json"

    def write(**more: object) -> KernelFilesChanged:
        names = [{"index": 0, "name": "x"}, {"index": 1, "name": "y", "help": more.pop("help", "Twice x.")}]
        parameters = [*names, {"index": 2, "name": "count"}]
        manifest.write_text(json.dumps({"name": "twice", "parameters": parameters, **more}))
        return KernelFilesChanged(frozenset({manifest.resolve()}))

    write()
    patch = Patch()
    node = _place(patch, path, BY_HAND)
    patch.connect(patch.add("io.array", data=np.arange(300, dtype=np.float32))["out"], patch[node]["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(write(help="The double of x.", summary="Doubles.", tags=["two"], version=3))
        assert engine.step().update_level <= UpdateLevel.WARM
        found = _type(patch, node)
        assert (found.summary, found.ports["y"].doc) == ("Doubles.", "The double of x.")
        engine.post(write(max_threads=64))
        assert engine.step().update_level >= UpdateLevel.CODE
        np.testing.assert_array_equal(engine.read(PortRef(node, "y")), 2 * np.arange(300, dtype=np.float32))


def test_a_flag_under_a_condition_begins_with_what_is_connected(tmp_path: Path, device: Device) -> None:
    """With `// inout`, a flag that a kernel only sets is cleared in each frame by the constant that feeds it."""
    code = """extern "C" __global__ void exceeds(const float* x, int* flag,  // inout, 1 if an element is larger
                                   float limit, int x_count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < x_count && x[i] > limit) *flag = 1;
}
"""
    patch = Patch()
    node = _place(patch, tmp_path / "exceeds.cu", code, over="x")
    clear = patch.add("buffer.constant", shape="1", value=0.0, dtype="s32")
    patch.connect(patch.add("io.array", data=np.arange(33, dtype=np.float32))["out"], PortRef(node, "x"))
    patch.connect(clear["out"], PortRef(node, "flag"))
    with Engine(patch, device=device, raise_on_error=True) as engine:
        for limit in (31.5, 32.0, 0.0, 40.0, 50.0):
            patch.set(node, limit=limit)
            engine.step()
            assert engine.read(PortRef(node, "flag_out")).tolist() == [int(limit < 32)]
