"""Send a picture by NDI and receive it: `python -m tests.blocks.network.ndi_loopback WIDTH HEIGHT [RGBA|BGRA]`.

NDI Out sends it, with even sizes, as most programs do. With an order of bytes, the library itself sends it as it is.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from warploom import Engine, Patch

PATIENCE_S = 20.0


@contextmanager
def by_block(name: str, picture: np.ndarray) -> Iterator[Callable[[], object]]:
    """Return what sends the picture once, by NDI Out."""
    patch = Patch()
    out = patch.add("io.ndi_out", name=name)
    patch.connect(patch.add("io.image_array", data=picture)["out"], out["image"])
    with Engine(patch, device="host") as engine:
        yield engine.step


@contextmanager
def by_library(name: str, picture: np.ndarray, order: str) -> Iterator[Callable[[], object]]:
    """Return what sends the picture once, with its own size."""
    from cyndilib.sender import Sender
    from cyndilib.video_frame import VideoSendFrame
    from cyndilib.wrapper.ndi_structs import FourCC

    frame = VideoSendFrame()
    frame.set_resolution(picture.shape[1], picture.shape[0])
    frame.set_frame_rate(Fraction(30))
    frame.set_fourcc(getattr(FourCC, order))
    sender = Sender(name, clock_video=False)
    sender.set_video_frame(frame)
    light = picture[..., ["RGBA".index(part) for part in order]]
    curve = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    shares = np.where(np.array([part == "A" for part in order]), light, curve)
    data = (shares * 255 + 0.5).astype(np.uint8).reshape(-1)
    with sender:
        yield lambda: sender.write_video(data)


def main(width: int, height: int, order: str = "") -> int:
    """Return 0 if the picture came."""
    y, x = np.mgrid[0:height, 0:width]
    shares = np.stack([x / width, y / height, np.full_like(x, 0.3, float), np.ones_like(x, float)], axis=-1)
    picture = shares.astype(np.float32)
    name = f"loopback {os.getpid()}"
    patch = Patch()
    source = patch.add("io.ndi_in", name=name, width=width, height=height)
    end_s = time.monotonic() + PATIENCE_S
    sending = by_library(name, picture, order) if order else by_block(name, picture)
    with sending as send, Engine(patch, device="host") as receiver:
        while time.monotonic() < end_s:
            send()
            report = receiver.step()
            if report.values[f"{source.id}.received"]:
                found = receiver.read(source["out"])
                # Colours change by 1 / size from pixel to pixel. The codec halves them, and cuts odd sizes by one.
                error = float(np.abs(found[..., :3] - picture[..., :3]).max())
                sys.stdout.write(f"largest error {error:.3f}\n")
                return 0 if error < 5 / min(width, height) else 1
            time.sleep(0.01)
        sys.stdout.write(f"no source: {[problem.message for problem in report.diagnostics]}\n")
        return 2


if __name__ == "__main__":
    result = main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
    sys.stdout.flush()
    os._exit(result)  # the library's threads may not end by themselves
