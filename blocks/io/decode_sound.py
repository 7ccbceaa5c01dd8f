"""Decodes sound files to one channel of floats at the rate of the patch."""

import io
import struct
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from warploom.api import read_bytes
from warploom.blocks.video.films.film_sound import FilmSound, open_film_sound
from warploom.engine.diagnostics import PatchError

#: Choices of the channel.
CHANNELS = ("mix", "left", "right")
#: The number of decoded sounds that are kept, so that editing a patch does not read its files again.
CACHED_SOUNDS = 4
#: The highest rate of a file, in Hz, since the size of the resampling filter grows with the rate.
MAX_RATE = 1_000_000
#: The most samples of a sound at the patch's rate: 4 GiB.
MAX_SAMPLES = 1 << 30
#: The most samples for each byte of a sound track, whose header may claim any length; silence takes the fewest bytes.
_MOST_IN_BYTE = 4096
#: The samples of a track that are decoded together; what was decoded is copied for each packet of them.
_PIECE = 1 << 15


def load_sound(path: Path, rate: int, channel: str) -> np.ndarray[Any, Any]:
    """Return a sound file as float32 of shape (samples,), read-only, with `rate` samples per second.

    The file may be WAV, FLAC, OGG, MP3, AIFF or another format of libsndfile, or M4A, MKA, WMA or a film with sound.
    Whole numbers are scaled to the range from -1 to 1; floats stay as they are. `channel` is one of CHANNELS; "mix" is
    the mean of all channels. A file with one channel always returns that channel. A WAV file whose header was never
    completed, because its recorder was killed, is read to its end; redundant fields of the header, such as the bytes
    per second, are ignored. A PatchError names the file when it can't be read.
    """
    try:
        return _decode(read_bytes(path), rate, channel)
    except FileNotFoundError:
        raise PatchError(f"sound file must exist, got {path}; choose another file, or put it there") from None
    except (OSError, ValueError, MemoryError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem) or "more than memory holds"
        raise PatchError(
            f"sound file {path} must be a readable sound, got: {reason}; save it again as WAV or FLAC"
        ) from problem


# Cached by contents, so that a file is decoded again only if these have changed.
@lru_cache(CACHED_SOUNDS)
def _decode(held: bytes, rate: int, channel: str) -> np.ndarray[Any, Any]:
    own_rate, samples = read_sound(held)
    if samples.shape[1] == 1 or channel == "mix":
        sound = samples.mean(axis=1)
    else:
        sound = samples[:, ("left", "right").index(channel)]
    if own_rate != rate:
        from scipy.signal import resample_poly  # this import takes 0.1 s and is only needed for resampling

        if len(sound) * rate // own_rate > MAX_SAMPLES:
            raise ValueError(f"{len(sound)} samples at {own_rate} Hz, more than {MAX_SAMPLES} at {rate} Hz")
        common = gcd(rate, own_rate)
        sound = resample_poly(sound, rate // common, own_rate // common)
    sound = np.ascontiguousarray(sound, np.float32)
    sound.flags.writeable = False
    return sound


def read_sound(data: bytes) -> tuple[int, np.ndarray[Any, Any]]:
    """Return the rate in Hz and the samples, float32 of shape (samples, channels), in a file's bytes.

    A ValueError states what is wrong with the file.
    """
    import soundfile  # only patches with sounds need it

    try:
        samples, rate = soundfile.read(io.BytesIO(with_size(data)), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as problem:
        if (film := open_film_sound(io.BytesIO(data))) is None:
            reason = problem.error_string.rstrip(".")
            raise ValueError("a rate of 0 Hz" if "SF_INFO" in reason else reason) from problem
        rate, samples = film.samplerate, _track(film, len(data))
    except RuntimeError as problem:
        raise ValueError(str(problem)) from problem
    if not 0 < rate <= MAX_RATE:
        raise ValueError(f"a rate of {rate} Hz, which must be from 1 to {MAX_RATE}")
    if not samples.size:
        raise ValueError("no samples")
    return rate, samples


def _track(film: FilmSound, size: int) -> np.ndarray[Any, Any]:
    """Return all samples of a sound track in a file of `size` bytes."""
    try:
        if film.frames > _MOST_IN_BYTE * size:
            raise ValueError(f"{film.frames} samples in {size} bytes")
        samples = np.zeros((film.frames, film.channels), np.float32)
        for begin in range(0, film.frames, _PIECE):
            film.read(out=samples[begin : begin + _PIECE])
        return samples
    except Exception as problem:  # a library that reads damaged files may raise anything
        raise ValueError(f"a damaged track ({problem})") from problem
    finally:
        film.close()


def with_size(data: bytes) -> bytes:
    """Return a WAV file with its size of samples set to the rest of the file, if its recorder left that size at 0.

    If the rest is a list of chunks, the file has no samples and is returned unchanged.
    """
    at = 12
    while data[:4] == b"RIFF" and data[8:12] == b"WAVE" and at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if name == b"data":
            if size == 0 and not _is_chunks(data, at + 8):
                return data[: at + 4] + struct.pack("<I", min(len(data) - at - 8, 0xFFFFFFFF)) + data[at + 8 :]
            break
        at += 8 + size + size % 2
    return data


def _is_chunks(data: bytes, at: int) -> bool:
    """Return whether the bytes from `at` to the end are a sequence of named chunks."""
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if not all(32 <= letter < 127 for letter in name):
            return False
        at += 8 + size + size % 2
    return at in (len(data), len(data) + 1)
