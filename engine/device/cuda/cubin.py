"""Reads facts about kernels from a CUBIN: which kernels wait before they access memory, and their numbers of
parameters.
"""

import struct

from warploom.engine.diagnostics import KernelError

_SECTION = struct.Struct("<IIQQQQIIQQ")
_NO_BITS = 8  # the type of a section that takes no space in the file
_TEXT, _INFO = ".text.", ".nv.info."
#: Formats of the records in a section of kernel facts. Only the last one has a length, and data after its 4 bytes.
_FORMATS, _WITH_DATA = (1, 2, 3, 4), 4
#: The kinds of record that describe one parameter: for up to 4 KB of parameters, and for more.
_PARAMETERS = (0x17, 0x45)
#: An instruction has 16 bytes. It starts with its operation (9 bits), the kind of its operands (3) and its guard (4).
_INSTRUCTION_BYTES, _OPERATION = 16, 0x1FF
#: ACQBULK without a guard: the instruction for `griddepcontrol.wait`.
_WAIT = 0x782E
#: Instructions that read no memory but arguments and constants, and never branch. Compilers move them before the wait.
_HARMLESS = frozenset(
    {
        *(0x119, 0x005, 0x1C3),  # S2R, CS2R, S2UR
        *(0x182, 0x0B9, 0x1AC),  # LDC, ULDC, LDCU
        *(0x002, 0x082, 0x0CA, 0x007, 0x087),  # MOV, UMOV, R2UR, SEL, USEL
        *(0x010, 0x036, 0x090, 0x011, 0x091),  # IADD3, VIADD, UIADD3, LEA, ULEA
        *(0x024, 0x025, 0x0A4, 0x0A5, 0x013),  # IMAD, IMAD.WIDE, UIMAD, UIMAD.WIDE, IABS
        *(0x012, 0x092, 0x019, 0x099),  # LOP3, ULOP3, SHF, USHF
        *(0x00C, 0x08C, 0x118),  # ISETP, UISETP, NOP
        *(0x020, 0x021, 0x023, 0x031, 0x035, 0x045, 0x106),  # FMUL, FADD, FFMA, HFMA2, HFMA2.MMA, I2FP, I2F
    }
)


def waiting_kernels(cubin: bytes) -> frozenset[str]:
    """Return the kernels that don't access memory before they wait for earlier launches.

    The encoding is that of compute capability 9.0 to 12.x. Raise KernelError when the file is cut off.
    """
    return frozenset(name for name, code in _sections(cubin, _TEXT).items() if _waits_first(code))


def parameter_counts(cubin: bytes) -> dict[str, int]:
    """Return each kernel's number of parameters; kernels without this information are left out.

    Raise KernelError when the file is cut off.
    """
    counts = ((name, _count_parameters(facts)) for name, facts in _sections(cubin, _INFO).items())
    return {name: count for name, count in counts if count is not None}


def _sections(cubin: bytes, prefix: str) -> dict[str, bytes]:
    """Return the sections whose names begin with `prefix`, by the rest of the name."""
    try:
        return _read_sections(cubin, prefix)
    except (struct.error, ValueError, IndexError) as problem:
        raise KernelError(f"module must be a whole CUBIN, got one that can't be read: {problem}") from None


def _read_sections(cubin: bytes, prefix: str) -> dict[str, bytes]:
    if cubin[:5] != b"\x7fELF\x02":  # something else that the driver accepts, such as a fat binary
        return {}
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [_SECTION.unpack_from(cubin, offset + index * size) for index in range(count)]
    found = {}
    for header in headers:
        start = headers[names][4] + header[0]
        name = cubin[start : cubin.index(b"\0", start)].decode(errors="replace")
        if name.startswith(prefix) and header[1] != _NO_BITS:
            found[name.removeprefix(prefix)] = cubin[header[4] : header[4] + header[5]]
    return found


def _count_parameters(facts: bytes) -> int | None:
    """Count the records that describe a parameter; None when a record has an unknown format."""
    place = count = 0
    while place + 4 <= len(facts):
        kind, what, size = struct.unpack_from("<BBH", facts, place)
        if kind not in _FORMATS:
            return None
        place += 4 + (size if kind == _WITH_DATA else 0)
        count += what in _PARAMETERS
    return count


def _waits_first(code: bytes) -> bool:
    for place in range(0, len(code) - _INSTRUCTION_BYTES + 1, _INSTRUCTION_BYTES):
        (word,) = struct.unpack_from("<H", code, place)
        if word == _WAIT:
            return True
        if word & _OPERATION not in _HARMLESS:
            return False
    return False
