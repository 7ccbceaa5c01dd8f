"""`warploom run --out film.mp4`: the frames of one port as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from blocks.video.codecs import BY_NAME, SUFFIXES, check_encoding, is_deep
from blocks.video.film_source import load_av
from blocks.video.film_writer import FilmWriter
from engine import Patch
from engine.diagnostics import PatchError, printable
from engine.figures import plural
from engine.patch.changes import PortRef
from engine.protocol.client import Client
from engine.protocol.messages import Saved

_LEVELS = 1 << 16


def is_film(path: Path | None) -> bool:
    """True for a path whose suffix is that of a film."""
    return path is not None and path.suffix.lower() in SUFFIXES


class FilmOut:
    """Films a port into a file, which is finished even if the frames end early. `name` is NODE.PORT, or None.

    Without a name, it is what the patch's viewer shows. Raise BadParameter for another name, and PatchError if the
    patch has not just one viewer, or if films can't be written here.
    """

    def __init__(self, patch: Patch, path: Path, name: str | None) -> None:
        check_encoding(path, BY_NAME, "high")
        load_av()
        self._port = _viewed(patch) if name is None else _named(patch, name)
        self._path, self._rate = path, patch.timeline.rate if patch.timeline is not None else 60.0
        self._writer: FilmWriter | None = None

    def __enter__(self) -> FilmOut:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
            if kind is KeyboardInterrupt:
                frames = plural(self._writer.last + 1, "frame")
                click.echo(printable(f"{self._path} ends after {frames}"), err=True)

    def take(self, client: Client) -> None:
        """Add the last frame."""
        pixels = _pixels(client.read(self._port), is_deep(self._path, BY_NAME))
        if pixels is None:
            raise PatchError(f"{self._port} must hold an image of float4 or uchar4 to be filmed, got something else")
        if self._writer is None:
            self._writer = FilmWriter(self._path, pixels.shape[1], pixels.shape[0], self._rate)
        self._writer.write(pixels)

    @property
    def saved(self) -> list[Saved]:
        """The film as one of the outputs of the run."""
        if self._writer is None:
            return []
        shape = (self._writer.last + 1, self._writer.height, self._writer.width)
        return [Saved(self._port.node, self._port.port, "float4", shape, str(self._path))]


def _viewed(patch: Patch) -> PortRef:
    viewers = [node.id for node in patch.nodes.values() if node.type == "io.viewer"]
    viewed = [each.source for each in patch.connections if each.target.node in viewers and each.target.port == "image"]
    if len(set(viewed)) != 1:
        names = ", ".join(sorted({f"{port.node}.{port.port}" for port in viewed})) or "none"
        raise PatchError(f"patch must have one viewer to be filmed, or a port by --port NODE.PORT, got {names}")
    return viewed[0]


def _named(patch: Patch, name: str) -> PortRef:
    node, _, port = name.rpartition(".")
    if node not in patch.nodes or (leaf := patch.leaf(PortRef(node, port))) is None:
        raise click.BadParameter(f"--port must be NODE.PORT of the patch, got {name!r}")
    return leaf


def _pixels(contents: np.ndarray[Any, Any], deep: bool) -> np.ndarray[Any, Any] | None:
    """Return sRGB for an image of linear light, and bytes as they are; None for anything else."""
    if contents.ndim != 3 or contents.shape[2] != 4 or contents.dtype not in (np.float32, np.uint8):
        return None
    if contents.dtype == np.uint8:
        return contents * np.uint16(257) if deep else contents
    kind = np.uint16 if deep else np.uint8
    largest = np.iinfo(kind).max
    with np.errstate(invalid="ignore"):  # NaN becomes black
        light = (np.clip(contents, 0, 1) * (_LEVELS - 1) + 0.5).astype(np.uint16)
    shares = np.arange(_LEVELS) / (_LEVELS - 1)
    curve = np.where(shares <= 0.0031308, 12.92 * shares, 1.055 * shares ** (1 / 2.4) - 0.055)
    pixels: np.ndarray[Any, Any] = (curve * largest + 0.5).astype(kind)[light]
    pixels[..., 3] = (light[..., 3].astype(np.uint32) * largest + _LEVELS // 2) // (_LEVELS - 1)
    return pixels
