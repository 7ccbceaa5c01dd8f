"""`SavedFiles`: notices when files of blocks and of their kernels are saved."""

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from warploom.engine.blocktypes.adaptive import readings, refresh
from warploom.engine.blocktypes.block import block_types
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.watcher import SourceWatcher
from warploom.engine.readings import Disk, Reading, stamp_of

_log = logging.getLogger(__name__)
#: Interval at which read contents are compared with the disk. Most saves are noticed at once; this comparison finds
#: changes that the system does not report: a link to another target, a moved folder, a file of another kind or on
#: another machine.
LOOK_S = 0.4


class SavedFiles:
    """Runs saved block files again, and makes interfaces again whose kernels were saved.

    It follows the folders of block files, and every file that was read for an interface or for one of `followed()`,
    even a missing one. It calls `on_kernels` with the saved files, on any thread, after the listeners of `block_types`.
    """

    def __init__(
        self, on_kernels: Callable[[frozenset[Path]], None], followed: Callable[[], Iterable[Reading]] = tuple
    ) -> None:
        self._on_kernels, self._followed = on_kernels, followed
        self._disk = Disk()
        self._watched: set[Path] = set()
        #: The files that differ from their read contents, with the state that was reported last.
        self._reported: dict[Path, tuple[int, ...] | None] = {}
        self._looking = threading.Lock()
        self._closed = threading.Event()
        self._watcher = SourceWatcher(self._look)
        self._forget = block_types.subscribe(lambda _: self._watch_blocks())
        self._watch_blocks()
        self._look()
        self._thread = threading.Thread(target=self._look_on, name="saved-files", daemon=True)
        self._thread.start()

    def watch(self, folders: Iterable[Path]) -> None:
        """Follow more folders. Raise KernelError if one does not exist."""
        for folder in folders:
            self._watcher.watch(folder)

    def close(self) -> None:
        """Stop following files."""
        self._forget()
        self._closed.set()
        self._watcher.close()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._closed.wait(LOOK_S):
            try:
                self._watcher.follow_moves()
                self._look()
            except Exception:  # noqa: BLE001 - a failed look must not end the watch
                _log.exception("saved files could not be followed")

    def _look(self, touched: frozenset[Path] = frozenset()) -> None:
        """Process the files that changed since they were read, and new block files among the `touched` ones."""
        with self._looking:
            disk = self._disk
            known = {id(reading): reading for reading in (*readings(), *self._followed())}.values()
            files = {path for reading in known for path in reading.files}
            # A file that is not followed may be the target of a link that is.
            disk.touched = touched if touched and touched <= files | block_folders.files else None
            changed = {path for reading in known for path in reading.changed(disk.ask)} | block_folders.changed(disk)
            stamps = {path: stamp_of(path) for path in changed}
            saved = {path for path, stamp in stamps.items() if self._reported.get(path, ()) != stamp}
            saved |= {path for path in touched - files - block_folders.files if path.suffix == ".py"}
            self._reported = stamps
            self._watch_files(files)
            if adapted := refresh(disk):
                block_types.tell(adapted)
        if not saved:
            return
        _log.info("saved: %s", ", ".join(sorted(map(str, saved))))
        blocks = [path for path in saved if path.suffix == ".py"]
        if blocks:
            # A kernel that is saved with its block is loaded by the block's new description. A `.py` may hold kernels
            # too.
            block_folders.reload(blocks).add_done_callback(lambda _: self._on_kernels(frozenset(saved)))
        else:
            self._on_kernels(frozenset(saved))

    def _watch_files(self, files: set[Path]) -> None:
        new = files - self._watched
        self._watched = files
        try:
            self._watcher.watch_files(new)
        except (KernelError, OSError) as problem:  # the comparison with the disk covers these files anyway
            _log.warning("%s", problem)

    def _watch_blocks(self) -> None:
        is_more = False
        for folder in filter(Path.is_dir, block_folders.paths):
            try:
                is_more |= self._watcher.watch(folder)
            except KernelError as problem:  # only hot reload is lost
                _log.warning("%s", problem)
        if is_more:
            block_folders.catch_up()  # with files that were saved since they were loaded, while no one watched
