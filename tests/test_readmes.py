"""The READMEs of the folders are true: their tables name every file of the folder, and no file that is gone."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("engine", "app", "blocks", "kernels", "tests", "warploom", "book")
READMES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("README.md"))

_FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"^\|(.+)\|\n\|[-|]+\|\n((?:\|.*\|\n?)+)", re.MULTILINE)
_NAME = re.compile(r"`([\w./-]+\.(?:py|typed|cuh?|c|h|ll))`")
_FOLDER = re.compile(r"`([\w./-]+)/`")
#: Tables whose first column is headed by one of these words list files; the value is the pattern of files they list.
_FILES = {
    "file": "*",
    "files": "*",
    "room": "*",
    "rooms": "*",
    "category": "*",
    "header": "*.cuh",
    "in C": "*.[ch]",
    "in Python": "*.py",
}
#: Sample names by which READMEs refer to a user's own files.
_SAMPLES = {
    "blocks/sample/threshold.py",
    "blocks/sample/metronome.py",
    "blocks/sample/history.py",
    "blocks/my_blur.py",
    "sharpen.cu",
}


def tables(text: str) -> list[tuple[str, str]]:
    """Return the rows of each table of files, with the pattern of the files that the table lists."""
    found = []
    for head, rows in _TABLE.findall(_FENCE.sub("", text)):
        words = [word.strip() for cell in head.split("|") for word in cell.split(" or ")]
        found += [(rows, _FILES[word]) for word in words if word in _FILES][:1]
    return found


def files_of(folder: Path, pattern: str) -> set[str]:
    """Return the files and subfolders that a folder's table must name.

    A README and `__init__.py` need no row. A subfolder is one name that ends in "/".
    """
    names = {path.name for path in folder.glob(pattern) if path.is_file()} - {"README.md", "__init__.py"}
    if pattern == "*":
        names |= {f"{path.name}/" for path in folder.iterdir() if any(path.glob("*.*"))}
    return {name for name in names if not name.startswith(("__pycache__", "."))}


def exists(name: str, folder: Path) -> bool:
    """Return whether a README may name this file.

    The file is in `kernels/`, in or below the README's folder, or the name is a path from a folder above.
    """
    above = (ROOT / "kernels", folder, *folder.parents)
    return any((base / name).exists() for base in above if base.is_relative_to(ROOT)) or any(folder.rglob(name))


READMES_WITH_TABLES = [path for path in READMES if tables(path.read_text())]


def test_readmes_have_tables() -> None:
    """Over 40 READMEs have a table of files, so the search for tables works."""
    assert len(READMES_WITH_TABLES) > 40


@pytest.mark.parametrize("readme", READMES_WITH_TABLES, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_the_table_names_every_file(readme: Path) -> None:
    """A README's table names every file of its folder; a subfolder as `sub/`, or all of its files as `sub/file.py`."""
    folder, found = readme.parent, tables(readme.read_text())
    rows = "".join(rows for rows, _ in found)
    named = {*_NAME.findall(rows), *(f"{name}/" for name in _FOLDER.findall(rows))}
    missing = set()
    for name in set().union(*(files_of(folder, pattern) for _, pattern in found)) - named:
        inside = {name + file for file in files_of(folder / name, "*")} if name.endswith("/") else {name}
        missing |= inside - named if inside & named else {name}
    assert not missing


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_every_file_it_names_exists(readme: Path) -> None:
    """Every file that a README names exists, in its table or in its text."""
    names = set(_NAME.findall(_FENCE.sub("", readme.read_text()))) - _SAMPLES
    assert not {name for name in names if not exists(name, readme.parent)}


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_of_a_page_exists(page: str) -> None:
    """Every path in these pages exists, except templates with NAME, ROOM or category in them."""
    names = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", _FENCE.sub("", (ROOT / page).read_text()))
    assert len(names) > 5
    stand_ins = re.compile(r"NAME|ROOM|category|\.venv|htmlcov")
    assert not {name for name in names if not stand_ins.search(name) and not (ROOT / name).exists()}


def test_the_rooms_of_the_engine_stand_in_the_order_of_imports() -> None:
    """The rows of the engine README's table are the layers of the import contract, from the bottom up."""
    ((rows, _),) = tables((ROOT / "engine/README.md").read_text())
    shown = [set(re.findall(r"`(\w+)(?:/|\.py)`", row.split("|")[1])) for row in rows.splitlines()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each["name"] == "Inside the engine, imports run one way"]
    assert shown == [set(re.findall(r"engine\.(\w+)", layer)) for layer in reversed(layers)]


def test_the_picture_of_the_rooms_is_what_the_code_imports() -> None:
    """`design/rooms.svg` is up to date; tools/make_rooms_picture.py draws it again."""
    names = runpy.run_path(str(ROOT / "tools" / "make_rooms_picture.py"))
    assert (ROOT / "design" / "rooms.svg").read_text() == names["picture"]()
