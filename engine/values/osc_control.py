"""OSC for a whole patch: messages that set live parameters without a block, and values that are sent when they change.

A message's value replaces the patch's until a person sets the parameter, so it is neither an edit nor in the file. Only
the newest message of an address counts in a frame.
"""

import logging
import math
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from warploom.engine.blocktypes.block import TypeOf
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.vector_parameters import components_of
from warploom.engine.diagnostics import Diagnostic, PatchError, warning
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.organise.osc_addresses import OscSend, OscTable, is_live, live_parameters
from warploom.engine.patch.trust import refuse_destination
from warploom.engine.types import Array
from warploom.engine.values.sources.host_names import HostNames
from warploom.engine.values.sources.listening import MOST_NAMES, Inputs
from warploom.engine.values.sources.osc_patterns import is_pattern, matching
from warploom.engine.values.wiring import Drive, Parameters, Put

_log = logging.getLogger(__name__)
#: The most mistakes that are logged, each once: anybody may send anything.
MOST_LOGGED = 100
#: The most numbers of an array that one message has.
MOST_ELEMENTS = 64
#: The most patterns that are compared with all addresses in a frame: anybody may send thousands.
_MOST_PATTERNS = 32
_LONGS = 2**31


class OscControl:
    """Sets and sends live values once a frame, on the engine's thread; `send_array` may be called by others."""

    def __init__(
        self, type_of: TypeOf, parameters: Parameters, inputs: Inputs, drives: Callable[[PortRef], bool]
    ) -> None:
        """`drives` is whether a connection drives a parameter, which then takes no messages."""
        self._type_of, self._parameters, self._inputs, self._drives = type_of, parameters, inputs, drives
        #: What is received and sent, and what the patch asks for: outputs may need trust.
        self.table = self.wanted = OscTable()
        self.is_silent = False
        #: Why an untrusted patch sends nothing, and why values could not be sent, until they can.
        self._refused: Diagnostic | None = None
        self._unsent: dict[OscSend, Diagnostic] = {}
        #: The parameters that messages have set.
        self.held: dict[PortRef, Drive | _Text] = {}
        self._ways: dict[str, tuple[PortRef, ...]] = {}
        self._logged: set[str] = set()
        #: What patterns match, until blocks come or go; and the number of new ones in this frame.
        self._patterns: dict[str, tuple[PortRef, ...]] = {}
        self._new_patterns = 0
        self._hosts = HostNames()
        self._sent: dict[OscSend, bytes] = {}
        self._socket: socket.socket | None = None

    def follow(self, table: OscTable, *, trusted: bool) -> None:
        """Receive and send by another table. If it listens elsewhere, parameters get the patch's values again."""
        if table.source != self.table.source:
            self.release()
        self.table = self.wanted = table
        self._inputs.listen_whole(table.source)
        self._ways.clear()
        self._patterns.clear()
        refused = filter(None, (refuse_destination(each.host) for each in table.outs))
        self._refused, self._unsent = None if trusted else next(refused, None), {}
        if self._refused is not None:
            self.table = OscTable(table.port, table.host, table.names, table.groups)
        self._sent = {out: data for out, data in self._sent.copy().items() if out in self.table.outs}
        if self.table.outs and self._socket is None and not self.is_silent:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)

    @property
    def problem(self) -> Diagnostic | None:
        """What is wrong with what is sent."""
        return self._refused or next(iter(self._unsent.copy().values()), None)

    @property
    def is_active(self) -> bool:
        """True when there is something to receive or to send."""
        return bool(self.table.port or self.table.outs or self.problem)

    def receive(self) -> None:
        """Set parameters by the newest message of each address."""
        messages = self._inputs.messages
        self._new_patterns = 0
        for address in list(messages) if messages else ():
            arguments = messages.pop(address)
            for target in self._targets(address):
                if parts := self._components(target):
                    self._set_vector(target, parts, address, arguments)
                else:
                    self._set(target, address, arguments)

    def hold_again(self) -> None:
        """Bind the parameters to the blocks that are there now; those of removed blocks are given up."""
        held, self.held = self.held, {}
        self._ways.clear()
        for target, before in held.items():
            after = self._drive(target)
            if isinstance(after, str):
                self._parameters.release(target.node, target.port)
            else:
                with suppress(PatchError):
                    after.put(before.value)

    def note_blocks(self) -> None:
        """Note that blocks were added, removed or replaced."""
        self._patterns.clear()

    def hold(self, values: Mapping[PortRef, float]) -> None:
        """Give parameters the values that messages to an earlier engine gave them."""
        for target, value in values.items():
            held = self._drive(target)
            if not isinstance(held, str):
                with suppress(PatchError):
                    held.put(value)

    def release(self, targets: tuple[PortRef, ...] | None = None) -> None:
        """Give parameters the patch's values again; None means all of them."""
        for target in tuple(self.held) if targets is None else targets:
            if self.held.pop(target, None) is not None:
                self._parameters.release(target.node, target.port)

    def send(self, value_of: Callable[[PortRef], float | None]) -> None:
        """Send what has changed since it was last sent."""
        for out in self.table.outs:
            value = value_of(out.port)
            if value is None:
                value = self._parameters.values.get(out.port.node, {}).get(out.port.port)
            if isinstance(value, np.ndarray):
                self.send_array(out, value)
            elif isinstance(value, (bool, int, float, str)):
                self._send(out, (value,))

    def buffers(self) -> dict[OscSend, tuple[tuple[int, int], ...]]:
        """Return the outputs to send that are buffers, with the part of each that is sent: its first elements."""
        found = {}
        for out in self.table.outs:
            block_type = self._type_of(out.port.node)
            spec = block_type.ports.get(out.port.port) if block_type is not None else None
            if spec is not None:
                rank = 1 if spec.rank is None else spec.rank
                found[out] = (*[(0, 1)] * (rank - 1), (0, MOST_ELEMENTS)) if rank else ()
        return found

    def send_array(self, out: OscSend, array: Array) -> None:
        """Send the first numbers of an array if they have changed."""
        if out in self.table.outs:
            self._send(out, tuple(islice(_numbers(array.ravel()[:MOST_ELEMENTS]), MOST_ELEMENTS)))

    def close(self) -> None:
        """Send nothing from now on."""
        self.is_silent = True
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _targets(self, address: str) -> tuple[PortRef, ...]:
        if is_pattern(address):
            return self._matched(address)
        known = self._ways.get(address)
        if known is None:
            known = self._target(address)
            if len(self._ways) < MOST_NAMES:
                self._ways[address] = known
        return known

    def _target(self, address: str) -> tuple[PortRef, ...]:
        name, _, parameter = address.removeprefix("/").rpartition("/")
        node = self.table.names.get(name, name)
        return self.table.groups.get(f"{node}/{parameter}", (PortRef(node, parameter),))

    def _matched(self, pattern: str) -> tuple[PortRef, ...]:
        """Return the live parameters that a pattern matches, each once."""
        if (known := self._patterns.get(pattern)) is not None:
            return known
        self._new_patterns += 1
        if self._new_patterns > _MOST_PATTERNS:
            self._complain(pattern, f"message must be one of at most {_MOST_PATTERNS} with new patterns a frame")
            return ()
        blocks, _, parameters = pattern.removeprefix("/").rpartition("/")
        groups = [key.rpartition("/")[0] for key in self.table.groups]
        names = matching(blocks, dict.fromkeys([*self._parameters.values, *self.table.names, *groups]))
        found = dict[PortRef, None]()
        for name in names:
            node = self.table.names.get(name, name)
            block_type = self._type_of(node)
            live = [spec.name for spec in live_parameters(block_type)]
            live += [key.rpartition("/")[2] for key in self.table.groups if key.rpartition("/")[0] == node]
            for parameter in matching(parameters, live):
                found |= dict.fromkeys(self._target(f"/{node}/{parameter}"))
        if not found:
            self._complain(pattern, "pattern must match a parameter of the patch that runs, got none")
        if len(self._patterns) < MOST_NAMES:
            self._patterns[pattern] = tuple(found)
        return tuple(found)

    def _set(self, target: PortRef, address: str, arguments: list[Any]) -> None:
        known = self.held.get(target)
        held = known or self._drive(target)
        if isinstance(held, str):
            self._complain(address, held)
            return
        try:
            if not arguments:
                raise PatchError("message must have a value, got none")
            held.put(_plain(arguments[0], held))
        except PatchError as problem:
            if known is None:  # the parameter stays the patch's
                self.release((target,))
            self._complain(address, str(problem))
            return
        if isinstance(held, Drive) and held.clamped:
            limit = "most" if held.clamped > 0 else "least"
            self._complain(address, f"value must be at {limit} {held.value}, got {arguments[0]}; it is kept at that")

    def _components(self, target: PortRef) -> list[PortRef]:
        """Return the components of a vector as targets; none if the target is no vector."""
        block_type = self._type_of(target.node)
        parts = components_of(block_type.parameters, target.port) if block_type is not None else []
        return [PortRef(target.node, part.name) for part in parts]

    def _set_vector(self, target: PortRef, parts: list[PortRef], address: str, arguments: list[Any]) -> None:
        if len(arguments) != len(parts):
            self._complain(address, f"parameter {target} must be {len(parts)} numbers, got {len(arguments)}")
            return
        for part, argument in zip(parts, arguments, strict=True):
            self._set(part, address, [argument])

    def _drive(self, target: PortRef) -> "Drive | _Text | str":
        """Take a parameter over; return the reason if messages can't set it."""
        block_type = self._type_of(target.node)
        if block_type is None:
            return f"address must name a block of the patch that runs, got {target.node!r}"
        spec = block_type.parameters.get(target.port)
        if spec is None:
            return f"address must name a parameter of {target.node}, got {target.port!r}"
        if not is_live(spec):
            return f"parameter {target} must be one that changes while the patch runs, got one that rebuilds it"
        if self._drives(target):
            return f"parameter {target} must not be driven by a connection to follow messages"
        put = self._parameters.drive(target.node, spec.name)
        value = self._parameters.values[target.node][spec.name]
        kind = _Text(spec, value, put) if spec.type == "str" else None
        made = kind or Drive(Connection(PortRef("", "OSC"), target), spec, value, put)
        self.held[target] = made
        return made

    def _complain(self, address: str, text: str) -> None:
        if address not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(address)
            more = "" if len(self._logged) < MOST_LOGGED else "; no further mistakes are logged"
            _log.warning("OSC message to %s: %s%s", address[:200], text, more)

    def _send(self, out: OscSend, values: tuple[Any, ...]) -> None:
        sender, data = self._socket, encoded(out.address, values)
        if sender is None or self._sent.get(out) == data:
            return
        try:
            host = self._hosts.find(out.host)
            if host is None:
                return  # a later frame tries again
            with suppress(ConnectionRefusedError):  # nobody listens on this machine, which an earlier datagram found
                sender.sendto(data, (host, out.number))
        except BlockingIOError:
            return  # the next frame tries again
        except OSError as problem:  # so it does here
            text = f"OSC must be able to send to {out.host}:{out.number}, got: {problem.strerror or problem}"
            self._unsent[out] = warning(text, node=out.port.node, remedy="correct the address, or connect the network")
            return
        self._sent[out] = data
        self._unsent.pop(out, None)


