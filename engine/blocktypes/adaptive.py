"""Adaptive block types: a node's ports and parameters follow from its own values, such as a kernel file or a formula.

An adaptive type declares structural parameters, and `interface`, which returns the ports and parameters for their
values. Each node then has a subclass of the type that fits its values; nodes with equal values share one.

Each interface keeps the `Reading` of the files that it was made of. `adapted` compares it with the disk at each call
and makes the interface again if a file has changed, so a node's type follows the current files.
"""

import inspect
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from warploom.engine.blocktypes.block import Block, block_types, check_name
from warploom.engine.blocktypes.declarations import check_port
from warploom.engine.blocktypes.parameters import ParameterSpec, given
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Diagnostic, PatchError
from warploom.engine.processes.scope import Cancelled
from warploom.engine.readings import Disk, Reading, digest
from warploom.engine.types.bits import bit_key

#: The most adapted types that are remembered; a forgotten type lives as long as nodes use it.
_MOST = 1000


class Interface(msgspec.Struct, frozen=True):
    """The ports and parameters of an adaptive block, in addition to those that its type declares.

    `regions` are a region's branches, instead of those of its type.

    `describe` reads `content` as `self.content`. `files` were read to make the interface, besides those read by
    `engine.readings`: when one of them is saved, the interface is made again. `notes` are warnings that the node shows.
    `stem` begins the ids of new nodes; "" for the end of the type's id.
    """

    ports: tuple[PortSpec, ...] = ()
    parameters: tuple[ParameterSpec, ...] = ()
    content: Any = None
    title: str = ""
    summary: str = ""
    files: frozenset[Path] = frozenset()
    notes: tuple[Diagnostic, ...] = ()
    stem: str = ""
    regions: tuple[str, ...] = ()


