"""Users' block files run as separate modules, and each is loaded completely or not at all."""

import inspect
import sys
import threading
from pathlib import Path

import pytest

from tests.catalogue.block_texts import BlockFolder, block_text
from tests.catalogue.conftest import Gate, HeldRunner
from tests.waiting import until
from warploom import forget_blocks, trust_blocks
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.block_types import FOLDER_PACKAGE
from warploom.engine.catalogue import catalogue
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import configured_folder, default_catalogue, load_package
from warploom.engine.diagnostics import WarploomError


def save(folder: BlockFolder, name: str, text: str) -> Path:
    """Write a file and wait until it is loaded."""
    path = folder.write(name, text)
    block_folders.reload([path]).result()
    return path


def block(type_id: str = "live.scale") -> type[Block]:
    """Return a block type that must exist."""
    return default_catalogue().require(type_id)


def test_a_trusted_folder_is_in_the_catalogue(folder: BlockFolder) -> None:
    """A trusted folder's files are loaded, in subfolders too, as separate modules that are removed with the folder."""
    before = set(sys.modules)
    one = folder.write("one.py", block_text("live.one"))
    two = folder.write("fx/two.py", block_text("live.two"))
    assert default_catalogue().get("live.one") is None
    assert trust_blocks(folder.path) == []
    assert Path(inspect.getfile(block("live.one"))) == one
    assert block("live.two").source_file() == two
    assert block("live.one").source_folder() == folder.path
    assert block("live.one").__module__ != block("live.two").__module__
    forget_blocks(folder.path)
    block_folders.reload([]).result()
    assert default_catalogue().get("live.one") is None
    assert not [name for name in set(sys.modules) - before if name.startswith(FOLDER_PACKAGE)]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Trusting a missing folder is an error that names it."""
    with pytest.raises(WarploomError, match="folder of blocks must exist, got "):
        trust_blocks(tmp_path / "nowhere")


def test_files_are_run_beside_the_caller(folder: BlockFolder) -> None:
    """Block files run on the loader's own thread, named `warploom-user-code`."""
    folder.write("where.py", "import threading\nNAME = threading.current_thread().name\n" + block_text())
    trust_blocks(folder.path)
    assert sys.modules[block().__module__].NAME == "warploom-user-code"
    until(lambda: all(thread.name != "block-loader" for thread in threading.enumerate()))


def test_saving_a_file_defines_its_types_again(folder: BlockFolder) -> None:
    """A save is noticed even if the file's size and second are unchanged, and no compiled file is written."""
    folder.write("scale.py", block_text(gain="1.0"))
    trust_blocks(folder.path)
    for gain in ("2.0", "3.0"):
        before = block()
        save(folder, "scale.py", block_text(gain=gain))
        assert block().parameters["gain"].default == float(gain)
        assert block() is not before
    assert not (folder.path / "__pycache__").exists()


def test_a_save_that_changes_nothing_runs_nothing(folder: BlockFolder) -> None:
    """A file that is saved with the same text is not run again."""
    folder.write("scale.py", block_text())
    trust_blocks(folder.path)
    before = block()
    save(folder, "scale.py", block_text())
    assert block() is before


def test_types_that_were_removed_from_a_file_disappear(folder: BlockFolder) -> None:
    """A type that is removed from its file, or renamed, leaves the catalogue."""
    folder.write("scale.py", block_text("live.scale"))
    trust_blocks(folder.path)
    reported: list[frozenset[str]] = []
    stop = block_types.subscribe(reported.append)
    save(folder, "scale.py", block_text("live.other"))
    stop()
    assert reported == [{"live.scale", "live.other"}]
    assert default_catalogue().get("live.scale") is None
    assert block("live.other")


