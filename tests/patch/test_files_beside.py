"""Paths in parameters follow the patch, and its files can be copied beside it."""

from pathlib import Path

import pytest

from warploom import Patch, load_patch, save_patch
from warploom.engine.blocktypes.found_files import files_at, found_file
from warploom.engine.blocktypes.parameters import given
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.patch.beside.collect import collect_files
from warploom.engine.patch.organise.annotations import Preset

KERNEL = """#include "../inc/one.cuh"
extern "C" __global__ void fill(float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = ONE;
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with files in `home`, the folder of the patch, and in `other`."""
    texts = {
        "home/pics/sky.png": "sky",
        "other/sky.png": "another sky",
        "other/k/fill.cu": KERNEL,
        "other/inc/one.cuh": "#define ONE 1.0f\n",
        "other/shots/f_1.png": "1",
        "other/shots/f_2.png": "2",
        "other/shots/notes.txt": "",
        "home/blocks/own.py": "# a block\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def patch_with(**files: str) -> Patch:
    """Return a patch with a block for each file, whose id is the name of the argument."""
    patch = Patch()
    for node, file in files.items():
        patch.add("io.load_image", node_id=node, file=file)
    return patch


def files_in(patch: Patch) -> dict[str, str]:
    return {node: str(patch.value(node, "file")) for node in patch.nodes}


def test_relative_paths_lead_to_the_same_files_from_another_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`save_patch` in another folder rewrites relative paths, and back; full ones and those of files to write stay."""
    monkeypatch.chdir(project / "home")
    full = str(project / "other" / "sky.png")
    patch = patch_with(near="pics/sky.png", far="../other/sky.png", gone="../gone.png", full=full)
    patch.add("io.save_image", node_id="out", file="pics/sky.png")
    before = files_in(patch)
    save_patch(patch, "p.loom")
    assert files_in(patch) == before
    (project / "x" / "y").mkdir(parents=True)
    save_patch(patch, project / "x" / "y" / "p.loom")
    moved = files_in(patch)
    assert moved == before | {"near": "../../home/pics/sky.png", "far": "../../other/sky.png"}
    assert files_in(load_patch(project / "x" / "y" / "p.loom")) == moved
    assert patch.history.names == ["Add Load Image"] * 4 + ["Add Save Image"]
    save_patch(patch, project / "home" / "p.loom")
    assert files_in(patch) == before


def test_undo_finds_files_after_the_patch_has_moved(project: Path) -> None:
    """Undo and redo lead to paths of the new folder: of a parameter that changed, and of a block that was removed."""
    patch = patch_with(near="pics/sky.png")
    save_patch(patch, project / "home" / "p.loom")
    patch.set("near", file="../other/sky.png")
    patch.remove("near")
    save_patch(patch, project / "p.loom")
    found = []
    while patch.undo() is not None:
        found += files_in(patch).values()
    assert found == ["other/sky.png", "home/pics/sky.png"]
    patch.redo()
    assert files_in(patch) == {"near": "home/pics/sky.png"}


def test_presets_follow_too_and_a_failed_save_changes_nothing(project: Path) -> None:
    """Paths in presets are rewritten; when the file can't be written, paths and file stay as they were."""
    patch = patch_with(near="pics/sky.png")
    save_patch(patch, project / "home" / "p.loom")
    patch.annotate(Preset(type="io.load_image", name="sky", parameters={"file": "pics/sky.png"}))
    with pytest.raises(PatchError, match="patch must be writable"):
        save_patch(patch, project / "missing" / "p.loom")
    assert files_in(patch) == {"near": "pics/sky.png"}
    assert patch.path == project / "home" / "p.loom"
    save_patch(patch, project / "other" / "p.loom")
    (preset,) = patch.annotations_of(Preset)
    assert preset.parameters == {"file": "../home/pics/sky.png"} == patch.nodes["near"].parameters


def test_a_missing_file_is_looked_for_beside_the_patch(project: Path) -> None:
    """The longest end of the path that exists there is the file; patterns count as there if a file fits."""
    home = project / "home"
    assert found_file(home, "/nowhere/pics/sky.png") == home / "pics" / "sky.png"
    spec = Patch().catalogue.require("io.load_image").parameters["file"]
    assert given(spec, {"file": "/nowhere/pics/sky.png"}, lambda: home) == str(home / "pics" / "sky.png")
    assert found_file(home, "../../nowhere/sky.png") == home / "../../nowhere/sky.png"
    assert found_file(home / "pics", "/nowhere/pics/sky.png") == home / "pics" / "sky.png"
    assert found_file(project / "other", "/gone/shots/f_##.png") == Path("/gone/shots/f_##.png")
    assert found_file(project / "other", "/gone/shots/f_#.png") == project / "other" / "shots" / "f_#.png"
    assert found_file(home, "../media/still_life.jpg").is_file()
    assert found_file(home, "a" * 5000) == home / ("a" * 5000)


def test_files_of_folders_and_patterns(project: Path) -> None:
    """A folder has its visible files; # stands for a digit, * for any text and ? for a character."""
    shots = project / "other" / "shots"
    (shots / ".hidden.png").write_text("")

    def names(name: str) -> list[str]:
        return [path.name for path in files_at(shots / name)]

    assert names("") == ["f_1.png", "f_2.png", "notes.txt"]
    assert names("*.png") == names("f_#.png") == names("f_?.png") == ["f_1.png", "f_2.png"]
    assert names("f_1.png") == ["f_1.png"]
    assert names("f_##.png") == names("no.png") == names("no/*.png") == []


def test_collected_files_lie_beside_the_patch(project: Path) -> None:
    """A collected patch runs in a folder that is moved, with kernels, headers, pictures and blocks in it."""
    home, new = project / "home", project / "new"
    far = str(project / "other" / "sky.png")
    patch = patch_with(near="pics/sky.png", far=far, again="../other/sky.png", gone="../gone.png")
    patch.add("io.load_images", node_id="shots", files="../other/shots/f_#.png")
    patch.add("io.load_images", node_id="folder", files="../other/shots")
    patch.add("kernel.file", node_id="fill", file="../other/k/fill.cu")
    patch.path = home / "p.loom"
    new.mkdir()
    found = collect_files(patch, new / "p.loom")
    assert found.missing == ["../gone.png"]
    expected = "blocks/own.py inc/one.cuh k/fill.cu pics/sky.png shots/f_1.png shots/f_2.png shots/notes.txt sky.png"
    assert [path.relative_to(new).as_posix() for path in found.copies] == expected.split()
    assert (new / "sky.png").read_text() == "another sky"
    assert collect_files(patch, new / "p.loom").copies == []
    (project / "other").rename(project / "hidden")
    moved = load_patch(new.rename(project / "moved") / "p.loom")
    values = {node: next(iter(moved.nodes[node].parameters.values())) for node in sorted(moved.nodes)}
    assert values == {
        "again": "sky.png",
        "far": "sky.png",
        "fill": "k/fill.cu",
        "folder": "shots",
        "gone": "../gone.png",
        "near": "pics/sky.png",
        "shots": "shots/f_#.png",
    }
    kernel, problem = moved.catalogue.resolve(
        "kernel.file", moved.nodes["fill"].parameters, lambda: moved.folder, trusted=True
    )
    assert problem is None and kernel is not None and [port.name for port in kernel.outputs()] == ["out"]


@pytest.mark.parametrize("wrong", ["", "new", "new/\0.loom"])
def test_nothing_is_copied_to_what_is_no_file(project: Path, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, or a path that no file can have, is refused before any file is copied."""
    (project / "new").mkdir()
    monkeypatch.chdir(project)
    patch = patch_with(far=str(project / "other" / "sky.png"))
    patch.path = project / "home" / "p.loom"
    before = sorted(project.rglob("*")), sorted(project.parent.iterdir())
    with pytest.raises(PatchError, match="patch must be writable"):
        collect_files(patch, wrong)
    assert (sorted(project.rglob("*")), sorted(project.parent.iterdir())) == before


def test_undo_leads_to_the_copies(project: Path) -> None:
    """After files were collected, undo and redo lead to the copies, and to other files as before."""
    patch = patch_with(far=str(project / "other" / "sky.png"), near="pics/sky.png")
    save_patch(patch, project / "home" / "p.loom")
    patch.set("near", file="../other/sky.png")
    patch.remove("far")
    patch.undo()
    (copied,) = collect_files(patch, project / "home" / "p.loom").copies
    name = copied.relative_to(project / "home").as_posix()
    assert files_in(patch) == {"far": name, "near": name}
    patch.redo()
    assert files_in(patch) == {"near": name}
    patch.undo()
    patch.undo()
    assert files_in(patch) == {"far": name, "near": "pics/sky.png"}
    patch.redo()
    assert files_in(patch) == {"far": name, "near": name}


def test_warplooms_own_blocks_are_not_copied(project: Path) -> None:
    """A patch in a clone of Warploom lies beside the library, which is not a folder of blocks of its own."""
    patch = patch_with(near="pics/sky.png")
    patch.path = KERNELS_FOLDER.parent / "p.loom"
    (project / "x").mkdir()
    assert not collect_files(patch, project / "x" / "p.loom").copies
    assert [path.name for path in (project / "x").iterdir()] == ["p.loom"]


def test_other_files_of_the_same_name_stay(project: Path) -> None:
    """A file whose name is taken goes into a folder of its own, and nothing is overwritten."""
    home = project / "home"
    (home / "sky.png").write_text("own sky")
    patch = patch_with(own="sky.png", far="../other/sky.png")
    patch.path = home / "p.loom"
    collect_files(patch, home / "p.loom")
    assert files_in(patch) == {"own": "sky.png", "far": "files_2/sky.png"}
    assert (home / "sky.png").read_text() == "own sky"
    assert (home / "files_2" / "sky.png").read_text() == "another sky"
