"""Which block types are defined: those of the catalogue, and those of a file that is being loaded.

A class is defined as soon as Python has run its `class` statement. While a file is loaded its classes are only
*staged*, so that a file that fails halfway has changed nothing. Any thread may look; whoever defines types again tells
the listeners, on its own thread.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from engine.diagnostics import Diagnostic, WarploomError, error

if TYPE_CHECKING:
    from engine.blocktypes.block import Block

    Types = dict[str, type[Block]]


class BlockDefinitionError(TypeError):
    """A block class is declared wrongly; raised when the class is defined."""


_log = logging.getLogger(__name__)
#: The block library that ships with Warploom.
LIBRARY = "blocks"
#: Packages made of the files of users' folders are called this and a number.
FOLDER_PACKAGE = "warploom_folder_"

#: Every block type of the catalogue, by id.
defined_blocks: Types = {}
#: Why the newest version of a block type is not the one that is defined, by its id.
problems: dict[str, Diagnostic] = {}

_staged: ContextVar[Types | None] = ContextVar("staged", default=None)
_listeners: list[Callable[[frozenset[str]], None]] = []


def find(type_id: str) -> type[Block] | None:
    """Return a block type, one of the file that is being loaded first; None when there is none of this id."""
    staged = _staged.get()
    found = staged.get(type_id) if staged is not None else None
    return found if found is not None else defined_blocks.get(type_id)


def check_free(type_id: str, cls: type[Block]) -> None:
    """Raise BlockDefinitionError unless a class may have this id: no other module has a type that is called so."""
    staged = _staged.get()
    if staged is not None and type_id in staged:
        raise BlockDefinitionError(f"block id {type_id} must be unique, got it twice in {_place(cls)}")
    known = defined_blocks.get(type_id)
    if known is None or known.__module__ == cls.__module__:
        return
    is_ours = known.__module__.partition(".")[0] == LIBRARY
    more = "; the first comes with Warploom, so give yours another id" if is_ours else ""
    raise BlockDefinitionError(f"block id {type_id} must be unique, got it in {_place(known)} and {_place(cls)}{more}")


def define(cls: type[Block]) -> None:
    """Enter a class that is complete: for good, or until the file it is in has been run."""
    staged = _staged.get()
    if staged is not None:
        staged[cls.id] = cls
        return
    known = defined_blocks.get(cls.id)
    defined_blocks[cls.id] = cls
    if known is not None:
        tell(declare_dependents({cls.id}))


@contextmanager
def staging() -> Iterator[Types]:
    """Keep the classes that this thread defines out of the catalogue, and give them by id."""
    staged: Types = {}
    token = _staged.set(staged)
    try:
        yield staged
    finally:
        _staged.reset(token)


def commit(types: Mapping[str, type[Block]], before: Collection[str]) -> set[str]:
    """Enter staged types in place of those of the ids `before`; return the ids of all that is different now.

    `tell` is left to the caller, who may have more to commit.
    """
    for gone in set(before) - types.keys():
        defined_blocks.pop(gone, None)
    defined_blocks.update(types)
    return declare_dependents({*types, *before})


def declare_dependents(changed: set[str]) -> set[str]:
    """Have composites that hold a changed type show its new ports; return the changed ids with theirs.

    One that cannot be made of the new versions keeps what it had, and its problem is told on its nodes.
    """
    found, waiting = set(changed), set(changed)
    for type_id in changed:
        problems.pop(type_id, None)
    while waiting:
        holders = {b for b in tuple(defined_blocks.values()) if b.made_of & waiting and b.id not in found}
        waiting = {holder.id for holder in holders}
        found |= waiting
        for holder in holders:
            problems.pop(holder.id, None)
            try:
                holder.declare()
            except (BlockDefinitionError, WarploomError) as problem:
                problems[holder.id] = error(str(problem), remedy="make the composite and its children agree")
    return found


def subscribe(listener: Callable[[frozenset[str]], None]) -> Callable[[], None]:
    """Call `listener` with the ids of types that came, went or are others, on the thread that did it.

    Returns a function that ends it, which may be called again.
    """

    def end() -> None:
        if listener in _listeners:
            _listeners.remove(listener)

    _listeners.append(listener)
    return end


def tell(changed: Collection[str]) -> None:
    """Tell the listeners of changed types."""
    for listener in tuple(_listeners):
        try:
            listener(frozenset(changed))
        except Exception:  # noqa: BLE001 - one listener that fails must not keep it from the others
            _log.exception("a change of %s could not be followed", ", ".join(sorted(changed)))


def _place(cls: type[Block]) -> str:
    """Return where a class is from, as a person knows it: the file in a folder of the user's, else the module."""
    if cls.__module__.startswith(FOLDER_PACKAGE):
        return str(getattr(sys.modules.get(cls.__module__), "__file__", cls.__module__))
    return cls.__module__
