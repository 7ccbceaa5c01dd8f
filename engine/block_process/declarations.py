"""`Declaration`: a block type as data, and the stand-in that is made of it where the type's code must not run."""

import io
import pickle
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from warploom.engine.blocktypes.adaptive import AdaptiveBlock, Interface
from warploom.engine.blocktypes.block import Apart, Block
from warploom.engine.blocktypes.describing import shows_pictures
from warploom.engine.blocktypes.updated_blocks import UpdatedBlock
from warploom.engine.diagnostics import WarploomError
from warploom.engine.inner_patches.chain_members import is_call
from warploom.engine.patch.composite import Composite
from warploom.engine.readings import Reading, reach
from warploom.engine.types import DType, Struct, fixed_array

#: The attributes that make up a declaration, besides the plain ones that an author may set.
_DECLARED = (
    *("id", "version", "category", "title", "summary", "tags", "regions", "ports", "parameters", "renamed"),
    *("values_out", "made_of", "holds_regions", "as_child_graph"),
)
#: Methods that the editor calls, and so a stand-in has if the author wrote one.
_METHODS = ("interface", "spanning")
#: Where classes and functions in a declaration may come from: it is data, and no code of its author's.
_OURS = "warploom"
_KNOWN = (_OURS, "numpy", "msgspec", "pathlib", "collections", "copyreg")
_BUILTINS = frozenset({"frozenset", "set", "complex", "bytearray", "slice", "range"})


@dataclass(frozen=True)
class Declaration:
    """What a block type declares; `base` is the nearest of our classes that it is made from, by module and name.

    `methods` are those of `_METHODS` that its author wrote.
    """

    name: str
    module: str
    doc: str | None
    file: Path | None
    base: tuple[str, str]
    attributes: Mapping[str, Any]
    methods: frozenset[str]
    shows_pictures: bool
    only_calls: bool


def declaration_of(block_type: type[Block]) -> Declaration:
    """Return a block type as data. It runs the type's `describe`, unless that was done before."""
    own = [cls for cls in block_type.__mro__ if not _is_known(cls.__module__)]
    base = next(cls for cls in block_type.__mro__ if _is_known(cls.__module__))
    given = {name: value for cls in reversed(own) for name, value in vars(cls).items() if not name.startswith("_")}
    attributes = {name: value for name, value in given.items() if hasattr(base, name) and _is_plain(value)}
    attributes |= {name: getattr(block_type, name) for name in _DECLARED if hasattr(block_type, name)}
    return Declaration(
        block_type.__name__,
        block_type.__module__,
        block_type.__doc__,
        block_type.source_file(),
        (base.__module__, base.__qualname__),
        attributes,
        frozenset(name for name in _METHODS if any(name in vars(cls) for cls in own)),
        shows_pictures(block_type),
        is_call(block_type),
    )


def stand_in(made_of: Declaration, apart: Apart) -> type[Block]:
    """Return a block type with the ports and parameters of a declaration; `apart` runs its code."""
    module, name = made_of.base
    base: Any = getattr(import_module(module), name)
    made: Any = types.new_class(made_of.name, (base,), {"abstract": True})
    for attribute, value in made_of.attributes.items():
        setattr(made, attribute, value)
    made.__module__, made.__doc__, made.apart = made_of.module, made_of.doc, apart
    made._file, made._folder = made_of.file, made_of.file and made_of.file.parent
    if issubclass(made, Composite):
        made.declare = classmethod(_declare_again)
    if issubclass(made, AdaptiveBlock) and "interface" in made_of.methods:
        made.interface = classmethod(_interface)
    if issubclass(made, UpdatedBlock) and "spanning" in made_of.methods:
        made.spanning = classmethod(_spanning)
    return made  # type: ignore[no-any-return]  # it is a class of blocks


def _declare_again(cls: type[Block]) -> None:
    """Follow a change of the types that a composite holds."""
    assert cls.apart is not None
    for attribute, value in cls.apart.ask("compose", _attributes_again).items():
        setattr(cls, attribute, value)


def _attributes_again(block_type: type[Block]) -> Mapping[str, Any]:
    block_type.declare()
    return {name: getattr(block_type, name) for name in _DECLARED if hasattr(block_type, name)}


def _interface(cls: type[AdaptiveBlock], values: Mapping[str, Any]) -> Interface:
    assert cls.apart is not None
    return cls.apart.ask("interface", _interface_of, dict(values), reach())


def _interface_of(block_type: type[AdaptiveBlock], values: Mapping[str, Any], within: Path | None) -> Interface:
    reading = Reading(within)
    with reading.under_way(alone=True):
        made = block_type.interface(values)
    own = made.ports, made.parameters, None, made.title, made.summary
    return Interface(*own, made.files | reading.files, made.notes, made.stem, made.regions)


def _spanning(cls: type[UpdatedBlock], low: float, high: float, value: float) -> dict[str, Any]:
    assert cls.apart is not None
    return cls.apart.ask("spanning", _spanning_of, low, high, value)


def _spanning_of(block_type: type[UpdatedBlock], low: float, high: float, value: float) -> dict[str, Any]:
    return block_type.spanning(low, high, value)


def _is_known(module: str) -> bool:
    return module.partition(".")[0] in (_OURS, "builtins", "typing")


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | tuple | frozenset | dict | None)


# As bytes


def dump(value: object) -> bytes:
    """Return data as bytes. Raise pickle.PicklingError, or what else pickle raises, for a value that is no data."""
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def load(data: bytes) -> Any:
    """Return the value of bytes from a process that runs a person's code.

    Raise WarploomError if they hold anything but data: numbers, texts, arrays and objects of our classes.
    """
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except WarploomError:
        raise
    except Exception as problem:
        raise WarploomError(f"declaration must be data, got {type(problem).__name__}: {problem}") from problem


class _Pickler(pickle.Pickler):
    """Writes structs of a person's own as data, since their modules are only in the process that runs these."""

    def reducer_override(self, value: Any) -> Any:
        """Return how an element type that no module of ours holds is made again."""
        if not isinstance(value, DType) or _is_known(value.__module__):
            return NotImplemented
        fields = {name: _field(field) for name, field in value.fields.items()}
        return _struct, (value.__name__, value.__module__, fields)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function of ours. Raise WarploomError for any other."""
        if module.partition(".")[0] in _KNOWN or (module == "builtins" and name in _BUILTINS):
            if module.partition(".")[0] == _OURS and module not in sys.modules:
                import_module(module)
            return super().find_class(module, name)
        raise WarploomError(f"values of a declaration must be plain, got a {name} of {module}")


def _struct(name: str, module: str, fields: dict[str, tuple[DType, tuple[int, ...]]]) -> DType:
    annotations = {field: of for field, (of, _) in fields.items()}
    arrays = {field: fixed_array(*dims) for field, (_, dims) in fields.items() if dims}
    return DType(name, (Struct,), {"__annotations__": annotations, "__module__": module, **arrays})


def _field(dtype: DType) -> tuple[DType, tuple[int, ...]]:
    """Return the type of a field, or of its elements and the sizes of the array."""
    return (dtype.of, dtype.numpy.shape) if dtype.kind == "array" and dtype.of is not None else (dtype, ())