BROKEN = [
    ("raise ValueError('no')", "block file scale.py raised ValueError: no (scale.py:20)", 20),
    ("def (:", "block file scale.py raised SyntaxError: invalid syntax (scale.py:20)", 20),
    ("raise SystemExit(3)", "block file scale.py raised SystemExit: 3 (scale.py:20)", 20),
    ("import nowhere", "block file scale.py raised ModuleNotFoundError: No module named 'nowhere' (scale.py:20)", 20),
    ("class A(Block, id='live.a'): 'None.'", "block live.a must have at least one port, got none (scale.py:20)", 20),
    (
        "class A(Block, id='live.scale'):\n    'Again.'\n    x: In[f32] = port(doc='X.')",
        "block id live.scale must be unique, got it twice in ",
        20,
    ),
    (
        "class A(Block, id='math.saxpy'):\n    'Ours.'\n    x: In[f32] = port(doc='X.')",
        "block id math.saxpy must be unique, got it in warploom.blocks.arithmetic.saxpy and ",
        20,
    ),
]


@pytest.mark.parametrize(("code", "message", "line"), BROKEN, ids=[code[:12] for code, _, _ in BROKEN])
def test_a_file_that_fails_changes_nothing(folder: BlockFolder, code: str, message: str, line: int) -> None:
    """A failing file keeps its earlier types; the problem states file and line, and ends once the file is fixed."""
    path = folder.write("scale.py", block_text(gain="1.0"))
    trust_blocks(folder.path)
    before, module = block(), sys.modules[block().__module__]
    text = block_text(gain="2.0")
    save(folder, "scale.py", text + "\n" * (line - 1 - text.count("\n")) + code + "\n")
    assert block() is before
    assert sys.modules[before.__module__] is module
    (problem,) = block_folders.problems(folder.path)
    assert problem.message.startswith(message)
    assert (problem.file, problem.line) == (str(path), line)
    assert default_catalogue().problem("live.scale") == problem
    save(folder, "scale.py", text)
    assert block().parameters["gain"].default == 2.0
    assert block_folders.problems(folder.path) == []
    assert default_catalogue().problem("live.scale") is None


def test_a_file_that_fails_at_first_keeps_no_other_from_loading(folder: BlockFolder) -> None:
    """A file that fails at first is a problem of its ids, and the other files load."""
    folder.write("bad.py", "1 / 0\n" + block_text("live.bad"))
    folder.write("good.py", block_text("live.good"))
    (problem,) = trust_blocks(folder.path)
    assert problem.message == "block file bad.py raised ZeroDivisionError: division by zero (bad.py:1)"
    assert block("live.good")
    assert default_catalogue().get("live.bad") is None
    assert default_catalogue().problem("live.bad") == problem


def test_two_files_with_one_id(folder: BlockFolder) -> None:
    """Of two files with one id, the first defines the type; once the first file drops the id, the second one does."""
    one = folder.write("one.py", block_text("live.same"))
    two = folder.write("two.py", block_text("live.same"))
    (problem,) = trust_blocks(folder.path)
    text = f"block id live.same must be unique, got it in {one} and {two} (two.py:4)"
    assert problem.message == text
    assert block("live.same").source_file() == one
    assert default_catalogue().problem("live.same") is None
    save(folder, "one.py", block_text("live.mine"))
    assert block("live.same").source_file() == two
    assert block_folders.problems(folder.path) == []


def test_a_type_may_move_to_another_file(folder: BlockFolder) -> None:
    """Renaming a file moves its type to the new file without a problem."""
    old = folder.write("old.py", block_text())
    trust_blocks(folder.path)
    old.rename(folder.path / "new.py")
    block_folders.reload([folder.path / "new.py"]).result()
    assert block().source_file() == folder.path / "new.py"
    assert block_folders.problems(folder.path) == []


def test_helper_modules_lie_beside_blocks(folder: BlockFolder) -> None:
    """Saving a helper runs the files that import it, directly or not, and no others."""
    folder.write("numbers.py", "GAIN = 2.0\n")
    folder.write("gains.py", "from .numbers import GAIN as DEFAULT\n")
    folder.write("scale.py", block_text(before="from . import gains\n", gain="gains.DEFAULT"))
    folder.write("alone.py", block_text("live.alone"))
    assert trust_blocks(folder.path) == []
    alone = block("live.alone")
    assert block().parameters["gain"].default == 2.0
    save(folder, "numbers.py", "GAIN = 5.0\n")
    assert block().parameters["gain"].default == 5.0
    assert block("live.alone") is alone


