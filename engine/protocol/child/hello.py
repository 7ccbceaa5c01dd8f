"""The hello of an engine's process: its versions, and whether it sees the files of this process."""

import hashlib
import re
from functools import cache

import msgspec

from warploom.engine.decoding import decode_msgpack, type_info
from warploom.engine.diagnostics import DeviceError
from warploom.engine.platforms.machine import place
from warploom.engine.protocol.child.encoding import FromEngine, Hello, ToEngine
from warploom.engine.version import version


@cache
def protocol() -> str:
    """Return a digest of the names of all messages and of their fields."""
    described = repr(type_info(ToEngine | FromEngine))
    names = re.findall(r"<(?:class|enum) '[\w.]+'|name='\w+'", described)
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]


def hello() -> Hello:
    """Return the hello of this process."""
    return Hello(version(), protocol(), place())


def read_hello(frame: bytes) -> Hello:
    """Return the hello in the first frame of an engine. Raise DeviceError if its Warploom is not this one."""
    mine, remedy = hello(), "install the same version on both machines"
    try:
        theirs = decode_msgpack(frame, Hello)
    except msgspec.DecodeError:
        raise DeviceError(f"engine must be Warploom {mine.warploom}, got an older one or no engine; {remedy}") from None
    if (theirs.warploom, theirs.protocol) != (mine.warploom, mine.protocol):
        wanted, found = (f"Warploom {each.warploom} with protocol {each.protocol}" for each in (mine, theirs))
        raise DeviceError(f"engine must be {wanted}, got {found}; {remedy}")
    return theirs
