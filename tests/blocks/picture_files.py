"""Image files that are written byte by byte from their formats' specifications, so their contents are known."""

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: PNG's colour types, by the number of channels.
_PNG_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def chunk(kind: bytes, content: bytes) -> bytes:
    """Return one chunk of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(pixels: Array, depth: int, *chunks: bytes, colour_type: int | None = None) -> bytes:
    """Return a PNG of (height, width, channels) integers of `depth` bits."""
    height, width, channels = pixels.shape
    lines = []
    for line in pixels.reshape(height, -1):
        if depth == 16:
            packed = line.astype(">u2").tobytes()
        else:
            bits = (line[:, None] >> np.arange(depth - 1, -1, -1)) & 1
            packed = np.packbits(bits.astype(np.uint8).ravel()).tobytes()
        lines.append(b"\0" + packed)
    kind = _PNG_TYPES[channels] if colour_type is None else colour_type
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"".join(lines)))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + body + chunk(b"IEND", b"")


def tiff(
    pixels: Array, *, order: str = "<", alpha: int | None = None, orientation: int = 1, white_is_zero: bool = False
) -> bytes:
    """Return a TIFF of (height, width, channels); `alpha` is the kind of the last channel: 1 associated, 2 straight."""
    height, width, channels = pixels.shape
    size, kind = pixels.dtype.itemsize, {"u": 1, "i": 2, "f": 3}[pixels.dtype.kind]
    body = pixels.astype(pixels.dtype.newbyteorder(order)).tobytes()
    bits_at = 8 + len(body)
    bits = struct.pack(f"{order}{channels}H", *[8 * size] * channels)
    formats = struct.pack(f"{order}{channels}H", *[kind] * channels)

    def short(tag: int, value: int) -> bytes:
        return struct.pack(f"{order}HHIHH", tag, 3, 1, value, 0)

    def shorts(tag: int, values: bytes, at: int) -> bytes:
        inside = values.ljust(4, b"\0") if channels <= 2 else struct.pack(f"{order}I", at)
        return struct.pack(f"{order}HHI", tag, 3, channels) + inside

    def long(tag: int, value: int) -> bytes:
        return struct.pack(f"{order}HHII", tag, 4, 1, value)

    tags = [
        *(long(256, width), long(257, height), shorts(258, bits, bits_at), short(259, 1)),
        *(
            short(262, (0 if white_is_zero else 1) if channels <= 2 else 2),
            long(273, 8),
            short(274, orientation),
            short(277, channels),
        ),
        *(long(278, height), long(279, len(body))),
        *((short(338, alpha),) if alpha else ()),
        shorts(339, formats, bits_at + len(bits)),
    ]
    directory = bits_at + len(bits) + len(formats)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", directory)
    table = struct.pack(f"{order}H", len(tags)) + b"".join(tags) + struct.pack(f"{order}I", 0)
    return head + body + bits + formats + table


def pfm(pixels: Array, order: str = "<") -> bytes:
    """Return a portable float map of (height, width, 1 or 3) floats, whose first stored line is the lowest."""
    height, width, channels = pixels.shape
    head = f"{'PF' if channels == 3 else 'Pf'}\n{width} {height}\n{'-' if order == '<' else ''}1.0\n"
    return head.encode() + pixels[::-1].astype(f"{order}f4").tobytes()


def exr(
    pixels: Array, names: Sequence[str], corner: tuple[int, int] = (0, 0), display: tuple[int, int] | None = None
) -> bytes:
    """Return an uncompressed OpenEXR of float16 or float32, whose channels have these names.

    The pixels begin at `corner` (x, y) of the display window, whose size is `display` (width, height).
    """
    height, width, _ = pixels.shape
    window = struct.pack("<4i", *corner, corner[0] + width - 1, corner[1] + height - 1)
    shown = struct.pack("<4i", 0, 0, (display or (width, height))[0] - 1, (display or (width, height))[1] - 1)
    kind = 1 if pixels.dtype.itemsize == 2 else 2
    order = sorted(range(len(names)), key=lambda place: names[place])
    channels = b"".join(names[at].encode() + b"\0" + struct.pack("<iBxxxii", kind, 0, 1, 1) for at in order) + b"\0"
    head = b"\x76\x2f\x31\x01" + struct.pack("<I", 2)
    for name, type_name, value in (
        (b"channels", b"chlist", channels),
        (b"compression", b"compression", b"\0"),
        (b"dataWindow", b"box2i", window),
        (b"displayWindow", b"box2i", shown),
        (b"lineOrder", b"lineOrder", b"\0"),
        (b"pixelAspectRatio", b"float", struct.pack("<f", 1)),
        (b"screenWindowCenter", b"v2f", struct.pack("<2f", 0, 0)),
        (b"screenWindowWidth", b"float", struct.pack("<f", 1)),
    ):
        head += name + b"\0" + type_name + b"\0" + struct.pack("<I", len(value)) + value
    head += b"\0"
    lines, line_bytes = [], width * len(names) * pixels.dtype.itemsize
    for y, line in enumerate(pixels):
        content = b"".join(line[:, at].astype(line.dtype.newbyteorder("<")).tobytes() for at in order)
        lines.append(struct.pack("<ii", corner[1] + y, line_bytes) + content)
    first = len(head) + 8 * height
    offsets = [first + (8 + line_bytes) * y for y in range(height)]
    return head + struct.pack(f"<{height}Q", *offsets) + b"".join(lines)


def radiance(mantissas: Array) -> bytes:
    """Return an uncompressed Radiance picture of (height, width, 4) bytes: three mantissas and an exponent."""
    height, width, _ = mantissas.shape
    head = f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n"
    return head.encode() + mantissas.astype(np.uint8).tobytes()


def dpx(pixels: Array, transfer: int) -> bytes:
    """Return a DPX of (height, width, 3) integers of 10 bits; transfer 2 is linear, 3 logarithmic."""
    height, width, _ = pixels.shape
    words = (pixels[..., 0] << 22 | pixels[..., 1] << 12 | pixels[..., 2] << 2).astype(">u4").tobytes()
    head = bytearray(b"\xff" * 2048)
    struct.pack_into(">4sI8sIIII", head, 0, b"SDPX", 2048, b"V1.0\0\0\0\0", 2048 + len(words), 1, 1664, 384)
    struct.pack_into(">HHII", head, 768, 0, 1, width, height)
    struct.pack_into(">IIfIfBBBBHHIII", head, 780, 0, 0, 0, 1023, 2, 50, transfer, 0, 10, 1, 0, 2048, 0, 0)
    for at in (36, 160, 260, 460, 660):  # offsets of text fields
        head[at : at + 4] = b"\0\0\0\0"
    return bytes(head) + words


def icc_profile(columns: tuple[tuple[float, float, float], ...], gamma: float) -> bytes:
    """Return an ICC profile of a display with these primaries in XYZ (D50), whose curve is a power."""

    def fixed(*values: float) -> bytes:
        return struct.pack(f">{len(values)}i", *(round(value * 65536) for value in values))

    def xyz(values: tuple[float, float, float]) -> bytes:
        return b"XYZ \0\0\0\0" + fixed(*values)

    white = (0.9642, 1.0, 0.8249)
    curve = b"para\0\0\0\0" + struct.pack(">HH", 0, 0) + fixed(gamma)
    tags = [(b"wtpt", xyz(white))]
    tags += [(name, xyz(column)) for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns, strict=True)]
    tags += [(name, curve) for name in (b"rTRC", b"gTRC", b"bTRC")]
    return profile_of(b"mntrRGB XYZ ", tags)


def profile_of(kind: bytes, tags: list[tuple[bytes, bytes]]) -> bytes:
    """Return an ICC profile of a device, its colours and the space that they are converted to, with some tags."""
    text = b"desc\0\0\0\0" + struct.pack(">I", 5) + b"test\0" + b"\0" * 79
    tags, white = [(b"desc", text), *tags], struct.pack(">3i", 63190, 65536, 54061)
    table, body = struct.pack(">I", len(tags)), b""
    for name, content in tags:
        table += name + struct.pack(">II", 132 + 12 * len(tags) + len(body), len(content))
        body += content + b"\0" * (-len(content) % 4)
    head = struct.pack(">I", 132 + 12 * len(tags) + len(body)) + b"none" + struct.pack(">I", 0x02400000)
    head += kind + b"\0" * 12 + b"acsp" + b"\0" * 28 + white + b"\0" * 48
    return head + table + body
