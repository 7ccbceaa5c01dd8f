"""What a process does that runs block files for another one: it runs a file, and calls functions for its types.

The results are bytes of `declarations.dump`: making them may run a person's code too.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from warploom.engine.block_process.declarations import Declaration, declaration_of, dump, load
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.catalogue.block_errors import code_diagnostic, interface_diagnostic
from warploom.engine.catalogue.catalogue import load_packages
from warploom.engine.catalogue.load_file import BlockFile, execute, settle
from warploom.engine.diagnostics import Diagnostic, error
from warploom.engine.kernel_sources.python.trust import trusted_folders
from warploom.engine.user_code.limits import FILE, TookTooLong
from warploom.engine.user_code.runner import CodeRunner


class RanApart(NamedTuple):
    """What a run of a file has defined, as `engine.catalogue.load_file.Ran` has it."""

    own: dict[str, Declaration]
    others: dict[str, Declaration]
    problem: Diagnostic | None
    took_too_long: bool


_files: dict[Path, BlockFile] = {}
_code, _calls = CodeRunner(FILE), CodeRunner()


def begin() -> None:
    """Load the block types that files may build on, all of them now, since a file may harm the process."""
    load_packages()
    block_types.all()


def run_file(folder: Path, package: str, path: Path, module: str, source: bytes) -> bytes:
    """Run the text of a block file in a trusted folder; return a `RanApart`."""
    if package not in sys.modules:
        around = sys.modules[package] = ModuleType(package)
        around.__path__ = [str(folder)]
        trusted_folders.add(folder)
    file = _files.setdefault(path, BlockFile(path, module))
    ran = execute(file, source, _code)
    settle(file, source, ran)

    def declare() -> bytes:
        own, others = ({i: declaration_of(block) for i, block in part.items()} for part in (ran.own, ran.others))
        return dump(RanApart(own, others, None, False))

    def failed(problem: BaseException) -> bytes:
        found = code_diagnostic(problem, f"block file {path.name}", path)
        return dump(RanApart({}, {}, found, isinstance(problem, TookTooLong)))

    if ran.problem is not None:
        return dump(RanApart({}, {}, ran.problem, ran.took_too_long))
    return _code.run(declare, failed, ours=False)


def call(type_id: str, what: str, function: Callable[..., object], arguments: bytes) -> bytes:
    """Call a function with the block type of an id and with arguments; return its result, or why there is none."""
    block_type: type[Block] | None = block_types.get(type_id)
    if block_type is None:
        text = f"block type {type_id} must be loaded, got a process without it"
        return dump((None, error(text, remedy="save its file again")))
    known = block_type

    def make() -> bytes:
        return dump((function(known, *load(arguments)), None))

    def failed(problem: BaseException) -> bytes:
        if what == "interface":
            return dump((None, interface_diagnostic(problem, known)))
        return dump((None, code_diagnostic(problem, f"{what} of {type_id}", known.source_file())))

    made: Any = _calls.run(make, failed, ours=False)
    return bytes(made)
