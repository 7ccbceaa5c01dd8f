"""Python's services to kernels: `printf`, assertions, and `malloc` from the device heap.

Kernels call the function in the record at `Services.address` with six numbers: the worker record's address, the service
(`abi.PRINT`, ...), the thread block, the thread, and two operands. Such calls are rare, so they may take microseconds.
"""

import bisect
import ctypes
import re
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.engine.device.host.memory import AllocationTable, allocate
from warploom.engine.diagnostics import printable
from warploom.engine.host_compiler import abi

_CONVERSION = re.compile(rb"%([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*)?)?(hh|h|ll|l|L|j|z|t)?([diouxXeEfFgGaAcsp%])|%", re.ASCII)
_HAS_PRECISION = re.compile(rb"%[-+ #0]*(?:\d+|\*)?\.")

#: Returns bytes at an address of a kernel's memory; fewer than requested at the end of the memory.
ReadMemory = Callable[[int, int], bytes]
#: The sizes of CUDA's print buffer and device heap, in bytes.
PRINT_BYTES = 1 << 20
HEAP_BYTES = 8 << 20
#: The printed length, in bytes, of a text without a terminating zero.
_LONGEST_TEXT = 1 << 16
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * 6)


class DeviceHeap:
    """Memory for `malloc` in kernels; a block stays allocated across kernels until it is freed.

    `map` has, for every 16 bytes, the number of those bytes that are in a block. Kernels read it. Blocks lie at least
    16 bytes apart.
    """

    def __init__(self, table: AllocationTable) -> None:
        self._memory = allocate(table, HEAP_BYTES)
        self.first = self._memory.pointer
        self.map = np.zeros(HEAP_BYTES // abi.HEAP_STEP + 2, np.uint8)
        self._free = [(self.first, HEAP_BYTES)]
        self._used: dict[int, int] = {}

    def take(self, wanted: int) -> int:
        """Return the address of a new block; 0 if there is no room."""
        step = abi.HEAP_STEP
        size = (max(-(-wanted // step), 0) + 1) * step
        for index, (start, length) in enumerate(self._free):
            if size <= length:
                if size == length:
                    del self._free[index]
                else:
                    self._free[index] = (start + size, length - size)
                self._used[start] = size
                at = (start - self.first) // step
                self.map[at : at + wanted // step] = step
                self.map[at + wanted // step] = wanted % step
                return start
        return 0

    def blocks(self) -> list[tuple[int, int]]:
        """Return the address and size of each block."""
        found = []
        for start, size in self._used.items():
            at = (start - self.first) // abi.HEAP_STEP
            found.append((start, int(self.map[at : at + size // abi.HEAP_STEP].sum())))
        return found

    def give(self, address: int) -> bool:
        """Free a block. Return False when the address is neither a block's nor 0."""
        size = self._used.pop(address, 0)
        if not size:
            return address == 0
        at = (address - self.first) // abi.HEAP_STEP
        self.map[at : at + size // abi.HEAP_STEP] = 0
        index = bisect.bisect_left(self._free, (address, 0))
        self._free.insert(index, (address, size))
        for left in (index, index - 1):  # merge the block with free neighbours
            if 0 <= left < len(self._free) - 1:
                (start, length), (following, more) = self._free[left : left + 2]
                if start + length == following:
                    self._free[left : left + 2] = [(start, length + more)]
        return True


class Services:
    """Answers the service calls of all kernels of one device."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._call = _CALL(self._serve)
        self._heap: DeviceHeap | None = None
        self._record = np.zeros(3, np.int64)
        self._record[abi.SERVE] = ctypes.cast(self._call, ctypes.c_void_p).value or 0
        self._pairs: Any = np.zeros((0, 2), np.uint64)
        self._lines: list[tuple[tuple[int, int], bytes]] = []
        self._printed = 0
        self._error: BaseException | None = None
        #: The number of calls so far, which the native interpreter of graphs reads after each kernel.
        self.served = np.zeros(1, np.int64)
        #: The instructions of a graph whose kernels have called since `begin`.
        self.callers: set[int] = set()
        #: The text of the last failed assertion.
        self.assertion = ""

    @property
    def address(self) -> int:
        """Address of the services record."""
        return int(self._record.ctypes.data)

    def open_heap(self, table: AllocationTable) -> None:
        """Create the device heap. It must exist before a kernel that uses it starts."""
        with self._lock:
            if self._heap is None:
                self._heap = DeviceHeap(table)
                self._record[abi.HEAP_MAP] = self._heap.map.ctypes.data
                self._record[abi.HEAP_FIRST] = self._heap.first

    def live(self, pairs: Any) -> list[tuple[int, int]]:
        """Return (first address, size) of live allocations, with the heap's blocks in place of the device heap."""
        heap = self._heap
        found = [(int(first), int(size)) for first, size in pairs if heap is None or int(first) != heap.first]
        return found + (heap.blocks() if heap is not None else [])

    def begin(self, pairs: Any) -> None:
        """Store the live allocations, an (n, 2) array of first address and size."""
        self._pairs = pairs
        self.callers.clear()

    def finish(self) -> None:
        """Print the output of kernels in order of thread blocks, with escaped control characters.

        Raise the error that a call met, if any.
        """
        with self._lock:
            lines, self._lines, self._printed = self._lines, [], 0
            error, self._error = self._error, None
        if lines:
            lines.sort(key=lambda line: line[0])
            sys.stdout.write(printable(b"".join(text for _, text in lines).decode(errors="replace")))
            sys.stdout.flush()
        if error is not None:
            raise error

    def _serve(self, worker: int, wanted: int, block: int, thread: int, a: int, b: int) -> int:
        try:
            with self._lock:
                self.served[0] += 1
                self.callers.add(_instruction(worker))
                return self._answer(worker, wanted, block, thread, a, b)
        except BaseException as error:  # noqa: BLE001 - `finish` raises it again, since it cannot pass native code
            self._error = error
            return 0

    def _answer(self, worker: int, wanted: int, block: int, thread: int, a: int, b: int) -> int:
        if wanted == abi.PRINT:
            return self._print(worker, block, a, b)
        if wanted == abi.FAILED_ASSERTION:
            if not self.assertion:
                self.assertion = self._assertion(worker, a)
            return 0
        assert self._heap is not None
        if wanted == abi.MALLOC:
            return self._heap.take(a & ((1 << 64) - 1))
        return int(self._heap.give(a))

    def _print(self, worker: int, block: int, template: int, arguments: int) -> int:
        if self._printed >= PRINT_BYTES:
            return -1
        read = self._reader(worker)
        text, count = formatted(string(read, template), read, arguments)
        self._printed += len(text)
        self._lines.append(((_instruction(worker), block), text))
        return count

    def _assertion(self, worker: int, arguments: int) -> str:
        """Return the text of an `assert`; `arguments` has message, file, line and function, in this order."""
        read = self._reader(worker)
        message, file, line, function = np.frombuffer(ctypes.string_at(arguments, 32), np.int64).tolist()
        text = [string(read, item).decode(errors="replace") for item in (message, file, function)]
        return f"{text[0]!r} at {text[1]}:{line & 0xFFFFFFFF} in {text[2]}"

    def _reader(self, worker: int) -> ReadMemory:
        """Return a function that reads memory, within the limits of the kernel itself."""
        record = np.frombuffer(ctypes.string_at(worker, 8 * abi.WORKER_FIELDS), np.int64)
        own = [(int(record[abi.SCRATCH]), int(record[abi.SCRATCH_BYTES])), (int(record[abi.SHARED]), 227 << 10)]
        pairs = self._pairs

        def read(address: int, size: int) -> bytes:
            address &= (1 << 64) - 1
            index = int(np.searchsorted(pairs[:, 0], np.uint64(address), "right")) - 1
            ranges = [*own, (int(pairs[index, 0]), int(pairs[index, 1]))] if index >= 0 else own
            for first, length in ranges:
                if first <= address < first + length:
                    return ctypes.string_at(address, min(size, first + length - address))
            return b""

        return read


def _instruction(worker: int) -> int:
    return ctypes.c_int64.from_address(worker + 8 * abi.INSTRUCTION).value


class _PrintfArguments:
    """Reads the arguments of `printf` in order, each aligned to its size."""

    def __init__(self, read: ReadMemory, address: int) -> None:
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


def formatted(template: bytes, read: ReadMemory, arguments: int) -> tuple[bytes, int]:
    """Return the text of a `vprintf` call, and the number of arguments that it used."""
    values = _PrintfArguments(read, arguments)

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


def _number(given: bytes | None, values: _PrintfArguments) -> bytes:
    return str(values.take("i")).encode() if given == b"*" else given or b""


def _converted(shape: str, length: str, conversion: str, values: _PrintfArguments, read: ReadMemory) -> bytes:
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


def string(read: ReadMemory, address: int) -> bytes:
    """Return the text at an address up to its zero byte; "(null)" for address 0."""
    if not address:
        return b"(null)"
    found = b""
    while len(found) < _LONGEST_TEXT:
        part = read(address + len(found), 64)
        end = part.find(b"\0")
        if end >= 0:
            return found + part[:end]
        found += part
        if len(part) < 64:
            break
    return found
