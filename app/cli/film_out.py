"""`warploom run --out film.mp4`: the frames of one port as a film, with the sound that the patch plays."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np

from warploom import Patch
from warploom.api import Moment, Taken
from warploom.blocks.sound.sound_reader import in_channels
from warploom.blocks.sound.windows import channels_of, newest, samples_in
from warploom.blocks.video.films.codecs import BY_NAME, SUFFIXES, check_encoding, is_deep
from warploom.blocks.video.films.film_source import load_av
from warploom.blocks.video.films.film_writer import FilmWriter
from warploom.blocks.video.films.sound_track import SoundTrack
from warploom.engine.diagnostics import PatchError, printable
from warploom.engine.figures import plural
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import FrameReport, Saved

_LEVELS = 1 << 16


def is_film(path: Path | None) -> bool:
    """True for a path whose suffix is that of a film."""
    return path is not None and path.suffix.lower() in SUFFIXES


class FilmOut:
    """Films a port into a file, which is finished even if the frames end early. `name` is NODE.PORT, or None.

    Without a name, it is what the patch's viewer shows. The film's sound is that of all blocks Audio Out. Raise
    BadParameter for another name, and PatchError if the patch has not just one viewer, if films can't be written here,
    or if sounds have different rates.
    """

    def __init__(self, patch: Patch, path: Path, name: str | None) -> None:
        check_encoding(path, BY_NAME, "high")
        load_av()
        self._port = _viewed(patch) if name is None else _named(patch, name)
        self._path, self._rate = path, patch.timeline.rate if patch.timeline is not None else 60.0
        self._writer: FilmWriter | None = None
        self._track: SoundTrack | None = None
        self._heard_s = 0.0
        self._speakers = _speakers(patch)
        rates = {int(patch.value(node, "rate")) for node in self._speakers}
        if len(rates) > 1:
            raise PatchError(f"sounds of a film must have one rate, got {', '.join(map(str, sorted(rates)))} Hz")
        self._sound_rate = rates.pop() if rates else 0

    def __enter__(self) -> FilmOut:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._writer is not None:
            if self._track is not None:
                self._writer.write_sound(self._track.end().T)
            self._writer.close()
            if kind is KeyboardInterrupt:
                frames = plural(self._writer.last + 1, "frame")
                click.echo(printable(f"{self._path} ends after {frames}"), err=True)

    def take(self, client: Client, report: FrameReport) -> None:
        """Add the last frame, whose report this is."""
        pixels = _pixels(client.read(self._port), is_deep(self._path, BY_NAME))
        if pixels is None:
            raise PatchError(f"{self._port} must hold an image of float4 or uchar4 to be filmed, got something else")
        sounds = [np.asarray(client.read(PortRef(node, "x"))) for node in self._speakers]
        if self._writer is None:
            self._begin(pixels, sounds, report.time_s)
        assert self._writer is not None
        if self._track is not None:
            count = samples_in(Moment(0, report.time_s, report.time_s - self._heard_s), self._sound_rate)
            self._heard_s = report.time_s
            mixed = np.zeros((count, self._track.channels), np.float32)
            for node, window in zip(self._speakers, sounds, strict=True):
                part = in_channels(newest(Taken(0, window), count, f"{node}.x"), self._track.channels)
                mixed[count - len(part) :] += part * np.float32(_volume(client, node))
            until = round((self._writer.last + 2) * self._sound_rate / self._writer.rate)
            self._writer.write_sound(self._track.add(mixed, until).T)
        self._writer.write(pixels)

    def _begin(self, pixels: np.ndarray[Any, Any], sounds: list[np.ndarray[Any, Any]], time_s: float) -> None:
        shapes = zip(self._speakers, sounds, strict=True)
        channels = max((channels_of(sound.shape, f"{node}.x") for node, sound in shapes), default=0)
        self._writer = FilmWriter(
            self._path,
            pixels.shape[1],
            pixels.shape[0],
            self._rate,
            sound_rate=self._sound_rate,
            sound_channels=channels,
        )
        self._track = SoundTrack(channels) if channels else None
        self._heard_s = time_s - 1 / self._rate

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


def _speakers(patch: Patch) -> list[str]:
    """Return the blocks Audio Out that have a sound."""
    fed = {connection.target for connection in patch.connections}
    nodes = [node for node in patch.nodes.values() if node.type == "io.audio_out" and not node.mode]
    return [node.id for node in nodes if PortRef(node.id, "x") in fed]


def _volume(client: Client, node: str) -> float:
    """Return the volume of a block Audio Out in the last frame."""
    with suppress(PatchError):  # it is not driven
        return float(client.read(PortRef(node, "volume")))
    return float(client.patch.value(node, "volume"))


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
