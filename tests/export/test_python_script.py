"""Scripts written by `warploom export --python` build the same patches."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom import Patch, load_patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.export.python_script import python_script
from warploom.engine.patch.files import EXAMPLES_FOLDER, dump_patch, parse_patch
from warploom.engine.patch.organise.annotations import Bookmark, Dots, Frame, Preset

EXAMPLES = sorted(EXAMPLES_FOLDER.glob("*.loom"))


def built(patch: Patch, folder: Path) -> Patch:
    """Return the patch that a script builds."""
    script = folder / "script.py"
    script.write_text(python_script(patch, script))
    made = runpy.run_path(str(script))["build"]()
    assert isinstance(made, Patch)
    return made


def require_same(patch: Patch, made: Patch) -> None:
    """Assert that two patches have the same file, where 1 and 1.0 are the same number."""
    assert json.loads(dump_patch(made)) == json.loads(dump_patch(patch))


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of all examples."""
    folder = tmp_path_factory.mktemp("scripts")
    for example in EXAMPLES:
        path = folder / f"{example.stem}.py"
        path.write_text(python_script(load_patch(example), path))
    return folder


@pytest.mark.parametrize("name", [example.stem for example in EXAMPLES])
def test_scripts_build_the_examples(scripts: Path, name: str) -> None:
    """Each example's script builds a patch with the example's file and folder, not more trusted than it was."""
    patch = load_patch(EXAMPLES_FOLDER / f"{name}.loom")
    made = runpy.run_path(str(scripts / f"{name}.py"))["build"]()
    require_same(patch, made)
    assert (made.folder, made.trusted) == (patch.folder, patch.trusted)


def test_scripts_are_formatted(scripts: Path, tmp_path: Path) -> None:
    """Ruff would leave scripts as they are, those with long and odd values among them."""
    pytest.importorskip("ruff")
    patch = Patch()
    patch.extra = {"title": "it's", "description": 'a "quoted" \\ text\n' * 9, "odd": [1e20, -1e-7, [], {}, [None]]}
    for size in (1, 9, 65):
        patch.add("io.array", data=np.arange(size, dtype=np.float32) / 3, title="é" * 60)
    path = scripts / "odd.py"
    path.write_text(python_script(patch, path))
    found = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--diff", str(scripts)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    "data",
    [
        np.array([0.1, -0.0, 1e-45, 3.4e38], np.float32),
        np.array([np.nan, np.inf], np.float32),
        np.arange(-3, 3, dtype=np.int32).reshape(2, 3),
        np.arange(65, dtype=np.float32),
        np.ones((5, 13), np.float32) / 3,
    ],
    ids=lambda data: f"{data.dtype}{list(data.shape)}",
)
def test_arrays_keep_their_bits(data: np.ndarray[Any, Any], tmp_path: Path) -> None:
    """An array has the same bits, element type and shape in the script's patch."""
    patch = Patch()
    node = patch.add("io.array", data=data)
    made = built(patch, tmp_path).nodes[node.id].parameters["data"]
    kept = patch.nodes[node.id].parameters["data"]
    assert (made.dtype, made.shape, made.tobytes()) == (kept.dtype, kept.shape, kept.tobytes())


