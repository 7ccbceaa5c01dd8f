"""The catalogue: every block type that can be placed, by id and by search, and the packages they come from."""

import difflib
import importlib
import os
import pkgutil
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as NotDoneYet
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta
from platformdirs import user_config_path

from warploom.engine.arguments import checked
from warploom.engine.blocktypes.adaptive import AdaptiveBlock, adapted
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.block_types import LIBRARY
from warploom.engine.catalogue.block_errors import interface_diagnostic
from warploom.engine.catalogue.block_files import FOLDER_NAME, find_definition
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.library import Library, not_importable
from warploom.engine.catalogue.search import search
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import Diagnostic, PatchError, WarploomError, cut
from warploom.engine.user_code.limits import FILE, GRACE_S
from warploom.engine.version import installed

ENTRY_POINT_GROUP = "warploom.blocks"
#: The shipped library; patches in a clone of the repository lie beside it.
_LIBRARY_FOLDER = Path(__file__).resolve().parents[2] / FOLDER_NAME
#: How long a start waits for the files of the person's own folder; slower ones are added when they are done.
WAIT_S = 5.0
#: How long callers that need the types wait: until the slowest file is done or was stopped.
LOADED_S = FILE.total_s + GRACE_S


def loading_file(type_id: str) -> Path | None:
    """Return the trusted file that seems to define a block type and has not been loaded completely; None when there is
    none.
    """
    if not block_folders.is_loading:
        return None
    found = (find_definition(type_id, folder) for folder in block_folders.trusted)
    return next((file for file in found if file is not None), None)


