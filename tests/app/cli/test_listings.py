"""`warploom blocks`, `devices` and `kernel`."""

import json
from itertools import pairwise
from pathlib import Path

from tests.app.cli.cli_support import Warploom, edited
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.kernel_sources.loader import load_image


def test_blocks_lists_every_block_with_its_ports(warploom: Warploom) -> None:
    """`warploom blocks` lists every block with its ports as JSON and as a table, and prints one block in full."""
    blocks = {b["id"]: b for b in warploom("blocks", "--json").json["blocks"]}
    assert {"math.saxpy", "particles.emitter", "io.viewer"} <= blocks.keys()
    saxpy = warploom("blocks", "math.saxpy", "--json").json
    assert saxpy == blocks["math.saxpy"]
    assert [(p["name"], p["direction"], p["dtype"]) for p in saxpy["ports"]] == [
        ("x", "in", "f32"),
        ("y", "in", "f32"),
        ("out", "out", "f32"),
    ]
    assert "math.saxpy" in warploom("blocks").out
    assert "Factor of x." in warploom("blocks", "math.saxpy").out


def test_a_patch_inside_a_block_is_not_spelled_out(warploom: Warploom) -> None:
    """A parameter whose value is an inner patch is named by kind in the table, and complete in the JSON."""
    found = warploom("blocks", "tensor.train", "--json").json
    assert any(p["name"] == "graph" and p["default"]["nodes"] for p in found["parameters"])
    (row,) = [line for line in warploom("blocks", "tensor.train").out.splitlines() if line.startswith("graph ")]
    assert row.split()[:3] == ["graph", "object", "JSON"]
    assert "net.dense" not in warploom("blocks", "tensor.train").out


def test_a_blocks_help_is_plain_text_on_the_terminal(warploom: Warploom) -> None:
    """Help on the terminal contains no backticks; the JSON keeps them."""
    assert "`" in warploom("blocks", "math.saxpy", "--json").json["help"]
    plain = warploom("blocks", "math.saxpy").out
    assert "Scales x by a and adds y." in plain and "`" not in plain
    assert "`" not in warploom("blocks").out


def test_brackets_and_colons_of_help_and_shapes_are_printed(warploom: Warploom) -> None:
    """Brackets in help and shapes, such as [height, width], are printed and not taken for styles."""
    for block in ("filter.mean", "linalg.multiply", "reduce.sum", "kernel.file"):
        info = warploom("blocks", block, "--json").json
        docs = [item["doc"] for item in (*info["ports"], *info["parameters"])]
        told = "".join([info["help"], *docs, *(port["shape"] or "" for port in info["ports"])])
        assert "[" in told
        assert warploom("blocks", block).out.count("[") == told.count("[")


def test_the_help_of_a_block_fills_its_lines(warploom: Warploom) -> None:
    """A line of help ends where the next word has no room, whatever the width of the docstring."""
    title, _, rest = warploom("blocks", "io.load_image").out.partition("\n\n")
    lines = rest.split("\n\n")[0].splitlines()
    assert "Load Image" in title and len(lines) > 3
    for line, after in pairwise(lines):
        assert len(line.rstrip()) + 1 + len(after.split()[0]) > 79


def test_words_that_no_block_has_are_named(warploom: Warploom) -> None:
    """A search without a block names the blocks that compute what a person writes."""
    result = warploom("blocks", "qqq zzz")
    assert (result.status, result.out) == (1, "")
    assert "words must be in a block's title, tags or help, got 'qqq zzz'" in result.err
    assert "kernel.expression" in result.err


def test_an_unknown_block_gets_a_suggestion(warploom: Warploom) -> None:
    """A mistyped block id gets a one-line error with a suggestion."""
    result = warploom("blocks", "math.saxpi")
    assert result.status == 1
    assert "did you mean math.saxpy" in result.err


def test_devices_always_has_the_host(warploom: Warploom) -> None:
    """`warploom devices` lists the host as usable, and the reason for each device that is not."""
    devices = {d["name"]: d for d in warploom("devices", "--json").json["devices"]}
    assert devices["host"]["usable"]
    assert all(d["usable"] or d["reason"] for d in devices.values())