class AdaptiveBlock(Block, abstract=True):
    """A block type whose nodes get ports and parameters from their structural values."""

    is_adaptive = True
    content: ClassVar[Any] = None
    notes: ClassVar[tuple[Diagnostic, ...]] = ()
    stem: ClassVar[str] = ""
    #: The declared type that a node's type was made from; None for the declared type itself.
    origin: ClassVar["type[AdaptiveBlock] | None"] = None

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the interface for values of the declared structural parameters; paths in `values` are complete.

        Any thread may call it. Raises a PatchError or KernelError for wrong values.
        """
        raise NotImplementedError(f"block {cls.id} must define interface")


class Adapted(msgspec.Struct, frozen=True):
    """The type of a node, and why it doesn't match the node's current values; None when it does.

    With a problem, the type is the adaptive type itself. `reading` has the contents of the files at that time. So the
    type depends only on the values and the disk; the engine that runs a node keeps its last good version.
    """

    origin: type[AdaptiveBlock]
    block_type: type[AdaptiveBlock]
    problem: Exception | None
    values: Mapping[str, Any]
    made_of: Interface | None
    reading: Reading


_known: OrderedDict[tuple[object, ...], Adapted] = OrderedDict()
_lock = threading.Lock()


def readings() -> list[Reading]:
    """Return the contents of the files of all interfaces, from when these were made."""
    with _lock:
        return [known.reading for known in _known.values()]


def adapted(
    block_type: type[AdaptiveBlock], patch_values: Mapping[str, Any], folder: Callable[[], Path], *, trusted: bool
) -> Adapted:
    """Return the type of a node of an adaptive type, for its values in the patch and the current files.

    Relative paths start at `folder()`. Kernels of a patch that isn't trusted include only files of that folder, of the
    person's and of CUDA. Values that a declared parameter refuses count as its default. If files have
    changed since the last call, the listeners of `block_types` are called.
    """
    values = {}
    for name, spec in _deciding(block_type).items():
        try:
            values[name] = given(spec, patch_values, folder)
        except PatchError:
            values[name] = spec.default
    reach = None if trusted else folder().resolve()
    key = block_type, bit_key(values), reach
    with _lock:
        found = _known.get(key)
        if found is not None:
            _known.move_to_end(key)
    if found is None:
        return _keep(key, _adapt(block_type, values, None, reach))
    if not found.reading.changed():
        return found
    fresh, has_changed = _renew(key, found)
    if has_changed:
        block_types.tell({fresh.block_type.id})
    return fresh


def refresh(disk: Disk) -> set[str]:
    """Make the interfaces again whose files have changed; return the ids of types with a changed interface."""
    with _lock:
        affected = [(key, known) for key, known in _known.items() if known.reading.changed(disk.ask)]
    renewed = [_renew(key, known) for key, known in affected]
    return {fresh.block_type.id for fresh, has_changed in renewed if has_changed}


def make_again(type_id: str) -> bool:
    """Make the interfaces of a type again that could not be made; return True if there are changed ones."""
    with _lock:
        failed = [(k, known) for k, known in _known.items() if known.origin.id == type_id and known.problem is not None]
    renewed = [_renew(*each) for each in failed]
    return any(has_changed for _, has_changed in renewed)


def _renew(key: tuple[object, ...], known: Adapted) -> tuple[Adapted, bool]:
    """Make an interface again; return it, and whether it has changed."""
    fresh = _keep(key, _adapt(known.origin, known.values, known, known.reading.reach))
    has_changed = fresh.block_type is not known.block_type or str(fresh.problem) != str(known.problem)
    if has_changed:
        block_types.count_change()
    return fresh, has_changed


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
    return made


def _adapt(
    block_type: type[AdaptiveBlock], values: Mapping[str, Any], before: Adapted | None, reach: Path | None
) -> Adapted:
    """Return the type for some values; `before` is the result for them when their files were last read."""
    reading = Reading(reach)
    with reading.under_way(alone=True):
        try:
            made_of = block_type.interface(values)
            for file in made_of.files:
                digest(file)
            made = before.block_type if before and made_of == before.made_of else _subclass(block_type, made_of)
            return Adapted(block_type, made, None, values, made_of, reading)
        except Cancelled:
            raise  # it must not be kept as the kernel's problem
        except Exception as problem:  # noqa: BLE001 - a block's code may raise anything; the node shows it
            for file in (*_files(block_type, values), *(before.reading.files if before is not None else ())):
                digest(file)
            return Adapted(block_type, block_type, problem, values, None, reading)


def _files(block_type: type[AdaptiveBlock], values: Mapping[str, Any]) -> list[Path]:
    """Return the files that values name, including files that don't exist yet."""
    return [Path(values[name]) for name, spec in _deciding(block_type).items() if spec.type == "path" and values[name]]


def _subclass(block_type: type[AdaptiveBlock], made_of: Interface) -> type[AdaptiveBlock]:
    """Create a subclass with the ports and parameters of an interface.

    Raise BlockDefinitionError if the interface is invalid.
    """
    made: type[AdaptiveBlock] = types.new_class(block_type.__name__, (block_type,), {"abstract": True})
    made.ports = {**block_type.ports, **{spec.name: spec for spec in made_of.ports}}
    made.parameters = {**block_type.parameters, **{spec.name: spec for spec in made_of.parameters}}
    names = [*(port.name for port in made_of.ports), *(parameter.name for parameter in made_of.parameters)]
    for name in names:
        check_name(block_type, name)
        if names.count(name) > 1 or name in block_type.ports or name in block_type.parameters:
            raise BlockDefinitionError(
                f"block {block_type.id}: a port or parameter must have a name that no other has, got {name!r}"
            )
    sizes = frozenset(name for name, spec in made.parameters.items() if spec.is_size)
    for port in made_of.ports:
        check_port(made, port, made.ports, sizes)
    for parameter in made_of.parameters:
        try:
            parameter.coerce(parameter.default)
        except PatchError as problem:
            raise BlockDefinitionError(f"block {block_type.id}: default of {problem}") from None
    made.title, made.summary = made_of.title or block_type.title, made_of.summary or block_type.summary
    made.stem, made.regions = made_of.stem, made_of.regions or block_type.regions
    own = f"{made_of.summary}\n\n" if made_of.summary else ""
    made.__doc__ = own + inspect.cleandoc(block_type.__doc__ or "")
    made.content, made.notes, made.origin = made_of.content, made_of.notes, block_type
    made.__module__ = block_type.__module__
    return made