def near_types(type_id: str) -> str:
    """Return a question that suggests the block types whose ids are nearest; "" when none is near."""
    near = difflib.get_close_matches(type_id, block_types.all(), n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""


class Catalogue:
    """The block types by id, including types that are defined in Python later."""

    #: The name of one of its members in messages.
    member: str = "a block"

    def get(self, type_id: str) -> type[Block] | None:
        """Return a block type, or None when there is none of this id."""
        return block_types.get(type_id)

    def is_adaptive(self, type_id: str) -> bool:
        """True for a block type whose nodes have ports that depend on their values."""
        block_type = self.get(type_id)
        return block_type is not None and block_type.is_adaptive

    def problem(self, type_id: str) -> Diagnostic | None:
        """Return why the newest version of a block type is not in use, or None when it is."""
        return block_types.problem(type_id)

    def resolve(
        self, type_id: str, patch_values: Mapping[str, Any], folder: Callable[[], Path], *, trusted: bool
    ) -> tuple[type[Block] | None, Diagnostic | None]:
        """Return the block type of a node, and why it is not the newest version of it.

        The ports of an adaptive type depend on the patch's values of the node's parameters. `folder` is the patch's
        folder, and `trusted` whether the patch is.
        """
        block_type, problem = self.get(type_id), self.problem(type_id)
        if block_type is None or not block_type.is_adaptive:
            return block_type, problem
        assert issubclass(block_type, AdaptiveBlock)
        found = adapted(block_type, patch_values, folder, trusted=trusted)
        if found.problem is not None:
            problem = interface_diagnostic(found.problem, block_type)
        return found.block_type, problem

    def problems(self) -> list[Diagnostic]:
        """Return the problems of block files in all folders."""
        return block_folders.problems()

    def require(self, type_id: str) -> type[Block]:
        """Return a block type. Raise PatchError, which suggests the nearest ids, when there is none."""
        if not isinstance(type_id, str):
            raise PatchError(f"block type must be an id such as 'math.saxpy', got {shown(type_id)}")
        block_type = self.get(type_id)
        if block_type is None:
            if (file := loading_file(type_id)) is not None:
                raise PatchError(f"block type {type_id} must be loaded first, and {file} is still running; wait for it")
            hint = near_types(type_id) or "`warploom blocks` lists them"
            raise PatchError(f"block type must be in the catalogue, got {shown(type_id)}; {hint}")
        return block_type

    def all(self) -> list[type[Block]]:
        """Return every block type, by category and title."""
        return sorted(block_types.all().values(), key=lambda block: (block.category, block.title))

    def search(self, text: str, uses: Callable[[type[Block]], int] = lambda _: 0) -> list[type[Block]]:
        """Return the block types that match every word of `text` in title, id, tags, category or help, best first.

        Initials and other tools' words match too. If nothing matches, words with a typo do. Of those
        that match equally well, the ones with most `uses` come first.
        """
        return search(self.all(), text, uses)


def load_package(name: str) -> None:
    """Import a package and every module in it, which defines its block types; WarploomError names what failed."""
    try:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(getattr(package, "__path__", []), name + "."):
            importlib.import_module(module.name)
    except Exception as problem:  # a block file may fail in any way
        raise not_importable(name, problem) from problem
    block_folders.add_package(package)


def configured_folder() -> Path:
    """Return the user's own folder of blocks for all patches."""
    return user_config_path("warploom") / FOLDER_NAME


def folder_beside(patch_folder: Path) -> Path | None:
    """Return the folder of blocks beside a patch, or None when there is none; Warploom's own is none."""
    folder = (patch_folder / FOLDER_NAME).resolve()
    return folder if folder.is_dir() and folder != _LIBRARY_FOLDER else None


@cache
def load_packages() -> None:
    """Find the shipped library, and load the installed packages, which are those in the entry-point group."""
    package = importlib.import_module(LIBRARY)
    block_types.library = Library(package)
    for type_id in block_types.defined():  # a class of a program that came first must not take the id of a library type
        block_types.library.load(type_id)
    block_folders.add_package(package)
    for name in installed_packages():
        load_package(name)


def installed_packages() -> list[str]:
    """Return the names of the packages in the entry-point group, without the shipped library."""
    header = f"[{ENTRY_POINT_GROUP}]".encode()
    others = (folder for name, folder in installed().items() if name.partition(".")[0] != "warploom")
    if not any(header in _entry_points(folder) for folder in others):
        return []
    from importlib.metadata import entry_points  # a start without such packages does not need it

    return [entry.value for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.value != LIBRARY]


def _entry_points(folder: os.DirEntry[str]) -> bytes:
    """Return the entry points of an installed package; b"" if it has none, or if this user may not read them."""
    with suppress(OSError):
        return Path(folder, "entry_points.txt").read_bytes()
    return b""


@cache
def default_catalogue() -> Catalogue:
    """Return the catalogue of the shipped library, installed packages, and the user's configuration folder.

    Block files beside a patch only run after `trust_blocks`.
    """
    load_packages()
    if configured_folder().is_dir():
        _wait_for(configured_folder(), WAIT_S)
    return Catalogue()


@checked()
def trust_blocks(folder: Path | str, *, wait_s: Annotated[float, Meta(ge=0)] = LOADED_S) -> list[Diagnostic]:
    """Run the block files of a folder and add their types to the catalogue; engines run them again when they are saved.

    The files can do everything that a program can. Returns the problems of files that failed, which don't affect the
    others. Raise WarploomError if there is no such folder. Files that take longer than `wait_s` are added when they are
    ready.
    """
    path = Path(folder)
    try:
        is_folder = path.is_dir()
    except OSError:  # no file can have that name
        is_folder = False
    if not is_folder:
        raise WarploomError(f"folder of blocks must exist, got {cut(str(path), 300)}")
    default_catalogue()  # first, so that its ids take precedence
    _wait_for(path, min(wait_s, threading.TIMEOUT_MAX))
    return block_folders.problems(path)


@checked()
def forget_blocks(folder: Path | str) -> None:
    """Remove the block types of a trusted folder from the catalogue; their nodes become placeholders.

    The types of the user's configuration folder stay: they are for all patches.
    """
    try:
        path = Path(folder).resolve()
    except (OSError, ValueError) as problem:  # ValueError for a NUL in the path
        raise WarploomError(f"folder of blocks must be a path, got {shown(folder)}") from problem
    if path != configured_folder().resolve():
        block_folders.remove(path)


def _wait_for(folder: Path, wait_s: float) -> None:
    added = block_folders.add(folder)
    if block_folders.is_running_here or block_folders.is_held(folder):
        return
    try:
        added.result(wait_s)
    except NotDoneYet:
        return  # listeners are called when it is done
