"""Sound files to one channel of floats at a rate that the patch chooses."""

import struct
import warnings
from functools import lru_cache
from io import BytesIO
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from engine.diagnostics import PatchError
from engine.readings import read_bytes

#: What a person can choose.
CHANNELS = ("mix", "left", "right")
#: Decoded sounds kept, so that editing a patch does not read its files again.
CACHED_SOUNDS = 4


def load_sound(path: Path, rate: int, channel: str) -> np.ndarray[Any, Any]:
    """Return a WAV file as float32 of shape (samples,), read-only, with `rate` samples a second.

    Whole numbers are brought to the range from -1 to 1. `channel` is one of CHANNELS; mix is the mean of all, and a
    file with one channel gives that one. PatchError names the file when it can't be read.
    """
    try:
        return _decode(read_bytes(path), rate, channel)
    except FileNotFoundError:
        raise PatchError(f"sound file must exist, got {path}; choose another file, or put it there") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem).split("\n")[0]
        raise _unreadable(path, reason) from problem
    except (EOFError, TypeError, IndexError, NameError, ArithmeticError, struct.error) as problem:
        # scipy stumbles over the headers of damaged files in any of these ways.
        raise _unreadable(path, "a damaged one") from problem


def _unreadable(path: Path, reason: str) -> PatchError:
    return PatchError(f"sound file {path} must be a readable WAV file, got: {reason}; save it again as WAV")


# By what the file holds: one that was saved again is decoded again, and only then.
@lru_cache(CACHED_SOUNDS)
def _decode(held: bytes, rate: int, channel: str) -> np.ndarray[Any, Any]:
    from scipy.io import wavfile  # takes a tenth of a second, which patches without sound need not spend

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wavfile.WavFileWarning)  # of tags that it doesn't know
        own_rate, samples = wavfile.read(BytesIO(held))
    if not samples.size:
        raise ValueError("no samples")
    if samples.dtype.kind == "u":
        sound = (samples.astype(np.float32) - 128) / 128
    elif samples.dtype.kind == "i":
        sound = (samples / -float(np.iinfo(samples.dtype).min)).astype(np.float32)
    else:
        sound = samples.astype(np.float32)
    if sound.ndim > 1:
        place = {"left": 0, "right": 1}.get(channel)
        sound = sound.mean(axis=1) if place is None or sound.shape[1] == 1 else sound[:, place]
    if own_rate != rate:
        from scipy.signal import resample_poly

        common = gcd(rate, own_rate)
        sound = resample_poly(sound, rate // common, own_rate // common)
    sound = np.ascontiguousarray(sound, np.float32)
    sound.flags.writeable = False
    return sound
