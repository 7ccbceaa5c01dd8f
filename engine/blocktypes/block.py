"""Block types: the `Block` base class, the defined types, and the descriptions of blocks.

A block is passive. It holds parameter values and describes work; it never calls a device.
"""

import inspect
import logging
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from warploom.engine.blocktypes.declarations import ValueSpec, collect
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import (
    BlockCallError,
    BlockDefinitionError,
    declaring,
    sequence,
    shown,
    text,
    texts,
    whole,
)
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Diagnostic, PatchError, WarploomError, error

#: The block library that ships with Warploom.
LIBRARY = "warploom.blocks"
#: The name, before a number, of the package for the modules of a user's folder.
FOLDER_PACKAGE = "warploom_folder_"

T = TypeVar("T")
_log = logging.getLogger(__name__)
_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$")
_ALGEBRA = "Linear Algebra"
#: The names of categories that differ from the first part of an id.
_CATEGORIES = {"io": "IO", "value": "Values", "filter": "Image", "linalg": _ALGEBRA, "sparse": _ALGEBRA}
#: Names that ports and parameters can't have: attributes of a block, and keywords of `Patch.add` and `Patch.set`.
_RESERVED = frozenset({"node", "values", "node_id", "position", "title", "gesture", "region"})


class Apart(Protocol):
    """The class in another process that a stand-in stands for."""

    @property
    def shows_pictures(self) -> bool:
        """True for a block type that shows a picture, see `shows_pictures`."""

    @property
    def only_calls(self) -> bool:
        """True for a block type that only calls libraries."""

    def ask(self, what: str, function: Callable[..., T], *arguments: object) -> T:
        """Return what a function of one of our modules returns there for the class and the arguments.

        `what` names the code of the block's that it calls, for messages. Raise WarploomError if that fails.
        """


