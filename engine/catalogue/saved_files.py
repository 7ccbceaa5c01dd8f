"""`SavedFiles`: follows what is saved in the files that blocks and their kernels come from."""

import logging
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from engine.blocktypes.adaptive import follow_files, refresh
from engine.blocktypes.block import block_types
from engine.catalogue.block_folders import block_folders
from engine.catalogue.catalogue import Catalogue
from engine.diagnostics import KernelError
from engine.kernel_sources.image import KERNELS_FOLDER
from engine.kernel_sources.watcher import SourceWatcher

_log = logging.getLogger(__name__)


class SavedFiles:
    """Runs block files again when they are saved, and makes interfaces again that come from saved kernels.

    It follows Warploom's kernels, the folders beside the block types of `catalogue`, and the files that nodes name.
    Then it calls `on_kernels` with the files, on any thread; those who listen to `block_types` have heard by then.
    """

    def __init__(self, catalogue: Catalogue, on_kernels: Callable[[frozenset[Path]], None]) -> None:
        self._catalogue, self._on_kernels = catalogue, on_kernels
        self._watcher = SourceWatcher(self._on_saved)
        self._forget = block_types.subscribe(lambda _: self._watch_sources()), follow_files(self._watch_files)
        self._watch_sources()

    def watch(self, folders: Iterable[Path]) -> None:
        """Follow more folders; KernelError when one does not exist."""
        for folder in folders:
            self._watcher.watch(folder)

    def close(self) -> None:
        """Follow nothing any more."""
        for forget in self._forget:
            forget()
        self._watcher.close()

    def _watch_files(self, files: Collection[Path]) -> None:
        """Follow the files that blocks get their ports from, on any thread."""
        try:
            self._watcher.watch_files(files)
        except (KernelError, OSError) as problem:  # as below
            _log.warning("%s", problem)

    def _watch_sources(self) -> None:
        used = {block.source_folder() for block in self._catalogue.all()}
        is_more = False
        for folder in {KERNELS_FOLDER, *(f for f in (*block_folders.paths, *used) if f is not None and f.is_dir())}:
            try:
                is_more |= self._watcher.watch(folder)
            except KernelError as problem:  # without it saves are not followed, and all else is as it should be
                _log.warning("%s", problem)
        if is_more:
            block_folders.catch_up()  # with what was saved since it was loaded, while nobody watched

    def _on_saved(self, files: frozenset[Path]) -> None:
        if adapted := refresh(files):
            block_types.tell(adapted)
        blocks = frozenset(path for path in files if path.suffix == ".py")
        if not blocks:
            self._on_kernels(files)
            return
        # A kernel that is saved with its block goes by the block's new description. A `.py` may hold kernels too.
        block_folders.reload(blocks).add_done_callback(lambda _: self._on_kernels(files))
