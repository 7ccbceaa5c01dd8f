"""The README is true: its Python runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(python|c\+\+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
PYTHON = [code for kind, code in BLOCKS if kind == "python"]


@pytest.mark.parametrize(
    "code",
    [code for code in PYTHON if "square" not in code],
    ids=["patch", "region", "external", "device", "tensors", "network"],
)
def test_the_examples_hold(code: str) -> None:
    """Each example asserts what it claims."""
    exec(compile(code, "README.md", "exec"), {})


def test_the_first_block_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its class and its kernel, as printed, are found beside the patch and square numbers."""
    from engine.catalogue.block_folders import block_folders

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
    """Files move; words about them must follow."""
    assert (ROOT / path).exists()
