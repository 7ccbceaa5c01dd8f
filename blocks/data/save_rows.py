from pathlib import Path

from warploom.api import BlockBuilder, In, LiveBlock, Moment, Value, any_type, bf16, from_bf16, param, port, value_port
from warploom.blocks.data.row_writer import RECORDED, RowWriter
from warploom.blocks.io.part_writer import Array, Recorder
from warploom.engine.diagnostics import Incomplete, PatchError


class SaveRows(
    LiveBlock,
    id="data.save_rows",
    tags=("csv", "parquet", "numpy", "npy", "table", "log", "record", "append", "file", "write", "export", "stream"),
):
    """Appends the rows of each frame to a file while `recording` is true.

    Each row of the input becomes a row of the table, or an item of the first axis of an array (.npy). The file may
    become larger than memory. It is complete when `recording` becomes false, and when the engine stops or the block is
    removed; another recording replaces it. In JSON, NaN and infinity are null. A file that this patch has not written
    is overwritten only if you allow it. To save a buffer once, use Save Table or Save Array.
    """

    x: In[any_type] = port(dtype="number", doc="The rows of a frame, shape [rows] or [rows, columns]; any for .npy.")
    count: Value[int] = value_port(doc="Number of rows in the file.")
    lost: Value[int] = value_port(doc="Rows that were lost, since the disk or the frames were too slow.")
    file: Path = param("rows.csv", files="save rows", doc="File to write: .csv, .tsv, .parquet, .jsonl, .arrow, .npy.")
    recording: bool = param(False, doc="Record while this is true; then the file is complete.")
    columns: str = param("", doc="Names of the columns, with commas between them; empty for those of x, or x0, x1 ...")

    def describe(self, build: BlockBuilder) -> None:
        """Get the rows after each frame."""
        if not str(self.file):
            raise Incomplete("file", "name a table or an array")
        if Path(self.file).suffix.lower() not in RECORDED:
            raise PatchError(f"file of rows must end in {', '.join(RECORDED)}, got {self.file}")
        build.watch(self.x)

    def start(self) -> None:
        """Record nothing yet."""
        self._files = Recorder()
        #: The frames to record whose rows have not come, in their order.
        self._due: dict[int, None] = {}
        self._missed = self.missed
        self.count = self.lost = 0

    def goes_on(self) -> bool:
        """Go on with the same file when the patch begins again, as at a timeline's turn."""
        return True

    def update(self, now: Moment) -> None:
        """Write the rows that have come, and note whether this frame is recorded."""
        try:
            self._record(waits=self.waits)
        finally:
            if self.recording and not self.is_replay:
                self._due.pop(now.frame, None)  # of an earlier turn: its rows never came
                self._due[now.frame] = None
            elif not self._due:
                self._files.end()
            self._files.look(waits=self.waits)
            self.notice = self._files.problem

    def _record(self, *, waits: bool) -> None:
        for frame, rows in self.taken("x"):
            if frame in self._due:
                while next(iter(self._due)) != frame:
                    del self._due[next(iter(self._due))]  # its rows never came
                del self._due[frame]
                self._write(rows, waits=waits)

    def _write(self, rows: Array, *, waits: bool) -> None:
        rows = from_bf16(rows) if self.watched["x"].dtype is bf16 else rows  # which no file has
        rows = rows.reshape(1) if rows.ndim == 0 else rows
        if self._files.writer is None:
            path = self.file_to_write(str(self.file))
            self._files.begin(RowWriter(path, self.columns, rows, self.note_written, self.watched_columns["x"]))
            self._missed = self.missed
        writer = self._files.writer
        assert isinstance(writer, RowWriter)
        if (writer.dtype, writer.row) != (rows.dtype, rows.shape[1:]):
            found, kept = f"{rows.dtype}{list(rows.shape[1:])}", f"{writer.dtype}{list(writer.row)}"
            raise PatchError(f"rows must stay {kept} while they are recorded, got {found}; stop the recording first")
        self._files.write(rows.copy(), waits=waits)  # since the memory is used again
        self.count = writer.length
        self.lost = writer.lost + (self.missed - self._missed) * len(rows)

    def close(self) -> None:
        """Record the last rows, and complete the file."""
        try:
            self._record(waits=True)
        finally:
            self._files.close()
