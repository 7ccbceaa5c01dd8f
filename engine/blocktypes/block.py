"""`Block`, the base class of block types.

A block is passive. It holds parameter values and describes work; it never calls a device.
"""

import inspect
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from warploom.engine.blocktypes.block_types import BlockTypes
from warploom.engine.blocktypes.declarations import ValueSpec, collect
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import (
    BlockDefinitionError,
    declaring,
    sequence,
    shown,
    text,
    texts,
    whole,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError

T = TypeVar("T")
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


#: The block types of this program.
block_types: BlockTypes["Block"] = BlockTypes()


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
