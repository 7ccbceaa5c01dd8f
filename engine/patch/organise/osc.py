"""OSC for a whole patch: the port that it listens to, and the values that it sends."""

import re
from ipaddress import IPv4Address
from typing import Any, ClassVar

import msgspec

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError

#: The most values that a patch sends; each may be a message a frame.
MOST_OUTS = 256
THIS_MACHINE = "127.0.0.1"
#: An address, without the characters that OSC uses for patterns.
_ADDRESS = re.compile(r"(/[!-~]+?)+(?<!/)")
#: A host's name.
_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_PATTERNS = frozenset("#*,?[]{}")
_LONGEST = 200


class Osc(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """Where messages come from and go to; a patch has one at most.

    `port` is the UDP port to listen at, on the local address or name `host`; 0 listens to nothing. `to` is the
    HOST:PORT that values are sent to.
    """

    kind: ClassVar[str] = "OSC settings"

    port: int = 0
    host: str = THIS_MACHINE
    to: str = f"{THIS_MACHINE}:9001"
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return "osc"


class OscOut(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """A parameter or output whose value is sent when it changes.

    `address` replaces its own address, and `to` the patch's.
    """

    kind: ClassVar[str] = "OSC output"

    node: str
    port: str
    address: str = ""
    to: str = ""
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"osc out {self.node}.{self.port}"


def checked_osc(note: Osc) -> Osc:
    """Return the settings. Raise PatchError that names a wrong field."""
    if type(note.port) is not int or not 0 <= note.port <= 65_535:
        raise PatchError(f"OSC port must be from 1 to 65535, or 0 to listen to none, got {shown(note.port)}")
    if not isinstance(note.host, str) or not _is_host(note.host):
        raise PatchError(f"OSC host must be a host such as {THIS_MACHINE} or 0.0.0.0, got {shown(note.host)}")
    destination(note.to)
    return note


def checked_out(note: OscOut) -> OscOut:
    """Return an output. Raise PatchError that names a wrong field."""
    for name, text in (("node", note.node), ("port", note.port)):
        if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > _LONGEST:
            raise PatchError(f"{name} of an OSC output must be a text of 1 to {_LONGEST} characters, got {shown(text)}")
    if not isinstance(note.address, str) or note.address:
        check_address(note.address)
    if not isinstance(note.to, str) or note.to:
        destination(note.to)
    return note


def check_address(address: object) -> None:
    """Raise PatchError unless a text is an address that messages can be sent to."""
    is_text = isinstance(address, str) and len(address) <= _LONGEST and _ADDRESS.fullmatch(address)
    if not is_text or _PATTERNS.intersection(str(address)):
        raise PatchError(
            f"OSC address must be such as /mixer/fader, without spaces and any of # * , ? [ ] {{ }}, "
            f"got {shown(address)}"
        )


def destination(text: object) -> tuple[str, int]:
    """Return the host and the port of a text such as "127.0.0.1:9001". Raise PatchError for any other text."""
    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    if not _is_host(host) or not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65_535:
        example = "127.0.0.1:9001 or mixer.local:9001"
        raise PatchError(f"OSC must be sent to a host and port such as {example}, got {shown(text)}")
    return host, int(port)


def _is_host(host: str) -> bool:
    try:
        IPv4Address(host)
    except ValueError:
        return bool(_NAME.fullmatch(host)) and not host.replace(".", "").isdigit()
    return True
