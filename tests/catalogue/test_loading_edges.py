"""Folders of blocks with odd files, odd names, files that hang, and folders that replace each other."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.catalogue.block_texts import BlockFolder, block_text
from tests.catalogue.conftest import Gate, HeldRunner
from tests.waiting import until
from warploom import Engine, Patch, forget_blocks, trust_blocks
from warploom.engine.blocktypes.describing import shows_pictures
from warploom.engine.catalogue import catalogue, load_file
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Connected, Connection, Node, NodeAdded, PortRef
from warploom.engine.user_code.limits import TimeLimits


def is_there(type_id: str) -> bool:
    """Return whether a block type is in the catalogue."""
    return default_catalogue().get(type_id) is not None


UNREADABLE = {
    "too deep to be parsed": b"x = " + b"-" * 100_000 + b"1\n",
    "not UTF-8": "# coding: utf-8\nx = 'h\xe4'\n".encode("latin-1"),
    "UTF-16": "x = 1\n".encode("utf-16"),
    "a null byte": b"x = 1\0\n",
    "an unknown coding": b"# coding: nonsense\n",
    "an exception that can't be told": b"class E(Exception):\n    def __str__(self):\n        1 / 0\nraise E\n",
    "a bare syntax error": b"raise SyntaxError\n",
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_of_any_content_keeps_no_other_from_loading(folder: BlockFolder, content: bytes) -> None:
    """A file with odd contents is a problem that names the file, and the other files load."""
    (folder.path / "a.py").write_bytes(content)
    folder.write("b.py", block_text())
    (problem,) = trust_blocks(folder.path)
    assert problem.message.startswith("block file a.py raised ")
    assert problem.file == str(folder.path / "a.py")
    assert is_there("live.scale")


def test_files_of_other_codings_load(folder: BlockFolder) -> None:
    """Files with a byte order mark, or in the encoding that their first line declares, are loaded."""
    (folder.path / "mark.py").write_bytes(b"\xef\xbb\xbf" + block_text("live.mark").encode())
    (folder.path / "latin.py").write_bytes(b"# coding: latin-1\n# h\xe4\n" + block_text("live.latin").encode())
    assert trust_blocks(folder.path) == []
    assert is_there("live.mark")
    assert is_there("live.latin")


def test_links_and_what_is_no_file(folder: BlockFolder, tmp_path: Path) -> None:
    """A link to a file is loaded as a file.

    Cyclic folders, dangling links, pipes and folders called `*.py` are ignored.
    """
    (tmp_path / "outside.py").write_text(block_text())
    (folder.path / "link.py").symlink_to(tmp_path / "outside.py")
    (folder.path / "circle").symlink_to(folder.path)
    (folder.path / "nothing.py").symlink_to("nowhere.py")
    (folder.path / "itself.py").symlink_to("itself.py")
    (folder.path / "folder.py").mkdir()
    os.mkfifo(folder.path / "pipe.py")
    assert trust_blocks(folder.path) == []
    assert is_there("live.scale")
    with Engine(Patch(), "host") as engine:
        engine.watch_files()  # visits every file, and must not wait for a pipe


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    """Blocks are loaded from a folder whose name is not valid text."""
    odd = BlockFolder(tmp_path / os.fsdecode(b"caf\xe9") / "blocks")
    odd.write("scale.py", block_text())
    assert trust_blocks(odd.path) == []
    assert is_there("live.scale")
    forget_blocks(odd.path)
    block_folders.reload([]).result()


def test_names_that_look_like_one_module(folder: BlockFolder) -> None:
    """File names with dots don't collide as modules; a file that a package of its name hides is reported."""
    folder.write("a.b.py", block_text("live.dotted"))
    folder.write("a_b.py", block_text("live.underlined"))
    folder.write("c.py", block_text("live.hidden"))
    folder.write("c/__init__.py", block_text("live.package"))
    (problem,) = trust_blocks(folder.path)
    assert problem.message == (
        f"block file c.py must have a name of its own, got that of {Path('c', '__init__.py')}, which hides it"
    )
    assert [is_there(f"live.{name}") for name in ("dotted", "underlined", "hidden", "package")] == [1, 1, 0, 1]
    (folder.path / "c.py").rename(folder.path / "d.py")
    block_folders.catch_up().result()
    assert block_folders.problems(folder.path) == []
    assert is_there("live.hidden")
    assert is_there("live.package")