def test_kernel_shows_parameters_and_writes_them(warploom: Warploom, tmp_path: Path) -> None:
    """`warploom kernel` prints a kernel and writes its parameters, with directions derived from the code."""
    source = tmp_path / "scale.cu"
    source.write_text('extern "C" __global__ void scale(float* data, float by) { data[threadIdx.x] *= by; }')
    result = warploom("kernel", source, "--write-json")
    assert result.status == 0, result.err
    assert "scale" in result.out
    manifest = json.loads((tmp_path / "scale.json").read_text())
    assert manifest["name"] == "scale"
    assert [(p["name"], p["direction"]) for p in manifest["parameters"]] == [("data", "inout"), ("by", "in")]


def test_kernel_shows_the_declared_types(warploom: Warploom, tmp_path: Path) -> None:
    """Types are those of the block: whole numbers have the sign of the source, and structs their fields."""
    source = tmp_path / "set.cu"
    source.write_text(
        "struct P { float a; int n; }; struct Q { int* x; int n; };\n"
        'extern "C" __global__ void set(int* out, int by, unsigned char c, P p, Q q) { *out = by + c + p.n + *q.x; }'
    )
    lines = [line.split(maxsplit=3) for line in warploom("kernel", source).out.splitlines()]
    rows = {line[1]: line[2:] for line in lines if len(line) > 2 and line[0].isdecimal()}
    assert rows["out"][1].split() == ["s32", "out"]
    assert (rows["by"][0], rows["c"][0]) == ("s32", "u8")
    assert " ".join(rows["p"]).split() == ["struct", "of", "8", "bytes", "a:", "f32,", "n:", "s32", "in"]
    assert " ".join(rows["q"]).split() == ["struct", "of", "16", "bytes", "in"]


def test_kernel_describes_each_of_several_entry_points_so_that_a_block_can_use_them(
    warploom: Warploom, tmp_path: Path
) -> None:
    """A description written beside a .ptx states the pointers' types of each entry point, so that blocks can use it."""
    source = tmp_path / "pair.cu"
    source.write_text(
        'extern "C" __global__ void up(float* out, int n) { if (threadIdx.x < n) out[threadIdx.x] += 1; }\n'
        'extern "C" __global__ void down(const double* from, float* out) { out[threadIdx.x] = from[threadIdx.x]; }\n'
    )
    (tmp_path / "pair.ptx").write_text(load_image(source, "compute_75").ptx)
    assert warploom("kernel", tmp_path / "pair.ptx", "--write-json").status == 0
    image = load_image(tmp_path / "pair.ptx", "compute_75")
    assert {name: [(p.direction, p.element_type) for p in m.parameters] for name, m in image.manifests.items()} == {
        "up": [("inout", "f32"), ("in", None)],
        "down": [("in", "f64"), ("out", "f32")],
    }
    (reviewed,) = tmp_path.glob("pair.up.json")
    edited(reviewed, generated=False)
    refused = warploom("kernel", tmp_path / "pair.ptx", "--write-json")
    assert refused.status == 1
    assert 'pair.up.json must be marked "generated"' in refused.err


def test_words_find_blocks_as_in_the_editor(warploom: Warploom) -> None:
    """A word that is no id lists what the editor's search finds, best first; tags count."""
    found = [block["id"] for block in warploom("blocks", "blur", "--json").json["blocks"]]
    assert found[0] == "image.gaussian_blur" and len(found) > 1
    assert found == [block.id for block in default_catalogue().search("blur")]
    assert "image.gaussian_blur" in warploom("blocks", "blur").out


def test_choices_are_listed(warploom: Warploom) -> None:
    """The table of parameters has the values of one that is chosen from a list."""
    (mode,) = [p for p in warploom("blocks", "image.resize", "--json").json["parameters"] if p["name"] == "mode"]
    assert len(mode["choices"]) > 1
    words = "".join(warploom("blocks", "image.resize").out.split())
    assert ",".join(mode["choices"]) in words.replace("│", "")
