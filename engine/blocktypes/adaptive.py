"""Adaptive block types: a node's ports and parameters follow from its own values, such as a kernel file or a formula.

An adaptive type declares structural parameters, and `interface`, which says what follows from their values. Each node
then has a subclass of the type that fits its values; nodes with equal values share one.
"""

import inspect
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from engine.blocktypes.block import Block, check_name
from engine.blocktypes.declarations import check_port
from engine.blocktypes.parameters import ParameterSpec, given
from engine.descriptions.checks import BlockDefinitionError
from engine.descriptions.ports import PortSpec
from engine.diagnostics import Diagnostic, PatchError
from engine.types.bits import bits

#: How many adapted types are remembered; those that nodes use live on with their nodes.
_MOST = 1000


@dataclass(frozen=True)
class Interface:
    """What an adaptive block gets beside the ports and parameters that its type declares.

    `content` is for `describe`, which finds it as `self.content`. `files` were read to make the interface: when one of
    them is saved, it is made again. `notes` are warnings that the node shows.
    """

    ports: tuple[PortSpec, ...] = ()
    parameters: tuple[ParameterSpec, ...] = ()
    content: Any = None
    title: str = ""
    summary: str = ""
    files: frozenset[Path] = frozenset()
    notes: tuple[Diagnostic, ...] = ()


class AdaptiveBlock(Block, abstract=True):
    """A block type whose nodes get ports and parameters from their structural values."""

    is_adaptive = True
    content: ClassVar[Any] = None
    notes: ClassVar[tuple[Diagnostic, ...]] = ()
    #: The declared type that a node's type was made from; None for the declared type itself.
    origin: ClassVar["type[AdaptiveBlock] | None"] = None

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return what follows from the declared structural parameters; paths in `values` are complete.

        Any thread may call it. PatchError or KernelError says what is wrong with the values.
        """
        raise NotImplementedError(f"block {cls.id} must define interface")


@dataclass(frozen=True)
class Adapted:
    """The type of a node, and why it isn't what the node's values ask for now; None when it is.

    With a problem, the type is the last good one of these values, or else the adaptive type itself.
    """

    origin: type[AdaptiveBlock]
    block_type: type[AdaptiveBlock]
    problem: Exception | None
    values: Mapping[str, Any]
    made_of: Interface


_known: OrderedDict[tuple[object, ...], Adapted] = OrderedDict()
_lock = threading.Lock()
_generation = 0


_listeners: list[Callable[[Collection[Path]], None]] = []


def follow_files(listener: Callable[[Collection[Path]], None]) -> Callable[[], None]:
    """Call `listener` with the files that interfaces come from: those of now, and others as they come, on any thread.

    Returns a function that ends it, which may be called again.
    """
    _listeners.append(listener)
    with _lock:
        files = frozenset().union(*(known.made_of.files for known in _known.values()))
    listener(files)

    def end() -> None:
        if listener in _listeners:
            _listeners.remove(listener)

    return end


def generation() -> int:
    """Return a number that is another after each change of an interface whose values are the same."""
    return _generation


def adapted(block_type: type[AdaptiveBlock], said: Mapping[str, Any], folder: Callable[[], Path]) -> Adapted:
    """Return the type of a node of an adaptive type for which the patch says `said`.

    Relative paths start at `folder()`. Values that a declared parameter refuses count as its default.
    """
    values = {}
    for name, spec in _deciding(block_type).items():
        try:
            values[name] = given(spec, said, folder)
        except PatchError:
            values[name] = spec.default
    key = block_type, bits(values)
    with _lock:
        found = _known.get(key)
        if found is not None:
            _known.move_to_end(key)
            return found
    return _keep(key, _adapt(block_type, values, None))


def refresh(files: Collection[Path]) -> set[str]:
    """Make the interfaces that come from one of `files` again; return the ids of types of which one has changed."""
    with _lock:
        affected = [(key, known) for key, known in _known.items() if not known.made_of.files.isdisjoint(files)]
    changed = set()
    for key, known in affected:
        fresh = _keep(key, _adapt(known.origin, known.values, known))
        if fresh.block_type is not known.block_type or str(fresh.problem) != str(known.problem):
            changed.add(fresh.block_type.id)
    global _generation
    _generation += bool(changed)
    return changed


def decides_interface(block_type: type[Block] | None, parameter: str) -> bool:
    """True when the ports and parameters of a node of this type follow from the value of `parameter`."""
    return block_type is not None and issubclass(block_type, AdaptiveBlock) and parameter in _deciding(block_type)


def _deciding(block_type: type[AdaptiveBlock]) -> dict[str, ParameterSpec]:
    declared = (block_type.origin or block_type).parameters
    return {name: spec for name, spec in declared.items() if spec.structural}


def _keep(key: tuple[object, ...], made: Adapted) -> Adapted:
    with _lock:
        _known[key] = made
        while len(_known) > _MOST:
            _known.popitem(last=False)
    if made.made_of.files:
        for listener in tuple(_listeners):
            listener(made.made_of.files)
    return made


def _adapt(block_type: type[AdaptiveBlock], values: Mapping[str, Any], before: Adapted | None) -> Adapted:
    """Return the type for some values; `before` is what they gave when their files were read last."""
    try:
        made_of = block_type.interface(values)
        if before is not None and made_of == before.made_of and before.block_type is not block_type:
            return replace(before, problem=None)
        return Adapted(block_type, _subclass(block_type, made_of), None, values, made_of)
    except Exception as problem:  # noqa: BLE001 - a block's code may raise anything; the node shows it
        last = before or Adapted(block_type, block_type, None, values, Interface(files=_files(block_type, values)))
        return replace(last, problem=problem)


def _files(block_type: type[AdaptiveBlock], values: Mapping[str, Any]) -> frozenset[Path]:
    """Return the files that values name; they may be there later."""
    files = set()
    for name, spec in _deciding(block_type).items():
        if spec.type == "path" and values[name]:
            with suppress(OSError, ValueError):  # no file can have such a name
                files.add(Path(values[name]).resolve())
    return frozenset(files)


def _subclass(block_type: type[AdaptiveBlock], made_of: Interface) -> type[AdaptiveBlock]:
    """Return the type with an interface; BlockDefinitionError when that is wrong."""
    made: type[AdaptiveBlock] = types.new_class(block_type.__name__, (block_type,), {"abstract": True})
    made.ports = {**block_type.ports, **{spec.name: spec for spec in made_of.ports}}
    made.parameters = {**block_type.parameters, **{spec.name: spec for spec in made_of.parameters}}
    names = [*(port.name for port in made_of.ports), *(parameter.name for parameter in made_of.parameters)]
    for name in names:
        check_name(block_type, name)
        if names.count(name) > 1 or name in block_type.ports or name in block_type.parameters:
            raise BlockDefinitionError(f"block {block_type.id}: a port or parameter must have a new name, got {name!r}")
    sizes = frozenset(name for name, spec in made.parameters.items() if spec.is_size)
    for port in made_of.ports:
        check_port(made, port, made.ports, sizes)
    for parameter in made_of.parameters:
        try:
            parameter.coerce(parameter.default)
        except PatchError as problem:
            raise BlockDefinitionError(f"block {block_type.id}: default of {problem}") from None
    made.title, made.summary = made_of.title or block_type.title, made_of.summary or block_type.summary
    own = f"{made_of.summary}\n\n" if made_of.summary else ""
    made.__doc__ = own + inspect.cleandoc(block_type.__doc__ or "")
    made.content, made.notes, made.origin = made_of.content, made_of.notes, block_type
    made.__module__ = block_type.__module__
    return made
