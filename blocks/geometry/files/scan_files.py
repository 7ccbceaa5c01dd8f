"""Opens scans, which are files of LAS or LAZ, and reads some of their points without the rest of the file."""

import io
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from warploom.blocks.io.colour_spaces import srgb_to_linear

Array = np.ndarray[Any, Any]

SCANS = (".las", ".laz")
_COLOURS = ("red", "green", "blue")
#: Points that are looked at to tell colours of 8 bits from those of 16.
_CHECKED = 10_000
#: The most bytes of the points that are compressed together.
_MOST_IN_CHUNK = 1 << 30


@dataclass(frozen=True)
class ScanPart:
    """Some points: positions f64[n, 3], linear RGBA f32[n, 4], and further numbers of each point, f32[n] by name."""

    points: Array
    colours: Array
    attributes: dict[str, Array]


class Scan:
    """An open scan. Damage raises ValueError, OSError, or whatever the library raises.

    `low` and `high` are the corners of the bounding box that the file's header names.
    """

    def __init__(self, file: BinaryIO) -> None:
        import laspy

        _check_records(file)
        self._reader = laspy.open(file, closefd=False)
        header: Any = self._reader.header
        self.count, self.low, self.high = int(header.point_count), header.mins, header.maxs
        if not self.count:
            raise ValueError("no points")
        _check_points(file, header)
        names = {*header.point_format.dimension_names}
        #: The names of the further numbers.
        self.attributes = sorted(names - {"X", "Y", "Z", *_COLOURS})
        self._has_colours = names.issuperset(_COLOURS)
        # The standard asks for colours of 16 bits; many programs write 8. A part of a cloud may be dark.
        head = self._reader.read_points(_CHECKED) if self._has_colours else None
        self._brightest = 0 if head is None else max(np.max(head[name], initial=0) for name in _COLOURS)

    def read(self, first: int, most: int, names: list[str] | None = None) -> ScanPart:
        """Return `most` points from point `first` on, or those that there are; `names` are the attributes, or all."""
        if first >= self.count:
            raise ValueError(f"no points from point {first} on")
        self._reader.seek(first)
        cloud: Any = self._reader.read_points(min(most, self.count - first))
        points = np.stack([np.asarray(axis, np.float64) for axis in (cloud.x, cloud.y, cloud.z)], axis=1)
        colours = np.ones((len(points), 4), np.float32)
        if self._has_colours:
            stored = np.stack([np.asarray(cloud[name]) for name in _COLOURS], axis=1)
            self._brightest = max(self._brightest, np.max(stored, initial=0))
            colours[:, :3] = srgb_to_linear(stored / (255 if self._brightest <= 255 else 65535))
        with np.errstate(over="ignore", invalid="ignore"):  # damaged numbers become infinite
            attributes = {
                name: np.ascontiguousarray(cloud[name], np.float32)
                for name in (self.attributes if names is None else names)
                if np.shape(cloud[name]) == (len(points),)
            }
        return ScanPart(points, colours, attributes)


def _check_records(file: BinaryIO) -> None:
    """Raise ValueError if a damaged header has more records than the file has room for: the library reads them all."""
    head, size = file.read(247), file.seek(0, io.SEEK_END)
    file.seek(0)
    counts = [(head[100:104], 54), (head[243:247] if head[25:26] >= b"\4" else b"", 60)]
    for count, smallest in counts:
        if int.from_bytes(count, "little") * smallest > size:
            raise ValueError(f"{int.from_bytes(count, 'little')} records in a file of {size} bytes")


def _check_points(file: BinaryIO, header: Any) -> None:
    """Raise ValueError if a damaged file names more points than it has room for.

    The library allocates memory for them; that of LAZ ends the process if there isn't enough.
    """
    begin, each = header.offset_to_point_data, header.point_format.size
    size, count = file.seek(0, io.SEEK_END), header.point_count
    packing = header.vlrs.get("LasZipVlr")
    if not header.are_points_compressed:
        room = (size - begin) // each
    elif packing:
        room = _packed_points(file, begin, size, each, packing[0].record_data)
    else:
        raise ValueError("compressed points without their format")
    if count > room:
        raise ValueError(f"{count} points in a file that has room for {room}")
    file.seek(begin)


def _packed_points(file: BinaryIO, begin: int, size: int, each: int, packing: bytes) -> int:
    """Return the most points in the chunks of LAZ, of which a table says where they are."""
    import lazrs

    file.seek(begin)
    at = _number("<q", file.read(8))
    if at == -1:  # it was written at the end, by a program that couldn't go back
        file.seek(size - 8)
        at = _number("<q", file.read(8))
    if not begin < at <= size - 8:
        raise ValueError("no table of its chunks")
    file.seek(at + 4)
    chunks, per_chunk = _number("<I", file.read(4)), _number("<I", packing[12:16])
    if chunks * each > size:
        raise ValueError(f"{chunks} chunks in a file of {size} bytes")
    file.seek(begin)
    table = lazrs.read_chunk_table(file, lazrs.LazVlr(packing))
    is_even = per_chunk < (1 << 32) - 1
    points = [per_chunk] * chunks if is_even else [count for count, _ in table]
    if max(points, default=0) * each > _MOST_IN_CHUNK or sum(length for _, length in table) > size:
        raise ValueError("a chunk that is too large")
    return sum(points)


def _number(form: str, held: bytes) -> int:
    try:
        return int(struct.unpack(form, held)[0])
    except struct.error:
        raise ValueError("a file whose end is missing") from None
