"""Folders of block files: loaded as a whole, and file by file when something in them is saved."""

import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Protocol

from warploom.engine.blocktypes.adaptive import make_again, refresh
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.block_types import FOLDER_PACKAGE, LIBRARY
from warploom.engine.catalogue.admission import Admission, TriedFile, digest_of
from warploom.engine.catalogue.block_files import (
    folder_package,
    holds_only_kernels,
    imported_modules,
    in_order,
    is_block_file,
    module_name,
    python_files,
    read,
)
from warploom.engine.catalogue.load_file import BlockFile, Ran, blame, execute, forget_file, settle
from warploom.engine.diagnostics import Diagnostic, error
from warploom.engine.kernel_sources.python.trust import trusted_folders
from warploom.engine.readings import Disk, content, is_file
from warploom.engine.user_code.limits import FILE
from warploom.engine.user_code.runner import CodeRunner


class _JobQueue:
    """Runs jobs one after another, on a thread that exists only while there are jobs.

    It calls `rest` after the last job, before that job's future is done.
    """

    def __init__(self, rest: Callable[[], None]) -> None:
        self._rest = rest
        self._lock = threading.Lock()
        self._jobs: deque[tuple[Callable[[], None], Future[None]]] = deque()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], None]) -> Future[None]:
        """Queue a job and return its future; never blocks."""
        done: Future[None] = Future()
        with self._lock:
            self._jobs.append((job, done))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="block-loader", daemon=True)
                self._thread.start()
        return done

    @property
    def is_busy(self) -> bool:
        """True while there are jobs."""
        return self._thread is not None

    @property
    def is_running_here(self) -> bool:
        """True on the thread that does the jobs."""
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job, done = self._jobs.popleft()
            try:
                try:
                    job()
                finally:
                    if not self._jobs:
                        self._rest()
            except BaseException as problem:  # noqa: BLE001 - goes to the job's future
                done.set_exception(problem)
            else:
                done.set_result(None)


@dataclass
class Folder:
    """A folder whose files are the modules of one package: an installed package, or a folder of the user's."""

    path: Path
    package: str
    files: dict[Path, BlockFile] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        """True when Python imports the package."""
        return not self.package.startswith(FOLDER_PACKAGE)


class FileProcess(Protocol):
    """Runs block files in another process; stand-ins of the types that they define come from there."""

    def execute(self, folder: Path, package: str, file: BlockFile, source: bytes) -> Ran:
        """Run the text of a file in a folder, whose modules are those of `package`; return what it has defined."""

    def forget(self, files: Collection[Path]) -> None:
        """Drop the results of these files, which are deleted or not trusted any more."""


