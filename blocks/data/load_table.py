from pathlib import Path

from warploom.api import Block, BlockBuilder, Out, any_type, param, port
from warploom.blocks.data.table_files import TYPES, read_table
from warploom.engine.diagnostics import Incomplete


class LoadTable(Block, id="data.load_table", tags=("csv", "parquet", "json", "spreadsheet", "file", "open", "columns")):
    """Loads columns of numbers from a CSV, Parquet or JSON file.

    Reads CSV, TSV, text that numpy has saved, Parquet, Arrow, and JSON: objects on lines or in a list, rows in a list,
    or columns in an object. Columns may be separated by commas, semicolons, tabs or bars. The first line of a text has
    the names; if it has only numbers, the names are x0, x1 and so on. Booleans become 0 and 1, dates become seconds
    since 1970, times of a day seconds since midnight, and missing numbers NaN. A column in which f32 would make
    different whole numbers or times equal is refused. With `first_row` or `most_rows`, only these rows of a file that
    may be larger than memory are read; only JSON that is no lines is read whole. A relative path starts at the patch
    file's folder. Plots, tables and saved files have the names of the columns. Another table of the same size is loaded
    without a rebuild. To go through a table while the patch plays, use Play Rows.
    """

    out: Out[any_type] = port(shape="data", dtype="data", rank=2, doc="The numbers, shape [rows, columns].")
    file: Path = param("", files="open table", doc="The file; a relative path starts at the patch's folder.")
    columns: str = param("", doc='Names of columns, with commas between them, as a, "b, c"; empty for all of numbers.')
    type: str = param("f32", choices=tuple(TYPES), doc="Element type of the output.")
    first_row: int = param(0, min=0, max=1_000_000_000, structural=True, doc="The first row to load, from 0.")
    most_rows: int = param(0, min=0, max=1_000_000_000, structural=True, doc="Most rows to load; 0 loads all.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name a table")
        table = read_table(Path(self.file), self.columns, self.type, self.first_row, self.most_rows)
        build.provide(self.out, table.numbers)
        build.name_columns(self.out, table.names)