class _Text:
    """A live text of a value block that messages have set."""

    def __init__(self, spec: ParameterSpec, value: Any, put: Put) -> None:
        self.spec, self.value, self._put = spec, value, put

    def put(self, value: Any) -> bool:
        """Set the text. Raise PatchError if it doesn't fit."""
        if self.spec.choices and type(value) is int and 0 <= value < len(self.spec.choices):
            value = self.spec.choices[value]
        self.value = self.spec.coerce(value)
        self._put(self.value)
        return False


def _plain(value: Any, held: "Drive | _Text") -> Any:
    """Return an argument that a parameter may take. Raise PatchError for those of other types."""
    if isinstance(held, _Text):
        return value
    if not isinstance(value, (bool, int, float)) or not math.isfinite(value):
        raise PatchError(f"value of a message must be a finite number, got {str(value)[:40]!r}")
    return value


def _numbers(value: Any) -> Iterator[Any]:
    """Yield the numbers of an array: those of vectors and structs one by one, complex ones as two."""
    match value:
        case np.ndarray():
            yield from _numbers(value.tolist())
        case list() | tuple():
            for each in value:
                yield from _numbers(each)
        case complex():
            yield from (value.real, value.imag)
        case _:
            yield value


def encoded(address: str, values: tuple[Any, ...]) -> bytes:
    """Return an OSC message: floats as f, whole numbers as i or h, booleans as T and F, texts as s."""
    tags, data = ",", b""
    for value in values:
        match value:
            case bool():
                tags += "T" if value else "F"
            case int() if -_LONGS <= value < _LONGS:
                tags, data = tags + "i", data + value.to_bytes(4, "big", signed=True)
            case int() if -_LONGS * _LONGS * 2 <= value < _LONGS * _LONGS * 2:
                tags, data = tags + "h", data + value.to_bytes(8, "big", signed=True)
            case str():
                tags, data = tags + "s", data + _padded(value)
            case _:
                with np.errstate(over="ignore"):
                    tags, data = tags + "f", data + np.array(value, ">f4").tobytes()
    return _padded(address) + _padded(tags) + data


def _padded(text: str) -> bytes:
    data = text.encode()
    return data + bytes(4 - len(data) % 4)
