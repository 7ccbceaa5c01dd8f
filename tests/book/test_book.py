"""The book builds without a warning, and what its pages and the README show holds."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from warploom.app.cli.command_line import cli
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import default_catalogue

ROOT = Path(__file__).parents[2]
#: The book's own README, and pages that `book/generate.py` writes.
_LEFT_OUT = {"README.md", "blocks", "command_line", "examples.md"}
_PATHS = [path.relative_to(ROOT / "book") for path in sorted((ROOT / "book").rglob("*.md"))]
PAGES = [ROOT / "README.md", *(ROOT / "book" / path for path in _PATHS if not _LEFT_OUT & set(path.parts))]
_FENCE = re.compile(
    r"^(```+|:::+)(\{code-block\} )?(\w+|c\+\+)\n((?::\w+:[^\n]*\n)*)(.*?)^\1$", re.DOTALL | re.MULTILINE
)
_names = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def fences(page: Path) -> list[tuple[bool, str, str, str]]:
    """Return the code blocks of a page: whether it is a directive, its language, its caption and its text."""
    found = []
    for _, directive, language, options, text in _FENCE.findall(page.read_text("utf-8")):
        caption = re.search(r":caption: (.*)", options)
        found.append((bool(directive), language, caption[1].strip("` ") if caption else "", text))
    return found


def test_every_block_has_a_page_and_no_page_has_a_warning(tmp_path: Path) -> None:
    """Sphinx reads all pages, those of each block among them, and finds every page and place that they link to."""
    pages = ROOT / "book" / "reference" / "blocks"
    options = ["-W", "--keep-going", "-q", "-E", "-D", "make_examples=0", "-b", "dummy"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, ROOT / "book", tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    written = {path.stem for path in pages.glob("*.md")} - {"index"}
    assert written == {
        block.id for block in default_catalogue().all() if block.__module__.startswith("warploom.blocks.")
    }


@pytest.mark.parametrize("name", ["math.saxpy", "kernel.file"])
def test_the_script_of_a_block_page_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script on the page of a block runs a frame of its patch without an error, from the repository's folder."""
    script = runpy.run_path(str(ROOT / "book" / "generate.py"))["example_script"](default_catalogue().require(name))
    names: dict[str, Any] = {}
    monkeypatch.chdir(ROOT)
    exec(script.replace("engine.step()", "report = engine.step()"), names)
    assert names["report"].diagnostics == ()


@_names
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page runs in an empty folder beside the files that the page shows, and its assertions hold."""
    names: dict[str, object] = {"__name__": "__main__"}
    monkeypatch.chdir(tmp_path)
    try:
        for is_directive, language, caption, text in fences(page):
            if "." in caption and is_directive:
                Path(caption).parent.mkdir(parents=True, exist_ok=True)
                Path(caption).write_text(text, "utf-8")
            elif language == "python" and not is_directive:
                exec(compile(text, str(page), "exec"), names)
    finally:
        block_folders.remove(tmp_path / "blocks")
        block_folders.reload([]).result()


@_names
def test_the_commands_of_a_page_exist(page: Path) -> None:
    """Each command of a page is one of the program, and its options are too."""
    for _, language, _, text in fences(page):
        for line in re.sub(r"\\\n", " ", text).splitlines() if language == "sh" else []:
            program, *words = shlex.split(line, comments=True) or [""]
            if program == "warploom" and words and "--help" not in words:
                name = words.pop(0) if words[0] in cli.commands else "edit"
                try:
                    cli.commands[name].make_context(name, words)
                except click.ClickException as problem:
                    pytest.fail(f"{line}: {problem.format_message()}")


@_names
def test_the_paths_of_a_page_exist(page: Path) -> None:
    """Every path of the repository that a page names exists."""
    named = re.findall(
        r"`((?:resources|kernels|blocks|app|engine|tests|tools|design)/[\w/.]*)`", page.read_text("utf-8")
    )
    assert not {path for path in named if not (ROOT / path).exists()}


def test_the_environment_variables_of_the_program_are_listed() -> None:
    """The page of environment variables names those that the program reads, and no others."""
    internal = {"WARPLOOM_SHARED_PICTURES", "WARPLOOM_HEADERS"}  # between processes; a constant
    read = {
        name
        for folder in ("app", "engine", "blocks")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"\bWARPLOOM_[A-Z]+(?:_[A-Z]+)*\b", path.read_text("utf-8"))
    }
    page = (ROOT / "book" / "reference" / "environment.md").read_text("utf-8")
    assert set(re.findall(r"WARPLOOM_\w+", page)) == read - internal