class Block:
    """One placed block: a type's behaviour with a node's id and parameter values.

    Subclass with `id=` (dotted, lower case), a docstring, annotated ports and parameters, and `describe`. `version=` is
    1 and `category=` the first part of the id unless given. `values` holds every parameter's current value.
    """

    id: ClassVar[str]
    version: ClassVar[int]
    category: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    tags: ClassVar[tuple[str, ...]]
    ports: ClassVar[dict[str, PortSpec]]
    parameters: ClassVar[dict[str, ParameterSpec]]
    #: True for value blocks (`engine.blocktypes.value_blocks`), and for live blocks (`engine.blocktypes.live_blocks`).
    is_value: ClassVar[bool] = False
    is_live: ClassVar[bool] = False
    #: True if the type may have value outputs, and these.
    has_values: ClassVar[bool] = False
    values_out: ClassVar[dict[str, ValueSpec]] = {}
    #: Ids of the block types that a composite holds; its ports and parameters follow from theirs.
    made_of: ClassVar[frozenset[str]] = frozenset()
    #: The names that ports and parameters had before (`replaces`), and those that they have now.
    renamed: ClassVar[dict[str, str]] = {}
    #: True when ports and parameters follow from the node's values (`engine.blocktypes.adaptive`).
    is_adaptive: ClassVar[bool] = False
    #: The scopes that a region block opens: ("",) for one body, ("", "else") or ("", "1", "2") for branches, and () for
    #: other blocks.
    regions: ClassVar[tuple[str, ...]] = ()
    #: The input, or drivable parameter, that each output passes on while the block is bypassed. Without any, they
    #: follow from the types of the ports (`engine.patch.organise.bypass`).
    bypass_ports: ClassVar[dict[str, str]] = {}
    #: For a stand-in, whose code runs in another process: the class there. A stand-in has no code of its own.
    apart: ClassVar[Apart | None] = None
    #: True for a block that is updated each frame: its parameters are plain values.
    _runs: bool = False
    _file: ClassVar[Path | None] = None
    _folder: ClassVar[Path | None] = None

    def __init_subclass__(
        cls,
        *,
        id: str = "",
        version: int = 1,
        category: str | None = None,
        title: str | None = None,
        tags: tuple[str, ...] = (),
        regions: tuple[str, ...] = (),
        abstract: bool = False,
    ) -> None:
        if abstract:
            return  # a base class of block types
        with declaring():
            own = cls.__name__
            cls.version = whole(own, "version", version, 1)
            cls.tags, cls.regions = texts(own, "tags", tags), tuple(sequence(own, "regions", regions))
            category = category if category is None else text(own, "category", category)
            title = title if title is None else text(own, "title", title)
        if not isinstance(id, str) or not _ID.match(id):
            raise BlockDefinitionError(
                f"{cls.__name__}: id must be like 'category.name' in lower case, got {shown(id)}"
            )
        if not (cls.__doc__ or "").strip():
            raise BlockDefinitionError(f"block {id} must have a docstring that says what it does, got none")
        block_types.check_free(id, cls)
        cls.id = id
        prefix = id.split(".")[0]
        cls.category = category or _CATEGORIES.get(prefix, prefix.replace("_", " ").title())
        cls.title = title or re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])", " ", cls.__name__)
        cls.summary = inspect.cleandoc(cls.__doc__ or "").splitlines()[0]
        cls._file = _defining_file(cls)
        cls._folder = cls._file and cls._file.parent
        cls.declare()
        block_types.define(cls)

    def __init__(self, node: str = "", values: Mapping[str, Any] | None = None) -> None:
        self.node = node
        self.values: dict[str, Any] = {name: spec.default for name, spec in self.parameters.items()}
        for name, value in (values or {}).items():
            self.set(name, value)

    def set(self, name: str, value: Any) -> None:
        """Give a parameter a value. Raise PatchError if there is no such parameter or the value does not fit."""
        self.values[name] = self.parameter(name).coerce(value)

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return values that a person may choose now for a parameter that `offers` some, with their titles.

        The engine's process calls this on a thread of its own, so it may take some seconds. Raise PatchError to say why
        there is none, such as a missing library.
        """
        return {}

    @classmethod
    def parameter(cls, name: str) -> ParameterSpec:
        """Return a parameter's declaration. Raise PatchError, which lists the parameters, when there is none."""
        try:
            return cls.parameters[cls.renamed.get(name, name)]
        except (KeyError, TypeError):  # TypeError for a name that can't be hashed
            rule = f"one of {', '.join(cls.parameters)}" if cls.parameters else "left out, since the block has none"
            raise PatchError(f"{cls.id}: parameter must be {rule}, got {shown(name)}") from None

    @classmethod
    def declare(cls) -> None:
        """Set the type's ports and parameters from its declarations. Raise BlockDefinitionError if these are wrong."""
        ports, parameters = cls._declared()
        if not ports and not cls.is_value and not cls.is_adaptive:
            raise BlockDefinitionError(f"block {cls.id} must have at least one port, got none")
        cls.ports, cls.parameters, cls.renamed = ports, parameters, {}
        specs: list[PortSpec | ParameterSpec | ValueSpec]
        specs = [*ports.values(), *parameters.values(), *cls.values_out.values()]
        names = {spec.name for spec in specs}
        for spec in specs:
            for old in spec.replaces:
                if old in names or old in cls.renamed:
                    text = f"{spec.name} must replace a name that nothing else has or replaces, got {old!r}"
                    raise BlockDefinitionError(f"block {cls.id}: {text}")
                cls.renamed[old] = spec.name

    @classmethod
    def _declared(cls) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
        """Return the ports and parameters of the type; a composite adds what it exposes."""
        ports, parameters = collect(cls)
        for name in (*ports, *parameters):
            check_name(cls, name)
        return ports, parameters

    @abstractmethod
    def describe(self, build: BlockBuilder) -> None:
        """Describe the block's work by calling methods of `build`."""
        raise NotImplementedError(f"block {self.id} must define describe")

    @classmethod
    def source_file(cls) -> Path | None:
        """The file that defines the type; None when it has none."""
        return cls._file

    @classmethod
    def source_folder(cls) -> Path | None:
        """The folder of the file that defines the type, which is searched for its kernels; None when it has no file."""
        return cls._folder

    @classmethod
    def inputs(cls) -> list[PortSpec]:
        """Input ports in order of declaration."""
        return [spec for spec in cls.ports.values() if spec.is_input]

    @classmethod
    def outputs(cls) -> list[PortSpec]:
        """Output ports in order of declaration."""
        return [spec for spec in cls.ports.values() if not spec.is_input]

    @classmethod
    def value_outputs(cls) -> list[ValueSpec]:
        """Value outputs in order of declaration; only value blocks and live blocks have some."""
        return list(cls.values_out.values())


