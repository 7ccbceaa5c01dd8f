"""What `printf` in a kernel prints: C's format strings with arguments as CUDA lays them out in memory."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

_CONVERSION = re.compile(rb"%([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*)?)?(hh|h|ll|l|L|j|z|t)?([diouxXeEfFgGaAcsp%])|%", re.ASCII)
_HAS_PRECISION = re.compile(rb"%[-+ #0]*(?:\d+|\*)?\.")

#: Returns bytes of a kernel's memory, fewer when it ends before that.
Read = Callable[[int, int], bytes]


class _Arguments:
    """Reads one argument after the other, each at a multiple of its size."""

    def __init__(self, read: Read, address: int) -> None:
        self._read = read
        self._address = address
        self.count = 0

    def take(self, kind: str) -> int | float:
        size = struct.calcsize(kind)
        self._address = -(-self._address // size) * size
        data = self._read(self._address, size)
        self._address += size
        self.count += 1
        value: int | float = struct.unpack(f"<{kind}", data.ljust(size, b"\0"))[0]
        return value


def formatted(template: bytes, read: Read, arguments: int) -> tuple[bytes, int]:
    """Return the text of a call of `vprintf`, and how many arguments it used."""
    values = _Arguments(read, arguments)

    def one(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, conversion = match.groups()
        if conversion is None:
            return match[0]
        if conversion == b"%":
            return b"%"
        shape = b"%" + flags + _number(width, values)
        if _HAS_PRECISION.match(match[0]):
            shape += b"." + (_number(precision, values) or b"0")
        return _converted(shape.decode(), (length or b"").decode(), conversion.decode(), values, read)

    return _CONVERSION.sub(one, template), values.count


def _number(given: bytes | None, values: _Arguments) -> bytes:
    return str(values.take("i")).encode() if given == b"*" else given or b""


def _converted(shape: str, length: str, conversion: str, values: _Arguments, read: Read) -> bytes:
    if conversion in "eEfFgG":
        return (shape + conversion).encode() % values.take("d")
    if conversion in "aA":
        text = re.sub(r"\.?0+p", "p", float(values.take("d")).hex())
        return text.upper().encode() if conversion == "A" else text.encode()
    if conversion == "c":
        return (shape.replace("0", "") + "s").encode() % bytes([int(values.take("i")) & 0xFF])
    if conversion == "p":
        return (shape + "s").encode() % f"{int(values.take('Q')):#x}".encode()
    if conversion == "s":
        return (shape + "s").encode() % string(read, int(values.take("Q")))
    is_wide = length in ("l", "ll", "j", "z", "t")
    value = int(values.take("q" if is_wide else "i"))
    bits = {"hh": 8, "h": 16}.get(length, 64 if is_wide else 32)
    value &= (1 << bits) - 1
    if conversion in "di" and value >> (bits - 1):
        value -= 1 << bits
    if conversion == "o" and "#" in shape:
        return (shape.replace("#", "") + "s").encode() % f"0{value:o}".encode()
    return (shape + ("d" if conversion in "iu" else conversion)).encode() % value


def string(read: Read, address: int, limit: int = 1 << 16) -> bytes:
    """Return the text at an address up to its zero byte; "(null)" at address 0."""
    if not address:
        return b"(null)"
    found = b""
    while len(found) < limit:
        part = read(address + len(found), 64)
        end = part.find(b"\0")
        if end >= 0:
            return found + part[:end]
        found += part
        if len(part) < 64:
            break
    return found