def test_a_helper_that_fails_leaves_what_imports_it(folder: BlockFolder) -> None:
    """If a helper fails, the types that import it stay, and their problem is the helper's; fixed code replaces them."""
    folder.write("gains.py", "DEFAULT = 2.0\n")
    folder.write("scale.py", block_text(before="from .gains import DEFAULT\n", gain="DEFAULT"))
    trust_blocks(folder.path)
    save(folder, "gains.py", "DEFAULT = 1 / 0\n")
    assert block().parameters["gain"].default == 2.0
    problem = default_catalogue().problem("live.scale")
    assert problem is not None
    assert problem.message == "block file gains.py raised ZeroDivisionError: division by zero (gains.py:1)"
    save(folder, "gains.py", "DEFAULT = 3.0\n")
    assert block().parameters["gain"].default == 3.0
    assert default_catalogue().problem("live.scale") is None


def test_a_helper_without_its_dot_is_explained(folder: BlockFolder) -> None:
    """The remedy for importing a helper without a leading dot is to write the dot."""
    folder.write("gains.py", "DEFAULT = 2.0\n")
    folder.write("scale.py", block_text(before="from gains import DEFAULT\n"))
    (problem,) = trust_blocks(folder.path)
    assert problem.remedy == "it lies beside the block, so write `from .gains import ...`, with the dot"


def test_an_import_of_an_endless_name_is_an_error_of_its_file(folder: BlockFolder) -> None:
    """Importing a module with an overlong name is an ordinary error of the file."""
    folder.write("scale.py", block_text(before=f"import {'x' * 300}\n"))
    (problem,) = trust_blocks(folder.path)
    assert "ModuleNotFoundError" in problem.message


def test_files_of_one_name_in_two_folders(folder: BlockFolder, tmp_path: Path) -> None:
    """Two folders may have files of one name; each block uses the helper of its own folder."""
    other = BlockFolder(tmp_path / "other")
    for place, gain in ((folder, 1.0), (other, 2.0)):
        place.write("gains.py", f"DEFAULT = {gain}\n")
        text = block_text(f"live.{place.path.name}", before="from .gains import DEFAULT\n", gain="DEFAULT")
        place.write("scale.py", text)
        assert trust_blocks(place.path) == []
    assert block("live.blocks").parameters["gain"].default == 1.0
    assert block("live.other").parameters["gain"].default == 2.0
    forget_blocks(other.path)
    block_folders.reload([]).result()
    assert default_catalogue().get("live.other") is None


@pytest.mark.parametrize(
    "code",
    ["while True:\n    pass\n", "while True:\n    try:\n        1 / 0\n    except Exception:\n        pass\n"],
    ids=["loop", "catches"],
)
def test_a_file_that_never_ends_is_stopped(folder: BlockFolder, held: HeldRunner, code: str) -> None:
    """A file that never ends is stopped: its types stay, and other files load afterwards."""
    folder.write("scale.py", block_text())
    trust_blocks(folder.path)
    before = block()
    begun = folder.path / "begun"
    done = block_folders.reload([folder.write("scale.py", f"open({str(begun)!r}, 'w').close()\n{code}")])
    until(begun.exists)
    held.end_time()
    done.result()
    assert block() is before
    (problem,) = block_folders.problems(folder.path)
    assert problem.message.startswith("block file scale.py must finish within 20 s, got stopped in the middle (scale")
    assert problem.line and problem.line > 1
    save(folder, "other.py", block_text("live.other"))
    assert block("live.other")


def test_a_file_that_cannot_be_stopped_is_left_behind(folder: BlockFolder, gate: Gate, held: HeldRunner) -> None:
    """A file that waits outside Python is given up: its later definitions are ignored, and other files load."""
    folder.write("scale.py", block_text())
    trust_blocks(folder.path)
    before = block()
    path = folder.write("scale.py", f"{gate.code}\n{block_text(gain='7.0')}")
    stuck = block_folders.reload([path])
    gate.wait_until_reached()
    held.end_time()
    stuck.result()
    (problem,) = block_folders.problems(folder.path)
    assert problem.message.startswith("block file scale.py must finish within 20 s")
    save(folder, "other.py", block_text("live.other"))
    assert block("live.other")
    running = threading.active_count()
    gate.open()
    until(lambda: threading.active_count() < running)
    assert block() is before


