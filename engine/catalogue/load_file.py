"""Runs one block file: its types replace its earlier ones, or nothing changes and its problem has the reason."""

import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

import msgspec

from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.block_types import FOLDER_PACKAGE
from warploom.engine.blocktypes.describing import shows_pictures
from warploom.engine.catalogue.block_errors import code_diagnostic
from warploom.engine.catalogue.block_files import ids_in
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.user_code.limits import SHORT_CALL, TookTooLong
from warploom.engine.user_code.runner import CodeRunner

_log = logging.getLogger(__name__)


class _SourceLoader(SourceFileLoader):
    """Loads a module from its source. A compiled file may hold other code than the source that a person has read."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _SourceFinder(MetaPathFinder):
    """Finds the modules that block files import from their folders and that are not block files that have run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module in a folder of blocks."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(FOLDER_PACKAGE) else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _SourceLoader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _SourceFinder())


@dataclass
class BlockFile:
    """A file that was run: its module, its text, the ids that it defined, and why the newest text failed.

    `blamed` are the ids whose newest version the problem prevents. A file that `took_too_long` is not run again before
    it is saved.
    """

    path: Path
    module: str
    source: bytes = b""
    types: frozenset[str] = frozenset()
    problem: Diagnostic | None = None
    blamed: frozenset[str] = frozenset()
    took_too_long: bool = False

    @property
    def failed_itself(self) -> bool:
        """True when its own code failed, perhaps because of another file or folder."""
        return self.problem is not None and self.problem.file == str(self.path) and not self.took_too_long


class Ran(msgspec.Struct, frozen=True):
    """What a run of a file's text has defined, by id, and why it failed.

    `others` are types of modules that the file imported for the first time.
    """

    own: Mapping[str, type[Block]]
    others: Mapping[str, type[Block]]
    problem: Diagnostic | None = None
    took_too_long: bool = False


def execute(file: BlockFile, source: bytes, code: CodeRunner) -> Ran:
    """Run the text of a file as its module in this process, by means of `code`; if it fails, the module before stays.

    Modules that it imports are not run again. Types are not in use before `settle`.
    """
    before = sys.modules.get(file.module)
    types: dict[str, type[Block]] = {}
    took_too_long = False

    def run() -> None:
        nonlocal types
        with block_types.staging(file.module) as types:
            _run_module(file.module, file.path, source)

    def failed(problem: BaseException) -> Diagnostic:
        nonlocal took_too_long
        took_too_long = isinstance(problem, TookTooLong)
        return code_diagnostic(problem, f"block file {file.path.name}", file.path)

    problem = code.run(run, failed, ours=False)
    defined = types.copy()  # code that was abandoned may still define more
    own = {type_id: block for type_id, block in defined.items() if block.__module__ == file.module}
    others = {type_id: block for type_id, block in defined.items() if type_id not in own}
    if problem is not None:
        _place_module(file.module, before)
    return Ran(own, others, problem, took_too_long)


def settle(file: BlockFile, source: bytes, ran: Ran) -> set[str]:
    """Replace a file's types by those that a run has defined; return the ids of the types that changed.

    If the run failed, the file's types stay, and `file.problem` has the reason.
    """
    # Modules that it imported for the first time keep their types, even if the file itself fails.
    changed = block_types.commit(ran.others, ())
    if ran.problem is not None:
        changed |= blame(file, source, ran.problem)
        file.took_too_long = ran.took_too_long
        return changed
    _describe(block for block in (*ran.own.values(), *ran.others.values()) if block.apart is None)
    changed |= block_types.commit(ran.own, file.types) | forgive(file)
    file.source, file.types = source, frozenset(ran.own)
    _log.debug("block file %s: %s", file.path, ", ".join(sorted(ran.own)) or "no blocks")
    return changed


def _describe(types: Iterable[type[Block]]) -> None:
    """Find the types that show pictures, so that no later call has to wait for their code."""
    with closing(CodeRunner(SHORT_CALL)) as code:
        for block in types:
            code.run(partial(shows_pictures, block), lambda _: False, ours=False)  # the node shows failures


def blame(file: BlockFile, source: bytes, problem: Diagnostic) -> set[str]:
    """Remember why the newest text of a file failed; return the ids of the types that this concerns."""
    _log.info("%s", problem)
    changed = set(forgive(file))
    file.source, file.problem = source, problem
    known = {type_id: block_types.get(type_id) for type_id in file.types | ids_in(source)}
    # A type that another file defines is not affected.
    file.blamed = frozenset(i for i, block in known.items() if block is None or block.__module__ == file.module)
    block_types.blame(file.blamed, problem)
    return changed | file.blamed


def forgive(file: BlockFile) -> frozenset[str]:
    """Forget the problem of a file; return the ids of the types that it concerned."""
    blamed, file.problem, file.blamed, file.took_too_long = file.blamed, None, frozenset(), False
    block_types.forgive(blamed)
    return blamed


def forget_file(file: BlockFile) -> set[str]:
    """Remove a file's types and its module; return the ids of the types that changed."""
    if getattr(sys.modules.get(file.module), "__file__", None) == str(file.path):
        _place_module(file.module, None)
    return block_types.commit({}, file.types) | set(forgive(file))


def _run_module(name: str, path: Path, source: bytes) -> None:
    """Run a text as a new module in place of the earlier one, ignoring compiled files.

    Python checks compiled files by modification time in seconds and by size, which two quick saves may share.
    """
    folders = [str(path.parent)] if path.name == "__init__.py" else None
    spec = spec_from_file_location(name, path, submodule_search_locations=folders)
    assert spec is not None
    module = module_from_spec(spec)
    _place_module(name, module)
    exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)


def _place_module(name: str, module: ModuleType | None) -> None:
    """Register a module for `import`: by its name, and as an attribute of its package; None removes it."""
    package, _, stem = name.rpartition(".")
    around = sys.modules.get(package)
    if module is not None:
        sys.modules[name] = module
        if around is not None:
            setattr(around, stem, module)
    else:
        sys.modules.pop(name, None)
        if around is not None and stem in vars(around):
            delattr(around, stem)
