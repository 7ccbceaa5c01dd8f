"""Modules of the library are imported when one of their types is first asked for."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.catalogue.block_texts import BlockFolder, block_text
from warploom.api import f32
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.declarations import Out, port
from warploom.engine.catalogue import catalogue
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.library import Library
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.diagnostics import WarploomError
from warploom.engine.version import installed_version

NAME = "warploom_test_library"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BlockFolder]:
    """A package of blocks that is the library, with a type in a folder and two modules of one name."""
    monkeypatch.syspath_prepend(tmp_path)
    made = BlockFolder(tmp_path / NAME)
    for folder in ("", "one/", "two/"):
        made.write(f"{folder}__init__.py", "")
    made.write("one/soft.py", block_text("one.soft"))
    made.write("one/twice.py", block_text("one.twice"))
    made.write("two/twice.py", block_text("two.twice"))
    made.write("two/broken.py", "1 / 0\n")
    module = import_module(NAME)
    monkeypatch.setattr(block_types, "library", Library(module))
    block_folders.add_package(module)
    yield made
    del block_folders._folders[made.path]
    for name in [name for name in sys.modules if name.startswith(NAME)]:
        del sys.modules[name]


def imported() -> set[str]:
    """Return the modules of the library that are imported, without their packages."""
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith(NAME + ".")} - {"one", "two"}


def test_a_type_is_imported_with_the_modules_of_its_name(package: BlockFolder) -> None:
    """A type that nobody asks for is not imported; of an id that no file has the name of, there is none."""
    assert block_types.get("one.other") is None and not imported()
    found = block_types.get("two.twice")
    assert found is not None and found.source_folder() == package.path / "two"
    assert imported() == {"twice"}
    assert "one.soft" not in block_types.defined()
    package.write("two/broken.py", "")
    assert {"one.soft", "one.twice", "two.twice"} <= block_types.all().keys()


def test_a_module_that_fails_is_named_until_it_is_mended(package: BlockFolder) -> None:
    """Each time that its type is asked for, or all types, the error says what failed; others are there."""
    for _ in range(2):
        with pytest.raises(WarploomError, match=f"block package {NAME} must be importable, got ZeroDivisionError"):
            block_types.get("two.broken")
        with pytest.raises(WarploomError, match="got ZeroDivisionError: division by zero"):
            block_types.all()
    assert block_types.get("one.soft") is not None
    package.write("two/broken.py", block_text("two.broken"))
    assert block_types.get("two.broken") is not None


def test_a_deleted_module_has_no_types(package: BlockFolder) -> None:
    """A file that is gone when its type is asked for defines none."""
    (package.path / "two" / "broken.py").unlink()
    assert block_types.get("two.broken") is None
    assert "one.soft" in block_types.all()


def test_a_saved_module_is_read_when_it_is_needed(package: BlockFolder) -> None:
    """A saved file of which no type was asked for waits; one that was imported runs again."""
    saved = [package.write(f"one/{name}.py", block_text(f"one.{name}", gain="7.0")) for name in ("soft", "twice")]
    assert block_types.get("one.twice") is not None
    again = package.write("one/twice.py", block_text("one.twice", gain="8.0"))
    block_folders.reload([*saved, again]).result()
    assert imported() == {"twice"}
    gains = {i: found.parameters["gain"].default for i in ("one.soft", "one.twice") if (found := block_types.get(i))}
    assert gains == {"one.soft": 7.0, "one.twice": 8.0}


def test_a_library_id_is_taken_before_its_module_is_imported(package: BlockFolder) -> None:
    """A type of another module with the id of a library's is refused, also if nobody has asked for that yet."""
    with pytest.raises(BlockDefinitionError, match=f"must be unique, got it in {NAME}.one.soft and {__name__}"):

        class Soft(Block, id="one.soft"):
            """Takes the id."""

            out: Out[f32] = port(shape="scalar", doc="A number.")


def test_a_type_that_came_before_the_library_cannot_take_an_id_of_it(
    package: BlockFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may define a type before its first patch; the library's type of that id is not hidden by it."""
    monkeypatch.setattr(block_types, "library", None)
    monkeypatch.setattr(catalogue, "LIBRARY", NAME)
    monkeypatch.setattr(catalogue, "installed_packages", list)

    class Soft(Block, id="one.soft"):
        """Takes the id."""

        out: Out[f32] = port(shape="scalar", doc="A number.")

    with pytest.raises(WarploomError, match=f"must be unique, got it in {__name__} and {NAME}.one.soft"):
        catalogue.load_packages.__wrapped__()


def test_packages_in_the_entry_point_group_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages name their blocks in an entry point. Other groups don't count, nor do packages that may not be read."""
    read_bytes = Path.read_bytes
    (closed := tmp_path / "closed-1.0.dist-info").mkdir()
    (closed / "entry_points.txt").touch()

    def read(path: Path) -> bytes:
        if path.parent == closed:
            raise PermissionError(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    monkeypatch.syspath_prepend(tmp_path)
    assert catalogue.installed_packages() == []
    for name, group in (("glow_blocks", catalogue.ENTRY_POINT_GROUP), ("other", "console_scripts")):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{group}]\nblocks = {name}.all\n")
    assert catalogue.installed_packages() == ["glow_blocks.all"]
    assert installed_version("glow_blocks") == "1.0"


def test_what_a_file_imports_of_the_library_is_defined_at_once() -> None:
    """A file that is being loaded stages its own types, not those of library modules that it is the first to import."""
    with block_types.staging("warploom_folder_0.mine") as staged:

        class Ours(Block, id="test_library.ours"):
            """Stands for a type of the library."""

            __module__ = "warploom.blocks.test_library.ours"
            out: Out[f32] = port(shape="scalar", doc="A number.")

        class Mine(Block, id="test_library.mine"):
            """Stands for a type of the file."""

            out: Out[f32] = port(shape="scalar", doc="A number.")

    assert staged == {"test_library.mine": Mine}
    assert block_types.defined()["test_library.ours"] is Ours
    block_types.commit({}, ["test_library.ours"])
