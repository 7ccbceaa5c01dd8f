"""Updated blocks: blocks whose `update` runs on the engine's thread, once a frame, before the graph is launched.

They are value blocks, which the compiler never sees, and live blocks, which have buffers on the device as well. A
connection from a value output leads to a parameter, of another updated block or of a block that runs on the device.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, get_args, get_origin

from warploom.engine.blocktypes.block import Block, check_name
from warploom.engine.blocktypes.declarations import ZEROS, Value, ValueSpec, annotations_of, declarations
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.checks import BlockDefinitionError, declaring, prose, texts
from warploom.engine.descriptions.ports import PortSpec


@dataclass(slots=True)
class Moment:
    """The frame's index, the time at its start, and the time since the previous frame, in seconds.

    The engine keeps one object and changes it in place: copy a number to keep it.
    """

    frame: int = 0
    time_s: float = 0.0
    time_step_s: float = 0.0


_TYPES: dict[Any, str] = {float: "float", int: "int", bool: "bool"}
_NONE: dict[str, float] = {}


class Source(Protocol):
    """What is at a source, such as a MIDI device or a port."""

    def send(self, message: Any) -> None:
        """Have a message sent, without waiting."""

    def newest_array(self, name: str) -> tuple[int, bytes] | None:
        """Return the newest array that came under a name, as an NPY file, and how many came; None for none."""


class UpdatedBlock(Block, abstract=True):
    """A block with an `update` for each frame.

    In it, `self.amplitude` is a parameter's value in this frame, driven or set, and `self.value = ...` sets an output.
    When `update` raises, the node shows the error and its outputs keep their values.
    """

    has_values: ClassVar[bool] = True
    #: The parameter, bounded on both sides, that a person can move on the node itself; "" for none.
    handle: ClassVar[str] = ""
    #: The devices it reads in `controls`: "key", "mouse". The editor only listens to those that some block reads.
    hears: ClassVar[tuple[str, ...]] = ()
    #: The newest values of keys, mouse, OSC and MIDI by name; a source that has sent nothing is missing.
    controls: dict[str, float] = _NONE
    #: The attributes that `update` makes of the parameters; all others are state, which must be plain data to be saved.
    derived: ClassVar[tuple[str, ...]] = ()
    #: The thread at the block's source; None without one, or if the patch may not use it.
    listener: Source | None = None
    _before_s: float | None = None

    def __init__(self, node: str = "", values: Mapping[str, Any] | None = None) -> None:
        self._clear_outputs()
        super().__init__(node, values)

    @abstractmethod
    def update(self, now: Moment) -> None:
        """Set the outputs for the frame that begins."""
        raise NotImplementedError(f"block {self.id} must define update")

    def start(self) -> None:
        """Reset the state of `update`: called before the first frame, and when the engine is reset.

        The outputs are zeros then.
        """

    def check(self) -> None:
        """Raise PatchError when the values of the parameters make no sense.

        Called before the first update, and again after a structural parameter or any connection changed.
        """

    def source(self) -> str:
        """Return the source that the engine must listen to, such as "osc:127.0.0.1:9000", or "" for none.

        It may only depend on structural parameters. A live block also names what it uses itself, such as "camera:0", so
        that it doesn't run in a patch that may not: `engine.patch.trust` has the names.
        """
        return ""

    def begin(self) -> None:
        """Make the next update the first one."""
        self._before_s = None
        self._clear_outputs()
        self.start()

    def _clear_outputs(self) -> None:
        self.__dict__.update({name: ZEROS[spec.type] for name, spec in self.values_out.items()})

    def elapsed_s(self, now: Moment) -> float:
        """Return the seconds since the previous update, 0 in the first one; call it once in each update."""
        before, self._before_s = self._before_s, now.time_s
        return 0.0 if before is None else now.time_s - before

    @property
    def has_elapsed(self) -> bool:
        """True if the block has used `elapsed_s`."""
        return self._before_s is not None

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, Any]:
        """Return parameter values with which a new block's output stays within `low` to `high`, at first near `value`.

        So a new block that drives a parameter is not clipped to the parameter's range.
        """
        return {}

    @classmethod
    def _declared(cls) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
        ports, parameters = super()._declared()
        hints = annotations_of(cls)
        kind = next(base for base in cls.__mro__ if base.__module__.startswith(f"{__package__}."))
        values = [found for found in declarations(cls).values() if isinstance(found, Value)]
        cls.values_out = {found.name: _value_spec(cls, found, hints.get(found.name)) for found in values}
        for name in (*cls.values_out, *parameters, *ports):
            check_name(cls, name)
            if hasattr(kind, name):
                raise BlockDefinitionError(
                    f"block {cls.id}: an output or parameter must have a name that blocks don't use themselves, "
                    f"got {name!r}"
                )
        with declaring():
            texts(f"block {cls.id}", "hears", cls.hears)
            prose(f"block {cls.id}", "handle", cls.handle)
        handle = parameters.get(cls.handle)
        if cls.handle and (
            handle is None or handle.type not in ("float", "int") or None in (handle.minimum, handle.maximum)
        ):
            raise BlockDefinitionError(
                f"block {cls.id}: handle must name a number with min and max, got {cls.handle!r}"
            )
        return ports, parameters


def _value_spec(cls: type[Block], declaration: Value[Any], hint: Any) -> ValueSpec:
    where = f"block {cls.id}: value output {declaration.name}"
    arguments = get_args(hint)
    if get_origin(hint) is not Value or len(arguments) != 1 or arguments[0] not in _TYPES:
        raise BlockDefinitionError(f"{where} must be annotated Value[float], Value[int] or Value[bool], got {hint}")
    if not declaration.doc.strip():
        raise BlockDefinitionError(f"{where} must have a doc, got none")
    return ValueSpec(declaration.name, _TYPES[arguments[0]], declaration.doc, declaration.unit, declaration.replaces)