class BlockFolders:
    """All folders that blocks come from; kernels in Python may lie there too.

    A separate thread loads the files and calls the listeners of `block_types` with the changed types. It leaves out a
    file that takes too long.
    """

    def __init__(self) -> None:
        self._folders: dict[Path, Folder] = {}
        #: Runs the files.
        self.code = CodeRunner(FILE)
        #: Runs them instead, except for those of the shipped library.
        self.apart: FileProcess | None = None
        #: In an engine's process: the texts that may run there.
        self.admission: Admission | None = None
        #: Called there with the digest of a text that is about to run, and with "" after it.
        self.announce: Callable[[str], object] = str
        #: Why no engine may run a text again, by its digest.
        self._harm: dict[str, Diagnostic] = {}
        self._jobs = _JobQueue(self.code.rest)

    @property
    def paths(self) -> list[Path]:
        """The folders."""
        return list(self._folders)

    @property
    def trusted(self) -> list[Path]:
        """The person's own folders, which are not packages."""
        return [folder.path for folder in tuple(self._folders.values()) if not folder.is_installed]

    @property
    def files(self) -> set[Path]:
        """The files that were run, or should have been."""
        return {path for folder in tuple(self._folders.values()) for path in tuple(folder.files)}

    @property
    def is_loading(self) -> bool:
        """True while files run or are queued."""
        return self._jobs.is_busy

    @property
    def is_running_here(self) -> bool:
        """True in the code of a file and in a listener, where waiting for other files would never end."""
        return self.code.is_running_here or self._jobs.is_running_here

    def tried(self) -> tuple[TriedFile, ...] | None:
        """Return the newest texts of files that have run in another process; None if files run in this one."""
        if self.apart is None:
            return None
        return tuple(map(self._tried, self._all_known()))

    def note_harm(self, digest: str, got: str) -> Diagnostic | None:
        """Let no engine run a text again, since it has ended one or held it up; return the problem of its file.

        `digest` is its SHA-256 as hex digits; None if no file has it now.
        """
        found = next((file for file in self._all_known() if digest_of(file.source).hex() == digest), None)
        if self.apart is None or found is None:
            return None
        text = f"block file {found.path.name} must let the engine go on, got {got}"
        self._harm[digest] = error(text, file=str(found.path), remedy="correct the block's code and save it")
        return self._harm[digest]

    def _all_known(self) -> list[BlockFile]:
        return [file for folder in tuple(self._folders.values()) for file in tuple(folder.files.values())]

    def _tried(self, file: BlockFile) -> TriedFile:
        digest = digest_of(file.source)
        harm = self._harm.get(digest.hex()) or (file.problem if file.took_too_long else None)
        return TriedFile(file.path, digest, harm)

    def is_held(self, folder: Path) -> bool:
        """True if files of a folder must not run here before one was tried."""
        if self.admission is None or self.admission.is_waited_for:
            return self.admission is not None
        files = [path for path in python_files(folder.resolve()) if not holds_only_kernels(read(path))]
        return not all(map(self.admission.knows, files))

    def problems(self, folder: Path | None = None) -> list[Diagnostic]:
        """Return the problems of files in one folder, or in all."""
        chosen = [f for f in tuple(self._folders.values()) if folder is None or f.path == folder.resolve()]
        return [file.problem for f in chosen for file in tuple(f.files.values()) if file.problem is not None]

    def add_package(self, package: ModuleType) -> None:
        """Follow the files of an imported package: they are run again when they are saved."""
        for name in getattr(package, "__path__", ()):
            folder = Path(name).resolve()
            trusted_folders.add(folder)
            self._folders.setdefault(folder, Folder(folder, package.__name__))

    def add(self, folder: Path) -> Future[None]:
        """Run every file of a folder; files that fail don't affect the others."""
        path = folder.resolve()
        if path in self._folders:
            return self._jobs.submit(_nothing)  # done when all earlier jobs are done
        added = self._folders[path] = Folder(path, folder_package(path))
        trusted_folders.add(path)
        return self._jobs.submit(partial(self._load_all, added))

    def remove(self, folder: Path) -> None:
        """Remove the types of a folder; nothing happens for an installed package."""
        found = self._folders.get(folder.resolve())
        if found is None or found.is_installed:
            return
        del self._folders[found.path]
        trusted_folders.discard(found.path)
        self._jobs.submit(partial(self._remove, found))

    def reload(self, files: Collection[Path]) -> Future[None]:
        """Run saved files and the files that import them; files outside all folders of blocks are ignored."""
        saved = [path.parent.resolve() / path.name for path in files]
        return self._jobs.submit(lambda: self._reload(saved))

    def make_again(self, type_id: str) -> None:
        """Make the interfaces of an adaptive type again that could not be made, since its code can answer now."""
        self._jobs.submit(lambda: block_types.tell({type_id}) if make_again(type_id) else None)

    def catch_up(self) -> Future[None]:
        """Run files that changed or appeared while no one watched."""
        return self._jobs.submit(lambda: self._reload(self._all_files()))

    def changed(self, disk: Disk) -> set[Path]:
        """Return the files that changed since they were run."""
        ran = [file for folder in tuple(self._folders.values()) for file in tuple(folder.files.values())]
        return {
            file.path for file in ran if disk.ask(is_file, file.path) and disk.ask(content, file.path) != file.source
        }

    def _all_files(self) -> list[Path]:
        folders = tuple(self._folders.values())
        return [path for f in folders for path in (f.files if f.is_installed else python_files(f.path))]

    def _load_all(self, folder: Folder) -> None:
        package = ModuleType(folder.package)
        package.__path__ = [str(folder.path)]
        sys.modules[folder.package] = package
        block_types.tell(self._load(folder, python_files(folder.path)) | refresh(Disk()))  # its kernels may run now

    def _reload(self, saved: Iterable[Path]) -> None:
        changed: set[str] = set()
        touched = False
        for folder in tuple(self._folders.values()):
            own = [path for path in saved if is_block_file(path, folder.path) and self._is_new(folder, path)]
            if own:
                changed |= self._load(folder, own)
                touched = True
        if touched:
            block_types.tell(changed)

    @staticmethod
    def _is_new(folder: Folder, path: Path) -> bool:
        known = folder.files.get(path)
        return path.is_file() and (known is None or known.source != read(path))

    def _load(self, folder: Folder, saved: Collection[Path]) -> set[str]:
        changed = self._forget_gone(folder)
        changed |= self._run(folder, saved)
        return changed | self._retry(saved) if changed else changed

    def _retry(self, just_run: Collection[Path] = ()) -> set[str]:
        """Run files again whose own code failed: the cause may be gone, such as a missing module or a taken id."""
        changed: set[str] = set()
        for folder in tuple(self._folders.values()):
            failed = {path for path, file in folder.files.items() if file.failed_itself and path not in just_run}
            if failed:
                changed |= self._run(folder, failed)
        return changed

    def _run(self, folder: Folder, saved: Collection[Path]) -> set[str]:
        """Run files and the files that import them; a file that imports a failing one keeps its old version."""
        paths: dict[str, Path] = {}
        changed: set[str] = set()
        for path in python_files(folder.path):
            module = module_name(path, folder.path, folder.package)
            first = paths.setdefault(module, path)
            if path is not first and path in saved:
                file = folder.files.setdefault(path, BlockFile(path, module))
                changed |= blame(file, read(path), _hidden(path, first, folder.path))
        sources = {module: read(path) for module, path in paths.items()}
        names = [module for module, path in paths.items() if path in saved and not holds_only_kernels(sources[module])]
        imports = _imports(names, paths, sources)
        failed: dict[str, Diagnostic] = {}
        for module in in_order(names, imports):
            path = paths[module]
            if block_types.library is not None and block_types.library.is_waiting(module):
                continue
            file = folder.files.setdefault(path, _known_file(path, module))
            broken = next((failed[name] for name in imports.get(module, ()) if name in failed), None)
            if broken is not None:
                changed |= blame(file, sources[module], broken)
            else:
                changed |= self._run_one(folder, file, sources[module])
            if file.problem is not None:
                failed[module] = file.problem
        return changed

    def _run_one(self, folder: Folder, file: BlockFile, source: bytes) -> set[str]:
        if folder.package == LIBRARY:
            return settle(file, source, execute(file, source, self.code))
        harm = None
        if self.admission is not None:
            source, harm = self.admission.wait(file.path, source)
        if harm is not None:
            ran = Ran({}, {}, harm, took_too_long=True)
        elif self.apart is not None:
            ran = self.apart.execute(folder.path, folder.package, file, source)
        else:
            self.announce(digest_of(source).hex())
            ran = execute(file, source, self.code)
            self.announce("")
        return settle(file, source, ran)

    def _forget_gone(self, folder: Folder) -> set[str]:
        """Forget files that were deleted: only now, since another file may have taken over their types."""
        gone = [path for path in folder.files if not path.is_file()]
        if gone and self.apart is not None:
            self.apart.forget(gone)
        return {type_id for path in gone for type_id in forget_file(folder.files.pop(path))}

    def _remove(self, folder: Folder) -> None:
        if self.apart is not None:
            self.apart.forget(folder.files.keys())
        changed = {type_id for file in folder.files.values() for type_id in forget_file(file)}
        for name in [name for name in tuple(sys.modules) if f"{name}.".startswith(f"{folder.package}.")]:
            del sys.modules[name]  # including modules that were not block files
        block_types.tell(changed | self._retry() | refresh(Disk()))