def test_files_that_import_each_other(folder: BlockFolder) -> None:
    """Circular imports are loaded if Python can import them, and otherwise are Python's error."""
    folder.write("a.py", f"from . import b\n{block_text('live.a')}VALUE = 1\n")
    folder.write("b.py", f"from . import a\n{block_text('live.b')}")
    assert trust_blocks(folder.path) == []
    assert is_there("live.a")
    assert is_there("live.b")
    folder.write("a.py", f"from .b import OTHER\n{block_text('live.a')}VALUE = 1\n")
    folder.write("b.py", f"from .a import VALUE\n{block_text('live.b')}OTHER = VALUE\n")
    block_folders.catch_up().result()
    assert all("ImportError: cannot import name" in item.message for item in block_folders.problems(folder.path))
    assert is_there("live.a")
    assert is_there("live.b")


def test_a_folder_takes_over_types_that_another_drops(folder: BlockFolder, tmp_path: Path) -> None:
    """The second of two folders with the same ids gets the types once the first is forgotten."""
    other = BlockFolder(tmp_path / "other")
    for place in (folder, other):
        place.write("scale.py", block_text())
    assert trust_blocks(folder.path) == []
    (problem,) = trust_blocks(other.path)
    assert problem.message.startswith("block id live.scale must be unique")
    forget_blocks(folder.path)
    block_folders.reload([]).result()
    assert block_folders.problems() == []
    assert default_catalogue().require("live.scale").source_folder() == other.path
    forget_blocks(other.path)
    block_folders.reload([]).result()
    assert not is_there("live.scale")


@pytest.mark.parametrize("can_be_stopped", [True, False])
def test_files_beside_one_that_hangs_load(
    folder: BlockFolder, gate: Gate, held: HeldRunner, can_be_stopped: bool
) -> None:
    """Other files load although one hangs, and saving another file does not run the hanging one again."""
    runs = folder.path / "runs"
    code = "while True:\n    time.sleep(0)" if can_be_stopped else gate.code
    folder.write("a.py", f"import time\nwith open({str(runs)!r}, 'a') as f:\n    f.write('.')\n{code}\n{block_text()}")
    folder.write("b.py", block_text("live.beside"))
    trust_blocks(folder.path, wait_s=0.0)
    if can_be_stopped:
        until(lambda: runs.exists() and runs.read_text())
    else:
        gate.wait_until_reached()
    held.end_time()
    until(lambda: is_there("live.beside"))
    (problem,) = block_folders.problems(folder.path)
    assert problem.message.startswith("block file a.py must finish within 20 s")
    folder.write("b.py", block_text("live.later"))
    block_folders.catch_up().result()
    assert is_there("live.later")
    assert runs.read_text() == "."
    if not can_be_stopped:
        gate.open()
    until(lambda: all(thread.name != "block-loader" for thread in threading.enumerate()))
    assert not is_there("live.scale")


def test_saves_before_the_watching_began_are_loaded(folder: BlockFolder) -> None:
    """Files that are saved between trusting a folder and watching it are loaded."""
    folder.write("scale.py", block_text())
    trust_blocks(folder.path)
    with Engine(Patch(), "host") as engine:
        folder.write("scale.py", block_text(gain="3.0"))
        folder.write("new.py", block_text("live.new"))
        engine.watch_files()
        block_folders.reload([]).result()
    assert default_catalogue().require("live.scale").parameters["gain"].default == 3.0
    assert is_there("live.new")


