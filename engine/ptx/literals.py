"""Numbers as PTX writes them."""

from __future__ import annotations

import struct

from engine.ptx.tree import Float, Integer


def number(text: str) -> Integer | Float:
    """Return the immediate that a number token stands for."""
    lower = text.lower()
    if lower.startswith("0f"):
        return Float(int(text[2:], 16), 32)
    if lower.startswith("0d") and len(text) == 18:
        return Float(int(text[2:], 16), 64)
    digits = lower.removesuffix("u")
    if digits.startswith("0x"):
        return Integer(int(digits, 16))
    if digits.startswith("0b"):
        return Integer(int(digits, 2))
    if "." in digits or "e" in digits:
        return Float(int.from_bytes(struct.pack("<d", float(digits)), "little"), 64)
    octal = len(digits) > 1 and digits.startswith("0") and not set(digits) & set("89")
    return Integer(int(digits, 8 if octal else 10))


def negated(value: Integer | Float) -> Integer | Float:
    """Return the immediate with its sign changed."""
    if isinstance(value, Integer):
        return Integer(-value.value)
    return Float(value.bits ^ (1 << (value.width - 1)), value.width)
