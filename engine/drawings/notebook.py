"""What notebooks show: tables as HTML, and arrays as pictures or tables."""

import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

#: The most rows and columns of a table of numbers, and pixels along a side of a picture.
MOST_ROWS, MOST_COLUMNS, MOST_PIXELS = 10, 8, 512
_CELL = "padding:0 0.6em;text-align:right;font-variant-numeric:tabular-nums"


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table; the first column is set left, the others right."""

    def row(cells: Sequence[str], tag: str) -> str:
        first, *others = (escape(cell) for cell in cells)
        rest = "".join(f'<{tag} style="{_CELL}">{cell}</{tag}>' for cell in others)
        return f'<tr><{tag} style="text-align:left">{first}</{tag}>{rest}</tr>'

    title = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}{row(head, 'th') if head else ''}{''.join(row(cells, 'td') for cells in rows)}</table>"


def array_bundle(array: np.ndarray[Any, Any], caption: str) -> dict[str, Any]:
    """Return an array as a notebook shows it, by MIME type: a picture of float4 or uchar4, else a table of numbers.

    A picture has the shape (height, width, 4), and is linear light in float32 or sRGB in uint8, with straight alpha.
    """
    bundle: dict[str, Any] = {"text/plain": caption}
    if array.ndim == 3 and array.shape[2] == 4 and array.dtype in (np.uint8, np.float32) and array.size:
        step = -(-max(array.shape[:2]) // MOST_PIXELS)
        bundle["image/png"] = png(array[::step, ::step])
    else:
        bundle["text/html"] = _numbers(array, caption)
    return bundle


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Return a picture as a PNG file of 8 bits, see `array_bundle`. Values are cut off at 0 and 1; NaN becomes 0."""
    if pixels.dtype != np.uint8:
        shares = np.clip(np.nan_to_num(pixels, nan=0.0), 0, 1)
        colours = shares[..., :3]
        shares[..., :3] = np.where(colours <= 0.0031308, 12.92 * colours, 1.055 * colours ** (1 / 2.4) - 0.055)
        pixels = (shares * 255 + 0.5).astype(np.uint8)
    height, width = pixels.shape[:2]
    lines = np.zeros((height, 1 + 4 * width), np.uint8)  # each line begins with its filter, 0 for none
    lines[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _numbers(array: np.ndarray[Any, Any], caption: str) -> str:
    columns = array.shape[-1] if array.ndim > 1 else 1
    flat = array.reshape(-1, columns) if array.size else array.reshape(0, 1)
    few = flat[:MOST_ROWS, :MOST_COLUMNS]
    more = ["…"] if columns > MOST_COLUMNS else []
    rows = [[str(index), *map(_text, line), *more] for index, line in enumerate(few)]
    if len(flat) > MOST_ROWS:
        rows.append(["…"])
    return html_table(["", *map(str, range(few.shape[1])), *more] if array.ndim > 1 else [], rows, caption)


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
