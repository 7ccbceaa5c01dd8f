"""`BlockTypes`: the defined block types."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Generic, Protocol, TypeVar

from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.diagnostics import Diagnostic, WarploomError, error

#: The block library that ships with Warploom.
LIBRARY = "warploom.blocks"
#: The name, before a number, of the package for the modules of a user's folder.
FOLDER_PACKAGE = "warploom_folder_"

_log = logging.getLogger(__name__)


def is_ours(block_type: type) -> bool:
    """True for a block type of Warploom's own library, whose code always ends."""
    return block_type.__module__.startswith(f"{LIBRARY}.")


class TypeLoader(Protocol):
    """Imports the modules that define block types."""

    def is_waiting(self, module: str) -> bool:
        """True for a module that will be imported once it is needed."""

    def load(self, type_id: str) -> None:
        """Import the modules that may define a type. Raise WarploomError if one can't be imported."""

    def load_all(self) -> None:
        """Import the modules that were not imported yet."""


class Declared(Protocol):
    """A block type, as far as its place among the others depends on it."""

    id: ClassVar[str]
    made_of: ClassVar[frozenset[str]]

    @classmethod
    def declare(cls) -> None:
        """Make its ports again, since a type that it is made of has changed."""


B = TypeVar("B", bound=Declared)


class BlockTypes(Generic[B]):
    """The defined block types: those of the catalogue, and those of a file that is being loaded.

    A class is defined as soon as Python has run its `class` statement. While a file is loaded its classes are only
    *staged*, so a file that fails halfway changes nothing. A module of the library is imported when one of its types is
    first asked for. Any thread may read; listeners are called on the thread that changes the types.
    """

    def __init__(self) -> None:
        #: A number that changes whenever a type is another one, or has other ports or parameters.
        self.edition = 0
        self._editions = itertools.count(1)
        #: The library, once it is in the catalogue.
        self.library: TypeLoader | None = None
        self._defined: dict[str, type[B]] = {}
        self._problems: dict[str, Diagnostic] = {}
        self._staged: ContextVar[dict[str, type[B]] | None] = ContextVar("staged", default=None)
        self._file: ContextVar[str] = ContextVar("file", default="")
        self._listeners: list[Callable[[frozenset[str]], None]] = []

    def get(self, type_id: str) -> type[B] | None:
        """Return a block type, preferring one of the file that is being loaded; None when there is none of this id."""
        staged = self._staged.get()
        found = staged.get(type_id) if staged is not None else None
        if found is None:
            found = self._defined.get(type_id)
        if found is None and self.library is not None:
            self.library.load(type_id)
            found = self._defined.get(type_id)
        return found

    def all(self) -> dict[str, type[B]]:
        """Return every type by its id, without those that are staged."""
        if self.library is not None:
            self.library.load_all()
        return self._defined.copy()

    def defined(self) -> dict[str, type[B]]:
        """Return the types so far by their ids, without those that are staged."""
        return self._defined.copy()

    def problem(self, type_id: str) -> Diagnostic | None:
        """Return why the newest version of a type is not the one that is defined; None when it is."""
        return self._problems.get(type_id)

    def check_free(self, type_id: str, cls: type[B]) -> None:
        """Raise BlockDefinitionError when another module has a type of this id, or the same file defines it twice."""
        staged = self._staged.get()
        if staged is not None and type_id in staged:
            raise BlockDefinitionError(f"block id {type_id} must be unique, got it twice in {_origin(cls)}")
        known = self._defined.get(type_id) if is_ours(cls) else self.get(type_id)
        if known is None or known.__module__ == cls.__module__:
            return
        both = f"{_origin(known)} and {_origin(cls)}"
        more = "; the first comes with Warploom, so give yours another id" if is_ours(known) else ""
        raise BlockDefinitionError(f"block id {type_id} must be unique, got it in {both}{more}")

    def define(self, cls: type[B]) -> None:
        """Add a complete class to the defined types; while its file is being loaded, only stage it.

        What the file is the first to import of the library is defined at once.
        """
        staged = self._staged.get()
        if staged is not None and (cls.__module__ == self._file.get() or not is_ours(cls)):
            staged[cls.id] = cls
            return
        known = self._defined.get(cls.id)
        self._defined[cls.id] = cls
        if known is not None:
            self.tell(self._declare_dependents({cls.id}))

    @contextmanager
    def staging(self, module: str) -> Iterator[dict[str, type[B]]]:
        """Keep the classes out of the catalogue that this thread defines in a file's module; yield them by id."""
        staged: dict[str, type[B]] = {}
        tokens = self._staged.set(staged), self._file.set(module)
        try:
            yield staged
        finally:
            self._staged.reset(tokens[0])
            self._file.reset(tokens[1])

    def commit(self, types: Mapping[str, type[B]], before: Collection[str]) -> set[str]:
        """Replace the types of the ids `before` with staged ones; return the ids of all types that changed.

        Listeners are not called: the caller may have more to commit, and calls `tell` at the end.
        """
        for gone in set(before) - types.keys():
            self._defined.pop(gone, None)
        self._defined.update(types)
        self.count_change()
        return self._declare_dependents({*types, *before})

    def count_change(self) -> None:
        """Set `edition` to a new number. Any thread may call this."""
        self.edition = next(self._editions)

    def blame(self, type_ids: Iterable[str], problem: Diagnostic) -> None:
        """Remember why the newest versions of these types are not defined."""
        self._problems.update(dict.fromkeys(type_ids, problem))

    def forgive(self, type_ids: Iterable[str]) -> None:
        """Forget the problems of these types."""
        for type_id in type_ids:
            self._problems.pop(type_id, None)

    def subscribe(self, listener: Callable[[frozenset[str]], None]) -> Callable[[], None]:
        """Call `listener` with the ids of types that were added, removed or changed, on the thread that changed them.

        Return a function that ends the subscription; it may be called more than once.
        """

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        self._listeners.append(listener)
        return end

    def tell(self, changed: Collection[str]) -> None:
        """Call the listeners with the ids of changed types."""
        self.count_change()
        for listener in tuple(self._listeners):
            try:
                listener(frozenset(changed))
            except Exception:  # noqa: BLE001 - the other listeners must still be called
                _log.exception("a change of %s could not be followed", ", ".join(sorted(changed)))

    def _declare_dependents(self, changed: set[str]) -> set[str]:
        """Update the ports of composites that hold a changed type; return the changed ids, including theirs.

        A composite that can't be made of the new versions keeps its ports, and its nodes show the problem.
        """
        found, waiting = set(changed), set(changed)
        self.forgive(changed)
        while waiting:
            holders = {b for b in tuple(self._defined.values()) if b.made_of & waiting and b.id not in found}
            waiting = {holder.id for holder in holders}
            found |= waiting
            self.forgive(waiting)
            for holder in holders:
                try:
                    holder.declare()
                except (BlockDefinitionError, WarploomError) as problem:
                    remedy = "make the composite and its children agree"
                    self.blame([holder.id], error(str(problem), remedy=remedy))
        return found


def _origin(cls: type) -> str:
    """Return the origin of a class for messages: the file in a user's folder, otherwise the module."""
    if cls.__module__.startswith(FOLDER_PACKAGE):
        return str(getattr(sys.modules.get(cls.__module__), "__file__", cls.__module__))
    return cls.__module__
