"""Every block type of the library has its help texts and can be described."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.describing import describe
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.descriptions.entries import KernelEntry
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_sources.loader import find_source, load_image

BLOCKS = [block for block in default_catalogue().all() if block.__module__.startswith("warploom.blocks.")]
IDS = [block.id for block in BLOCKS]
#: Removed when the tests end.
FOLDER = TemporaryDirectory()
MEDIA = Path(__file__).parents[2] / "resources" / "media"
#: A file for each parameter that names one, by the parameter's purpose.
FILES: dict[str, Any] = {
    "open sound": MEDIA / "dawn.wav",
    "open points": MEDIA / "hill.laz",
    "open mesh": Path(FOLDER.name) / "mesh.obj",
    "open lut": Path(FOLDER.name) / "curve.cube",
    "open table": Path(FOLDER.name) / "table.csv",
    "open array": Path(FOLDER.name) / "array.npy",
    "open rows": Path(FOLDER.name) / "array.npy",
    "open font": "",
    "open images": MEDIA,
}
FILES["open mesh"].write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
FILES["open table"].write_text("x,y\n1,2\n")
FILES["open lut"].write_text("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n")
np.save(FILES["open array"], np.arange(5.0))


def _placed(block_type: type[Block]) -> Block:
    values: dict[str, Any] = {}
    for name, spec in block_type.parameters.items():
        if spec.files.startswith("open"):
            values[name] = FILES.get(spec.files, MEDIA / "still_life.jpg")
        if spec.type == "external":
            values[name] = np.ones(3, np.float32)
    return block_type("node", values)


def test_the_file_of_a_block_has_the_name_of_its_id() -> None:
    """`category.name` is in a file `name.py`, where the catalogue looks for it."""
    assert [block for block in BLOCKS if block.__module__.split(".")[-1] != block.id.split(".")[-1]] == []


def test_blocks_explain_themselves() -> None:
    """A block has a one-sentence summary, further help, and a sentence for each port and parameter."""
    for block in BLOCKS:
        text = block.__doc__ or ""
        assert block.summary.endswith(".") and len(block.summary) < 110, block.id
        assert len(text) > len(block.summary) + 60, f"help of {block.id} must go beyond the summary"
        for name, spec in (block.ports | block.parameters | block.values_out).items():
            assert spec.doc.endswith(".") and len(spec.doc) > 8, f"{block.id}.{name}"


def test_sliders_have_a_range() -> None:
    """Every number on a block has a minimum and a maximum, with its default between them."""
    for block in BLOCKS:
        for name, spec in block.parameters.items():
            if spec.type in ("float", "int"):
                assert spec.minimum is not None and spec.maximum is not None, f"{block.id}.{name}"
                assert spec.minimum <= spec.default <= spec.maximum, f"{block.id}.{name}"


@pytest.mark.parametrize("block", BLOCKS, ids=IDS)
def test_launches_fit_their_kernels(block: type[Block]) -> None:
    """Each kernel that a block launches exists and takes as many arguments as the block passes."""
    for entry in describe(_placed(block)).all_entries:
        if isinstance(entry, KernelEntry):
            image = load_image(find_source(entry.kernel.source), HOST_ARCHITECTURE)
            assert len(image.signature(entry.kernel.entry).parameters) == len(entry.arguments), entry.kernel


def test_describing_twice_gives_the_same_graph_nodes() -> None:
    """Two descriptions of a block lead to the same graph nodes."""
    for block in BLOCKS:
        placed = _placed(block)
        assert describe(placed).structural_equals(describe(placed)), block.id


def test_each_choice_can_be_described() -> None:
    """A block can be described with each choice of its parameters. Whether a file's choice fits depends on the file."""
    for block in BLOCKS:
        for name, spec in block.parameters.items():
            for choice in spec.choices if not any(other.files for other in block.parameters.values()) else ():
                describe(block("node", _placed(block).values | {name: choice}))


def test_titles_tell_blocks_apart() -> None:
    """No two blocks have the same title."""
    titles = [block.title for block in BLOCKS]
    assert [title for title in titles if titles.count(title) > 1] == []


def test_one_file_holds_one_block_named_as_its_id() -> None:
    """The block with the id `category.name` is defined in blocks/FOLDER/name.py, and each file has a block at most."""
    assert [block.id.rpartition(".")[2] for block in BLOCKS] == [b.__module__.rpartition(".")[2] for b in BLOCKS]
    assert len({block.__module__ for block in BLOCKS}) == len(BLOCKS)


def test_no_folder_hides_a_module_of_python() -> None:
    """A script that starts in `blocks` gets Python's own `math`; `io` is imported before a script runs."""
    folders = {path.parent.name for path in (Path(__file__).parents[2] / "blocks").glob("*/*.py")}
    assert not folders & (sys.stdlib_module_names - {"io"})


def test_load_image_without_a_file_says_what_to_do() -> None:
    """A freshly placed Load Image asks for a file."""
    with pytest.raises(PatchError, match="file must name an image, got nothing"):
        describe(default_catalogue().require("io.load_image")())
