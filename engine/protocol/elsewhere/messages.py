"""Frames between a client and an engine that sees other files, besides those of any engine in another process."""

from pathlib import Path

import msgspec

from warploom.engine.protocol.messages import Saved
from warploom.engine.protocol.sampling import Sample

# In both directions.


class Got(msgspec.Struct, frozen=True, tag=True):
    """So many bytes of frames were received since the last `Got`, which does not count itself."""

    size: int


class Packed(msgspec.Struct, frozen=True, tag=True):
    """A frame that is compressed by zlib."""

    data: bytes


class Part(msgspec.Struct, frozen=True, tag=True):
    """A part of a frame that can wait; `left` bytes follow. A part with another number begins another frame."""

    number: int
    left: int
    data: bytes


# To the engine.


class Files(msgspec.Struct, frozen=True, tag=True):
    """What has changed in the files that the patch needs; the first one of a connection lists all of them.

    It is answered, as the question of this number, once the engine has the contents of all files. `client` names the
    machine of the files and its user. `patch` is the file of the patch, and `blocks` are the folders whose block files
    may run. `present` has the SHA-256 of each file's contents, and `links` the targets of symbolic links.
    """

    number: int
    client: str
    patch: Path
    blocks: tuple[Path, ...]
    present: tuple[tuple[Path, bytes], ...]
    links: tuple[tuple[Path, Path], ...] = ()
    gone: tuple[Path, ...] = ()


class Content(msgspec.Struct, frozen=True, tag=True):
    """The contents of a file."""

    data: bytes


# From the engine.


class Lacks(msgspec.Struct, frozen=True, tag=True):
    """The engine needs contents with these SHA-256."""

    digests: tuple[bytes, ...]


class CodedPicture(msgspec.Struct, frozen=True, tag=True):
    """A viewer's picture whose pixels are compressed, and a sample with the rest.

    `size` is the (width, height) of `data`, `shown` that of the pixels.
    """

    sample: Sample
    coding: str
    size: tuple[int, int]
    shown: tuple[int, int]
    data: bytes
    alpha: bytes = b""


class Written(msgspec.Struct, frozen=True, tag=True):
    """A file that the patch has written there. The client writes it too, and then, if `is_event`, reports `saved`."""

    saved: Saved
    data: bytes
    is_event: bool
