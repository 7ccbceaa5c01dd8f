from pathlib import Path

from warploom.api import Block, BlockBuilder, Out, any_type, param, port
from warploom.blocks.data.array_files import load_array
from warploom.engine.diagnostics import Incomplete


class LoadArray(Block, id="data.load_array", tags=("numpy", "npy", "npz", "safetensors", "file", "open", "input")):
    """Loads an array from a file of numpy or safetensors.

    Reads NPY, and one member of an NPZ archive or of a safetensors file, whose bf16 becomes f32. The output has the
    array's element type and shape. With `first_row` or `most_rows`, only these items of the first axis are read from
    the file. A relative path starts at the patch file's folder. Another array of the same type and shape is loaded
    without a rebuild. To go through an array while the patch plays, use Play Rows.
    """

    out: Out[any_type] = port(shape="data", dtype="data", doc="The array.")
    file: Path = param("", files="open array", doc="The file; a relative path starts at the patch's folder.")
    member: str = param("", doc="Name of an array in a file of several; empty for the only one.")
    first_row: int = param(
        0, min=0, max=1_000_000_000, structural=True, doc="The first item of the first axis to load, from 0."
    )
    most_rows: int = param(0, min=0, max=1_000_000_000, structural=True, doc="Most items to load; 0 loads all.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name an array")
        build.provide(self.out, load_array(Path(self.file), self.member, self.first_row, self.most_rows))
