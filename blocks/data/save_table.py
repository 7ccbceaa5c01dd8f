from pathlib import Path

from warploom.api import Block, BlockBuilder, In, any_type, param, port
from warploom.blocks.data.table_files import encode_table
from warploom.blocks.data.table_pieces import SUFFIXES
from warploom.engine.diagnostics import Incomplete, PatchError


class SaveTable(Block, id="data.save_table", tags=("csv", "parquet", "json", "spreadsheet", "file", "write", "export")):
    """Saves numbers as a CSV, Parquet or JSON file when outputs are saved.

    Each column of the input becomes a column of the table. The file's suffix decides the format. In JSON, NaN and
    infinity are null. The file is written by Save Outputs in the editor and at the end of `warploom run`, not in each
    frame. A file that this patch has not written is overwritten only if you allow it. To record each
    frame, use Save Rows.
    """

    x: In[any_type] = port(dtype="number", doc="The numbers, shape [rows] or [rows, columns].")
    file: Path = param("table.csv", files="save table", doc="File to write: .csv, .tsv, .parquet, .json, .arrow.")
    columns: str = param("", doc="Names of the columns, with commas between them; empty for those of x, or x0, x1 ...")

    def describe(self, build: BlockBuilder) -> None:
        """Have the input saved, which needs no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name a table")
        path = Path(self.file)
        if path.suffix.lower() not in SUFFIXES:
            raise PatchError(f"file of a table must end in {', '.join(SUFFIXES)}, got {path}")
        build.save(self.x, str(path), encode=encode_table, options=(self.columns,), with_columns=True)
