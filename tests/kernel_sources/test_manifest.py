"""Every field of a manifest is read, and errors name the field and the mistake."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache
from warploom.engine.kernel_sources.element_types.names import named_element
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.manifest import KernelManifest, ManifestParameter, read_manifest, write_manifest

PTX = """.version 7.8
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 data, .param .f32 value)
{
    ret;
}
"""
FULL: dict[str, Any] = {
    "name": "fill",
    "version": "1.2",
    "category": "Memory",
    "summary": "Fill with a value.",
    "tags": ["memory"],
    "parameters": [
        {
            "index": 0,
            "name": "target",
            "ptx_type": "u64",
            "is_pointer": True,
            "alignment": 8,
            "element_type": "f32",
            "direction": "out",
            "semantic": "buffer",
            "shape_rule": "same(N)",
        },
        {"index": 1, "name": "value", "ptx_type": "f32"},
    ],
    "max_threads": 256,
    "req_threads": [256, 1, 1],
    "block_size": 256,
    "shared_memory_static": 0,
    "uses_dynamic_shared": False,
    "generated": True,
    "needs_review": True,
    "ptx_version": "7.8",
    "target_sm": "sm_75",
}


def load(folder: Path, manifest: str) -> KernelManifest | None:
    """Load fill.ptx with this manifest beside it."""
    (folder / "fill.ptx").write_text(PTX)
    (folder / "fill.json").write_text(manifest)
    return load_image(folder / "fill.ptx", "compute_75", CompileCache(folder / "cache")).manifests.get("fill")


def test_every_field_is_read(tmp_path: Path) -> None:
    """The manifest of an image has all values of the JSON."""
    manifest = load(tmp_path, json.dumps(FULL))
    assert manifest is not None
    assert {name: getattr(manifest, name) for name in FULL if name != "parameters"} == {
        name: value for name, value in FULL.items() if name != "parameters"
    }
    first = manifest.parameters[0]
    assert {name: getattr(first, name) for name in FULL["parameters"][0]} == FULL["parameters"][0]
    assert manifest.parameters[1].direction == "unknown"


#: The same facts in the words of other programs.
OTHERS: list[dict[str, Any]] = [
    {
        "entryPoint": "fill",
        "description": "Fill with a value.",
        "blockSize": 128,
        "sharedMemoryBytes": 1024,
        "parameters": [
            {"name": "target", "type": "float*", "direction": "out", "isPointer": True},
            {"name": "value", "type": "float", "isPointer": False},
        ],
    },
    {
        "EntryPoint": "fill",
        "Summary": "Fill with a value.",
        "BlockSize": {"X": 128},
        "SharedMemoryBytes": 1024,
        "Parameters": [{"Name": "target", "Type": "float *", "Direction": "Out"}, {"Name": "value", "Type": "float"}],
    },
    {
        "name": "fill",
        "summary": "Fill with a value.",
        "max_threads": [32, 4, 1],
        "block_size": [128, 1, 1],
        "shared_memory_dynamic": 1024,
        "parameters": [
            {
                "index": 0,
                "name": "target",
                "ptx_type": ".u64",
                "is_pointer": True,
                "alignment": 4,
                "element_type": "f32",
                "direction": "out",
            },
            {"index": 1, "name": "value", "ptx_type": ".f32"},
        ],
    },
]


@pytest.mark.parametrize("words", OTHERS, ids=["camel case", "pascal case", "snake case"])
def test_the_words_of_other_programs_mean_the_same(tmp_path: Path, words: dict[str, Any]) -> None:
    """Names, directions, element types and sizes are those of the manifest in our words."""
    manifest = load(tmp_path, json.dumps(words))
    assert manifest is not None
    assert (manifest.name, manifest.summary, manifest.shared_memory_dynamic) == ("fill", "Fill with a value.", 1024)
    assert manifest.block_size in (128, [128, 1, 1])
    assert manifest.max_threads in (None, 128)
    target, value = manifest.parameters
    assert (target.name, target.index, target.is_pointer, target.direction) == ("target", 0, True, "out")
    assert (value.name, value.index, value.element_type) == ("value", 1, None) and not value.is_pointer
    element = named_element(target.element_type or "")
    assert element is not None and element.size_bytes == 4


def test_wrong_values_in_other_words_are_errors(tmp_path: Path) -> None:
    """A value of the wrong type is refused with the field in our words, and a contradiction of the PTX too."""
    for change, message in (
        ({"blockSize": "wide"}, "Expected `int | array | null`, got `str` - at `$.block_size`"),
        ({"parameters": [3]}, "Expected `object`, got `int` - at `$.parameters[0]`"),
        ({"parameters": OTHERS[0]["parameters"][:1]}, "parameters"),
        ({"entryPoint": "other"}, "other"),
    ):
        with pytest.raises(KernelError, match=re.escape(message)[1:]):
            load(tmp_path, json.dumps(OTHERS[0] | change))


def test_only_name_and_parameters_are_needed_and_unknown_fields_do_no_harm(tmp_path: Path) -> None:
    """A manifest needs only a name and parameters, and unknown fields are ignored."""
    parameters = [{"index": 0, "name": "a"}, {"index": 1, "name": "b", "novelty": 3}]
    manifest = load(tmp_path, json.dumps({"name": "fill", "parameters": parameters, "later": {"x": 1}}))
    assert manifest == KernelManifest(
        name="fill", parameters=[ManifestParameter(index=0, name="a"), ManifestParameter(index=1, name="b")]
    )


def test_broken_json_says_its_line(tmp_path: Path) -> None:
    """The error for broken JSON has the line of the mistake."""
    with pytest.raises(KernelError, match=r"fill\.json must be valid JSON, got a mistake in line 3") as caught:
        load(tmp_path, '{\n  "name": "fill"\n  "parameters": []\n}')
    assert caught.value.file == str(tmp_path / "fill.json")
    assert caught.value.line == 3


def test_cut_off_json_is_one_clear_error(tmp_path: Path) -> None:
    """JSON that ends early, such as a half-written file, is reported in one message."""
    with pytest.raises(KernelError, match=r"fill\.json must be valid JSON"):
        load(tmp_path, '{"name": "fi')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, r"expected `str`, got `int` - at `\$\.name`"),
        (
            {"parameters": [{"index": 0, "name": "a", "direction": "sideways"}]},
            r"parameters\[0\]\.direction|\.direction",
        ),
        ({"name": "spill"}, r"name in fill\.json must be an entry point of the PTX \(fill\), got spill"),
        ({"parameters": FULL["parameters"][:1]}, r"must have the indices 0 to 1 that fill takes, got \[0\]"),
        (
            {"parameters": [FULL["parameters"][0] | {"alignment": 3}, FULL["parameters"][1]]},
            "alignment of target must be a power of two, got 3",
        ),
        ({"parameters": [FULL["parameters"][0]] * 2}, r"must have the indices 0 to 1 that fill takes, got \[0, 0\]"),
    ],
)
def test_a_wrong_value_says_what_must_hold(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """A wrong value is refused with the field, the rule and the value."""
    with pytest.raises(KernelError, match=message):
        load(tmp_path, json.dumps(FULL | change))


SCALE = """.version 7.8
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 source, .param .u64 target, .param .f32 factor)
.maxntid 128, 1, 1
{
    .shared .align 4 .b8 tile[256];
    .reg .b32 %r<2>;
    .reg .f64 %d<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [source];
    ld.param.u64 %rd2, [target];
    ld.global.f64 %d1, [%rd1];
    add.f64 %d2, %d1, %d1;
    st.global.f64 [%rd2], %d2;
    st.shared.f64 [tile], %d2;
    ret;
}
"""
AGREES: dict[str, Any] = {
    "name": "scale",
    "parameters": [
        {"index": 2, "name": "factor", "ptx_type": "b32", "is_pointer": False, "direction": "in"},
        {"index": 1, "name": "target", "ptx_type": "b64", "element_type": "double2", "direction": "inout"},
        {"index": 0, "name": "source", "ptx_type": "u64", "is_pointer": True, "alignment": 8, "element_type": "f64"},
    ],
    "max_threads": 32,
    "req_threads": [32, 1, 1],
    "shared_memory_static": 256,
    "ptx_version": 7.8,
    "target_sm": 75,
}


def load_scale(folder: Path, manifest: dict[str, Any]) -> KernelManifest:
    """Load the kernel above with a manifest."""
    (folder / "scale.ptx").write_text(SCALE)
    (folder / "scale.json").write_text(json.dumps(manifest))
    return load_image(folder / "scale.ptx", "compute_75").manifests["scale"]


def test_a_manifest_may_say_more_than_the_ptx(tmp_path: Path) -> None:
    """A manifest may add a lower limit, a larger element, another use of the memory, or a type for untyped bits."""
    assert load_scale(tmp_path, AGREES).max_threads == 32


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_threads", 129, "max_threads must be at most 128, got 129"),
        ("shared_memory_static", 128, "shared_memory_static must be 256, got 128"),
        ("uses_dynamic_shared", True, "uses_dynamic_shared must be False, got True"),
        ("ptx_version", "8.0", "ptx_version must be 7.8, got 8.0"),
        ("target_sm", "sm_90", "target_sm must be sm_75, got sm_90"),
        (2, {"ptx_type": "u32"}, "ptx_type of factor must be f32, got u32"),
        (2, {"ptx_type": "b64"}, "ptx_type of factor must be f32, got b64"),
        (2, {"is_pointer": True}, "is_pointer of factor must be False, got True"),
        (0, {"is_pointer": False}, "is_pointer of source must be True, got False"),
        (2, {"alignment": 8}, "alignment of factor must be 4, got 8"),
        (0, {"element_type": "f32"}, "element_type of source must be f64, got f32"),
        (0, {"direction": "out"}, "direction of source must be in, got out"),
        (1, {"direction": "in"}, "direction of target must be out, got in"),
    ],
)
def test_a_manifest_that_contradicts_the_ptx_is_an_error(
    tmp_path: Path, field: str | int, value: Any, message: str
) -> None:
    """A manifest that contradicts the PTX is refused with the file, the field, and both values."""
    wrong = json.loads(json.dumps(AGREES))
    if isinstance(field, str):
        wrong[field] = value
    else:
        next(item for item in wrong["parameters"] if item["index"] == field).update(value)
    with pytest.raises(KernelError, match=re.escape(f"scale.json must fit the PTX of scale: {message}")) as caught:
        load_scale(tmp_path, wrong)
    assert caught.value.file == str(tmp_path / "scale.json")


def test_a_written_manifest_reads_back(tmp_path: Path) -> None:
    """A written manifest reads back equal, and its file leaves out unset fields."""
    manifest = KernelManifest(name="k", parameters=[ManifestParameter(index=0, name="a", direction="inout")])
    write_manifest(tmp_path / "k.json", manifest)
    assert read_manifest(tmp_path / "k.json") == manifest
    assert json.loads((tmp_path / "k.json").read_text()) == {
        "name": "k",
        "parameters": [{"index": 0, "name": "a", "direction": "inout"}],
    }


def test_each_of_several_entry_points_has_a_manifest(tmp_path: Path) -> None:
    """NAME.ENTRY.json comes before NAME.json, all of them are watched, and each must fit the PTX."""
    two = tmp_path / "two.ptx"
    two.write_text(PTX + PTX.partition(".address_size 64\n")[2].replace("fill", "clear"))
    names = (("two", "fill", "general"), ("two.fill", "fill", "target"), ("two.clear", "clear", "what"))
    for path, entry, name in names:
        parameters = [ManifestParameter(index=0, name=name), ManifestParameter(index=1, name="value")]
        write_manifest(tmp_path / f"{path}.json", KernelManifest(name=entry, parameters=parameters))
    image = load_image(two, "compute_75", CompileCache(tmp_path / "cache"))
    assert {entry: found.parameters[0].name for entry, found in image.manifests.items()} == {
        "fill": "target",
        "clear": "what",
    }
    assert {two, *(tmp_path / f"two{name}.json" for name in ("", ".fill", ".clear"))} <= image.reading.files
    (tmp_path / "two.clear.json").write_text('{"name": "clear", "parameters": []}')
    with pytest.raises(KernelError, match=r"parameters in two\.clear\.json must have the indices 0 to 1"):
        load_image(two, "compute_75", CompileCache(tmp_path / "cache"))


def test_a_manifest_that_a_person_wrote_is_not_overwritten(tmp_path: Path) -> None:
    """Overwriting a manifest that a person wrote is refused, and the file stays unchanged."""
    made = KernelManifest(name="fill", parameters=[], generated=True)
    path = tmp_path / "fill.json"
    write_manifest(path, made)
    write_manifest(path, made)
    for text in ('{"name": "fill", "parameters": [], "generated": false}', '{"colour": "red"}', "{"):
        path.write_text(text)
        with pytest.raises(KernelError, match=r"fill\.json must "):
            write_manifest(path, made)
        assert path.read_text() == text
