"""What notebooks show: tables as HTML, and arrays as pictures or tables."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from warploom.engine.drawings.pictures import encode_picture

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
        bundle["image/png"] = encode_picture(array[::step, ::step], ".png", "8 bits")
    else:
        bundle["text/html"] = _numbers(array, caption)
    return bundle


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