def test_an_engine_watches_although_a_folder_is_gone(folder: BlockFolder) -> None:
    """An engine can watch files although a folder of blocks is gone, whose types stay."""
    path = folder.write("scale.py", block_text())
    trust_blocks(folder.path)
    path.unlink()
    (folder.path / "scale.cu").unlink()
    folder.path.rmdir()
    with Engine(Patch(), "host") as engine:
        engine.watch_files()
    assert is_there("live.scale")


@pytest.mark.parametrize("where", ["describe", "__init__"])
def test_a_block_that_ends_the_program_marks_its_node(folder: BlockFolder, where: str) -> None:
    """A call of `exit()` in a block's code is an error of its node, like any exception."""
    if where == "describe":
        text = block_text(describe="if self.node: exit()")
    else:
        text = block_text(extra="def __init__(self, node='', values=None):\n        exit()")
    folder.write("scale.py", text)
    assert trust_blocks(folder.path) == []
    patch = Patch()
    x = patch.add("io.array", data=np.ones(3, np.float32))
    scale = patch.add("live.scale")
    patch.connect(x["out"], scale["x"])
    with Engine(patch, "host") as engine:
        found = engine.step().diagnostics
    assert ["raised SystemExit" in item.message for item in found if item.node == scale.id] == [True]


def test_blocks_where_python_was_started_are_not_the_library(tmp_path: Path) -> None:
    """A folder `blocks` in the current directory is not run, even if it is a package."""
    folder = tmp_path / "blocks"
    folder.mkdir()
    (folder / "__init__.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    root = Path(catalogue.__file__).parents[2]
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(root)!r}]\n"
        "from warploom.engine.catalogue.catalogue import default_catalogue\n"
        "assert default_catalogue().get('math.saxpy')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (folder / "ran").exists()


def test_the_configuration_folder_is_never_forgotten(folder: BlockFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting the configuration folder, as when a patch beside it is closed, keeps its blocks."""
    folder.write("scale.py", block_text())
    monkeypatch.setattr(catalogue, "configured_folder", lambda: folder.path)
    trust_blocks(folder.path)
    forget_blocks(folder.path)
    block_folders.reload([]).result()
    assert is_there("live.scale")


def test_a_type_whose_file_still_runs_is_not_said_to_be_untrusted(folder: BlockFolder, gate: Gate) -> None:
    """Until a file has run, its nodes and `add` report that it is still running; afterwards the nodes run."""
    folder.write("scale.py", f"{gate.code}\n{block_text()}")
    trust_blocks(folder.path, wait_s=0.0)
    patch = Patch()
    patch.path = folder.path.parent / "patch.loom"
    with pytest.raises(
        PatchError, match=r"live.scale must be loaded first, and .*scale.py is still running; wait for it"
    ):
        patch.add("live.scale")
    x = patch.add("io.array", data=np.ones(3, np.float32))
    patch.restore([NodeAdded(Node(id="k", type="live.scale", parameters={"gain": 2.0}))])
    patch.restore([Connected(Connection(PortRef(x.id, "out"), PortRef("k", "x")))])
    with Engine(patch, "host") as engine:
        (reported,) = engine.step().diagnostics
        assert (
            reported.message
            == "block type live.scale must be loaded first, and its file is still running, got scale.py"
        )
        gate.wait_until_reached()
        gate.open()
        until(lambda: not engine.step().diagnostics)
        assert engine.read(PortRef("k", "out")).tolist() == [2, 2, 2]


def test_a_description_that_never_ends_does_not_hold_up_the_files(
    folder: BlockFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose block never ends its description is loaded, and the block counts as one that shows no pictures."""
    monkeypatch.setattr(load_file, "SHORT_CALL", TimeLimits(0.05, 0.05))
    folder.write("scale.py", block_text(describe="while True: pass"))
    assert trust_blocks(folder.path) == []
    found = default_catalogue().get("live.scale")
    assert found is not None and not shows_pictures(found)