#: Returns a node's block type, or None when it is unknown.
TypeOf = Callable[[str], type[Block] | None]


def _defining_file(cls: type[Block]) -> Path | None:
    try:
        return Path(inspect.getfile(cls))
    except (TypeError, OSError):
        return None


def is_reserved(name: str) -> bool:
    """True for a name that no port or parameter can have."""
    return name in _RESERVED | Block.__annotations__.keys() or hasattr(Block, name)


def check_name(cls: type[Block], name: str) -> None:
    """Raise BlockDefinitionError when a port or parameter can't be called `name`."""
    if is_reserved(name):
        raise BlockDefinitionError(
            f"block {cls.id}: a port or parameter must have a name that blocks don't use themselves, got {name!r}"
        )


class TypeLoader(Protocol):
    """Imports the modules that define block types."""

    def is_waiting(self, module: str) -> bool:
        """True for a module that will be imported once it is needed."""

    def load(self, type_id: str) -> None:
        """Import the modules that may define a type. Raise WarploomError if one can't be imported."""

    def load_all(self) -> None:
        """Import the modules that were not imported yet."""


class BlockTypes:
    """The defined block types: those of the catalogue, and those of a file that is being loaded.

    A class is defined as soon as Python has run its `class` statement. While a file is loaded its classes are only
    *staged*, so a file that fails halfway changes nothing. A module of the library is imported when one of its types is
    first asked for. Any thread may read; listeners are called on the thread that changes the types.
    """

    def __init__(self) -> None:
        #: A number that changes whenever a type is another one, or has other ports or parameters.
        self.edition = 0
        #: The library, once it is in the catalogue.
        self.library: TypeLoader | None = None
        self._defined: dict[str, type[Block]] = {}
        self._problems: dict[str, Diagnostic] = {}
        self._staged: ContextVar[dict[str, type[Block]] | None] = ContextVar("staged", default=None)
        self._file: ContextVar[str] = ContextVar("file", default="")
        self._listeners: list[Callable[[frozenset[str]], None]] = []

    def get(self, type_id: str) -> type[Block] | None:
        """Return a block type, preferring one of the file that is being loaded; None when there is none of this id."""
        staged = self._staged.get()
        found = staged.get(type_id) if staged is not None else None
        if found is None:
            found = self._defined.get(type_id)
        if found is None and self.library is not None:
            self.library.load(type_id)
            found = self._defined.get(type_id)
        return found

    def all(self) -> dict[str, type[Block]]:
        """Return every type by its id, without those that are staged."""
        if self.library is not None:
            self.library.load_all()
        return self._defined.copy()

    def defined(self) -> dict[str, type[Block]]:
        """Return the types so far by their ids, without those that are staged."""
        return self._defined.copy()

    def problem(self, type_id: str) -> Diagnostic | None:
        """Return why the newest version of a type is not the one that is defined; None when it is."""
        return self._problems.get(type_id)

    def check_free(self, type_id: str, cls: type[Block]) -> None:
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

    def define(self, cls: type[Block]) -> None:
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
    def staging(self, module: str) -> Iterator[dict[str, type[Block]]]:
        """Keep the classes out of the catalogue that this thread defines in a file's module; yield them by id."""
        staged: dict[str, type[Block]] = {}
        tokens = self._staged.set(staged), self._file.set(module)
        try:
            yield staged
        finally:
            self._staged.reset(tokens[0])
            self._file.reset(tokens[1])

    def commit(self, types: Mapping[str, type[Block]], before: Collection[str]) -> set[str]:
        """Replace the types of the ids `before` with staged ones; return the ids of all types that changed.

        Listeners are not called: the caller may have more to commit, and calls `tell` at the end.
        """
        for gone in set(before) - types.keys():
            self._defined.pop(gone, None)
        self._defined.update(types)
        self.edition += 1
        return self._declare_dependents({*types, *before})

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
        self.edition += 1
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


