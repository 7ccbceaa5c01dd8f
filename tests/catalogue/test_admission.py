"""An engine's process runs only texts that its client has tried."""

from pathlib import Path

import pytest

from tests.catalogue.block_texts import BlockFolder, block_text
from warploom.engine.blocktypes.block import block_types
from warploom.engine.catalogue.admission import Admission, TriedFile, digest_of
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import trust_blocks
from warploom.engine.diagnostics import error


def tried(path: Path, harm: str = "") -> TriedFile:
    """Return the present text of a file as one that was tried."""
    return TriedFile(path, digest_of(path.read_bytes()), error(harm, file=str(path)) if harm else None)


def test_files_wait_until_they_were_tried(folder: BlockFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file runs once its present text was tried, also if it is saved meanwhile; a harmful text never runs."""
    admission = Admission()
    monkeypatch.setattr(block_folders, "admission", admission)
    path = folder.write("scale.py", block_text(before="raise SystemExit"))
    early = tried(path)
    loaded = block_folders.add(folder.path)
    assert trust_blocks(folder.path) == []  # without waiting
    folder.write("scale.py", block_text())
    admission.set_tried([early])
    assert not loaded.done()
    admission.set_tried([tried(path)])
    loaded.result()
    assert list(block_types.all()["live.scale"].ports) == ["x", "out"]

    folder.write("scale.py", block_text(source="y"))
    harmful = tried(path, "it holds its process")
    admission.set_tried([harmful])
    block_folders.reload([path]).result()
    assert block_folders.problems(folder.path) == [harmful.harm]
    assert list(block_types.all()["live.scale"].ports) == ["x", "out"]

    folder.write("scale.py", block_text(source="z"))
    loaded = block_folders.reload([path])
    admission.set_tried(None)  # a client that tries nothing
    loaded.result()
    assert list(block_types.all()["live.scale"].ports) == ["z", "out"]


def test_a_file_that_is_gone_holds_up_nothing(folder: BlockFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is deleted before it was tried is no longer waited for."""
    monkeypatch.setattr(block_folders, "admission", Admission())
    path = folder.write("scale.py", block_text())
    loaded = block_folders.add(folder.path)
    path.unlink()
    loaded.result()
    assert block_types.get("live.scale") is None
