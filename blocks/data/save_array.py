from pathlib import Path

from warploom.api import Block, BlockBuilder, In, any_type, param, port
from warploom.engine.diagnostics import Incomplete, PatchError


class SaveArray(Block, id="data.save_array", tags=("numpy", "npy", "file", "write", "export")):
    """Saves a buffer of any type and shape to a file of numpy when outputs are saved.

    The file is written by Save Outputs in the editor and at the end of `warploom run`, not in each frame. A file that
    this patch has not written is overwritten only if you allow it. Numbers of bf16, which files of numpy lack, become
    f32. To record each frame, use Save Rows.
    """

    x: In[any_type] = port(doc="The buffer to save, of any shape.")
    file: Path = param("array.npy", files="save array", doc="File to write; its name ends in .npy.")

    def describe(self, build: BlockBuilder) -> None:
        """Have the input saved, which needs no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name an array")
        if Path(self.file).suffix.lower() != ".npy":
            raise PatchError(f"file of an array must end in .npy, got {self.file}; use Save Table for other files")
        build.save(self.x, str(self.file))
