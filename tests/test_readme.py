"""The README's examples run, and the paths it names exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(python|c\+\+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
PYTHON = [code for kind, code in BLOCKS if kind == "python"]


@pytest.mark.parametrize(
    "code",
    [code for code in PYTHON if "square" not in code],
    ids=["patch", "region", "group", "external", "device", "tensors", "network"],
)
def test_the_examples_hold(code: str) -> None:
    """Each Python example of the README runs, and its assertions hold."""
    exec(compile(code, "README.md", "exec"), {})


def test_the_first_block_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's first block is loaded from a folder beside the patch, and it squares numbers."""
    from warploom.engine.catalogue.block_folders import block_folders

    block, script = [code for code in PYTHON if "square" in code]
    (kernel,) = [code for kind, code in BLOCKS if kind == "c++"]
    folder = tmp_path / "blocks"
    folder.mkdir()
    (folder / "square.py").write_text(block)
    (folder / "square.cu").write_text(kernel)
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(script, "README.md", "exec"), {})
    finally:
        block_folders.remove(folder)
        block_folders.reload([]).result()


@pytest.mark.parametrize(
    "path", re.findall(r"`((?:resources|kernels|blocks|app|engine|tests)/[\w/.]*)`", (ROOT / "README.md").read_text())
)
def test_every_path_it_names_exists(path: str) -> None:
    """Every path that the README names exists."""
    assert (ROOT / path).exists()