COMPOSITE = """from warploom.api import Composite, CompositeBuilder


class Twice(Composite, id="live.twice"):
    \"\"\"Scale two times.\"\"\"

    def compose(self, build: CompositeBuilder) -> None:
        one, two = build.add_child("live.scale"), build.add_child("live.scale")
        build.connect_children(one["out"], two["x"])
        build.expose_input("x", one["x"])
        build.expose_output("out", two["out"])
        build.expose_parameter("gain", one)
"""


def test_a_composite_follows_its_children(folder: BlockFolder) -> None:
    """A composite follows its children; if it can't be built any more, its last version stays, with a problem."""
    folder.write("scale.py", block_text(gain="1.0, max=4"))
    folder.write("twice.py", COMPOSITE)
    assert trust_blocks(folder.path) == []
    reported: list[frozenset[str]] = []
    stop = block_types.subscribe(reported.append)
    save(folder, "scale.py", block_text(gain="2.0, max=8"))
    assert reported == [{"live.scale", "live.twice"}]
    gain = block("live.twice").parameters["gain"]
    assert (gain.default, gain.maximum) == (2.0, 8)
    save(folder, "scale.py", block_text(out="result"))
    assert list(block("live.twice").ports) == ["x", "out"]
    problem = default_catalogue().problem("live.twice")
    assert problem is not None
    assert "port of scale must be one of x, result, got 'out'" in problem.message
    save(folder, "scale.py", block_text())
    assert default_catalogue().problem("live.twice") is None
    stop()


def test_installed_packages_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving a module of an installed package replaces its types, and the module keeps its name."""
    monkeypatch.syspath_prepend(tmp_path)
    package = BlockFolder(tmp_path / "warploom_test_package")
    package.write("__init__.py", "")
    package.write("scale.py", block_text())
    load_package("warploom_test_package")
    try:
        before = block()
        save(package, "scale.py", block_text(gain="9.0"))
        assert block() is not before
        assert block().parameters["gain"].default == 9.0
        assert block().__module__ == "warploom_test_package.scale"
        assert sys.modules["warploom_test_package.scale"].Scale is block()
        forget_blocks(package.path)  # only users' folders can be forgotten
        assert block()
    finally:
        del block_folders._folders[package.path]
        del sys.modules["warploom_test_package"], sys.modules["warploom_test_package.scale"]


def test_the_library_is_followed() -> None:
    """The library's own folder is watched, for its developers."""
    mix = block("image.mix").source_file()
    assert mix is not None
    assert mix.parents[1] in block_folders.paths


def test_the_configuration_folder_needs_no_trust(folder: BlockFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration folder's blocks are loaded without trust, and may use the catalogue while they load."""
    assert configured_folder().parts[-2:] == ("warploom", "blocks")
    folder.write("scale.py", "from warploom import Patch\nPatch()\n" + block_text())
    monkeypatch.setattr(catalogue, "configured_folder", lambda: folder.path)
    monkeypatch.setattr(catalogue, "WAIT_S", 1000)  # a file that waited for its own loading would take this long
    assert default_catalogue.__wrapped__().get("live.scale") is not None


def test_a_listener_that_fails_keeps_nothing_from_the_others(
    folder: BlockFolder, caplog: pytest.LogCaptureFixture
) -> None:
    """A listener that raises is logged, and the other listeners are called."""
    reported: list[frozenset[str]] = []

    def fail(_: frozenset[str]) -> None:
        raise ValueError("no")

    stops = [block_types.subscribe(fail), block_types.subscribe(reported.append)]
    folder.write("scale.py", block_text())
    trust_blocks(folder.path)
    for stop in stops:
        stop()
    assert reported == [{"live.scale"}]
    assert "live.scale could not be followed" in caplog.text


def test_listeners_hear_of_a_class_that_is_defined_again() -> None:
    """Listeners are notified of a class that is defined again, as by running a notebook's cell twice."""
    reported: list[frozenset[str]] = []
    stop = block_types.subscribe(reported.append)
    scope: dict[str, object] = {"__name__": __name__}
    try:
        for _ in range(2):
            exec(compile(block_text("live.cell"), "cell", "exec", dont_inherit=True), scope)
    finally:
        stop()
    assert reported == [{"live.cell"}]