#: The block types of this program.
block_types = BlockTypes()


def _origin(cls: type[Block]) -> str:
    """Return the origin of a class for messages: the file in a user's folder, otherwise the module."""
    if cls.__module__.startswith(FOLDER_PACKAGE):
        return str(getattr(sys.modules.get(cls.__module__), "__file__", cls.__module__))
    return cls.__module__


#: Equal descriptions share one object, so facts derived from a description are computed once for all its blocks. The
#: keys refer to them weakly too, with their hashes and their equality: a description is freed with the last block that
#: uses it.
_shared: WeakValueDictionary[tuple[object, ...], BlockDescription] = WeakValueDictionary()
_shows: WeakKeyDictionary[type[Block], bool] = WeakKeyDictionary()


def describe(block: Block) -> BlockDescription:
    """Return the description of `block`; exceptions of its `describe` propagate.

    Blocks with equal descriptions share one object, unless they have arrays or contain blocks, which may have some.
    """
    if (apart := block.apart) is not None:
        return apart.ask("describe", _described, block.node, block.values)
    structural = {name: block.values[name] for name, spec in block.parameters.items() if spec.is_size}
    live = [name for name, spec in block.parameters.items() if not spec.structural]
    build = BlockBuilder(block.id, block.ports, live, structural, block.source_folder())
    run_describe(block, build)
    made = build.commit()
    if block.is_live and not (made.feeds or made.watches):
        raise BlockCallError(f"{block.id}: describe of a live block must feed or watch a buffer, got neither")
    if not block.is_live and (made.feeds or made.watches):
        raise BlockCallError(
            f"{block.id}: a block that feeds or watches a buffer must be a LiveBlock, got another block"
        )
    if made.control is not None and made.control.branches != tuple(block.regions):
        raise BlockCallError(
            f"{block.id}: regions of the class must be {made.control.branches}, as its describe makes them, "
            f"got {tuple(block.regions)}"
        )
    unknown = [name for name in made.numbers if name not in block.values_out]
    if unknown:
        known = ", ".join(block.values_out) or "none"
        raise BlockCallError(f"{block.id}: build.value must name a value output ({known}), got {unknown[0]!r}")
    constants = [(name, repr(block.values[name])) for name, spec in block.parameters.items() if spec.is_constant]
    if constants:
        made = replace(made, constants=tuple(constants))
    if made.brings_arrays:
        return made
    return _shared.setdefault((ref(made), made.displays, made.kernel_folders), made)


def _described(block_type: type[Block], node: str, values: Mapping[str, Any]) -> BlockDescription:
    return describe(block_type(node, values))


def run_describe(block: Block, build: BlockBuilder) -> None:
    """Call a block's `describe`. Raise BlockCallError if it isn't a plain function, whose code would never run."""
    returned: object = block.describe(build)
    if inspect.iscoroutine(returned):
        returned.close()
    if returned is not None:
        kind = type(returned).__name__
        raise BlockCallError(f"{block.id}: describe must be a plain function that returns nothing, got a {kind}")


def is_ours(block_type: type[Block]) -> bool:
    """True for a block type of Warploom's own library, whose code always ends."""
    return block_type.__module__.startswith(f"{LIBRARY}.")


def shows_pictures(block_type: type[Block]) -> bool:
    """True for a block type that shows a picture, as its defaults describe it.

    The first call for a type runs the block's own code; loading a user's file makes this call. False if that code is
    stopped.
    """
    if block_type.apart is not None:
        return block_type.apart.shows_pictures
    known = _shows.get(block_type)
    if known is None:
        _shows[block_type] = False  # also when it is stopped, since it takes too long
        try:
            known = any(display.path is None for display in describe(block_type()).displays)
        except (Exception, SystemExit):  # noqa: BLE001  # describe may fail in any way; the node shows it
            known = False
        _shows[block_type] = known
    return known