def test_scripts_build_what_lies_beside_blocks(tmp_path: Path) -> None:
    """Groups in groups, keys, checks, modes, notes and ids that are no Python names are in the script's patch."""
    patch = Patch()
    array = patch.add("io.array", position=(3, 4))
    one, two = patch.add("math.saxpy", node_id="class"), patch.add("math.saxpy", title='it\'s "x"\n', a=3)
    slider, lfo = patch.add("value.slider", node_id="2 + 2"), patch.add("value.lfo", node_id="print")
    for source, target in ((array, one["x"]), (array, one["y"]), (one, two["x"]), (array, two["y"])):
        patch.connect(source["out"], target)
    patch.animate(one, "a", [(0, 1.0), (2, 3.0, "hold"), (3, 1.0, "smooth", None, 2.0)])
    inner = patch.group([one, two], "Two")
    patch.connect(lfo["value"], patch.promote(two["a"], "gain"))
    outer = patch.group([inner, slider])
    patch.rename_port(inner["gain"], "amount")
    patch.rename(patch.end_of(outer), "In")
    patch.set_colour([one, inner, patch.end_of(outer)], "pink")
    patch.set_comment([two, outer], 'so "it" is\nmade')
    patch.set(inner, function="saxpy twice")
    patch.set_mode([one, outer], "disabled")
    patch.set_sentinel(array["out"], minimum=0, action="freeze")
    patch.annotate(Frame(id="f", title="F", group=inner.id, position=(-9, 1)))
    patch.annotate(Bookmark(number=1, group=outer.id, zoom=0.5))
    patch.annotate(Dots(node=one.id, port="x", points=((1, 2), (3, 4))))
    patch.annotate(Preset(type="io.array", name="p", parameters={"data": np.ones(3, np.float32)}))
    patch.set_timeline(length=10, rate=24)
    require_same(patch, built(patch, tmp_path))


def test_seeds_stay_unset(tmp_path: Path) -> None:
    """Nodes of a type whose seed differs in each new node keep the seed of the type if they had it."""
    patch = Patch()
    for _ in range(2):
        node = patch.add("random.uniform")
        if "seed" in patch.nodes[node.id].parameters:
            patch.reset(node, "seed")
    require_same(patch, built(patch, tmp_path))


def test_a_colour_of_a_newer_version_is_left_out(tmp_path: Path) -> None:
    """It is no reason to refuse a script, which could not set it."""
    node = {"id": "a", "type": "math.saxpy", "colour": "ultraviolet", "comment": "Kept"}
    patch = parse_patch(json.dumps({"schema": 1, "nodes": [node], "connections": []}))
    made = built(patch, tmp_path).nodes["a"]
    assert (made.colour, made.comment) == ("", "Kept")


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"type": "no.such"}, "node a can't be written as Python: block type must be in the catalogue"),
        ({"type": "math.saxpy", "newer": 1}, "node a must be made by calls of Patch to become a script, got newer 1"),
        ({"type": "math.saxpy", "parameters": {"a": "x"}}, "node a can't be written as Python: "),
    ],
)
def test_what_calls_cannot_make_is_refused(node: dict[str, Any], message: str, tmp_path: Path) -> None:
    """An unknown block type, a field of a newer format and a value that the type refuses are refused by node."""
    document = {"schema": 1, "nodes": [{"id": "a", "parameters": {}, **node}], "connections": []}
    with pytest.raises(PatchError, match=message):
        python_script(parse_patch(json.dumps(document)), tmp_path / "script.py")


def test_instances_of_a_function_are_refused(tmp_path: Path) -> None:
    """Several groups of one function are refused by name, since their blocks are tied by more than calls say."""
    patch = Patch()
    groups = [patch.group([patch.add("math.saxpy")]) for _ in range(2)]
    for group in groups:
        patch.set(group, function="f")
    with pytest.raises(PatchError, match=r"node group_2 .* function f must have one group, got group, group_2"):
        python_script(patch, tmp_path / "script.py")


def test_a_script_tells_what_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device that is not there, or a run without a frame, is one line; outputs that are not saved are named."""
    patch = Patch()
    patch.add("io.array", data=np.ones(3, np.float32))
    path = tmp_path / "script.py"
    path.write_text(python_script(patch, path))
    main = runpy.run_path(str(path))["main"]

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["script.py", *words])
        return main(), *capsys.readouterr()

    assert run("--device", "host", "--frames", "1") == (0, "array.out: not saved, without --out\n", "")
    status, out, err = run("--device", "host", "--frames", "0")
    assert (status, out, err) == (1, "", "error: outputs must come from a running patch; step it first\n")
    status, _, err = run("--device", "toaster")
    assert status == 1 and err.startswith("error: device") and err.count("\n") == 1