def _hidden(path: Path, first: Path, folder: Path) -> Diagnostic:
    """Return why a file is not run: another file has the same module name."""
    names = path.relative_to(folder), first.relative_to(folder)
    text = f"block file {names[0]} must have a name of its own, got that of {names[1]}, which hides it"
    return error(text, file=str(path), remedy="rename one of them")


def _known_file(path: Path, module: str) -> BlockFile:
    """Return the record of a file that has not run here yet; a file of an imported package may have types already."""
    types = [type_id for type_id, block in block_types.defined().items() if block.__module__ == module]
    return BlockFile(path, module, types=frozenset(types))


def _imports(names: Iterable[str], paths: dict[str, Path], sources: dict[str, bytes]) -> dict[str, frozenset[str]]:
    """Return the imports of the named modules and of all modules that may import them, without parsing the others."""
    found: dict[str, frozenset[str]] = {}
    waiting = list(names)
    while waiting:
        module = waiting.pop()
        word = re.compile(rb"\b" + re.escape(module.rpartition(".")[2].encode()) + rb"\b")
        for other, source in sources.items():
            if other not in found and (other == module or word.search(source)):
                is_package = paths[other].name == "__init__.py"
                found[other] = imported_modules(source, other, is_package=is_package)
                waiting.append(other)
    return found


def _nothing() -> None:
    return


#: The folders of this program.
block_folders = BlockFolders()
