"""Make resources/examples/NAME.webp: what the patch NAME.loom shows, as a short film that the gallery plays.

PYTHONPATH=. .venv/bin/python tools/make_gallery_pictures.py [NAME ...]

Needs Pillow. Patches run on the host, so that every machine makes the same pictures. A patch whose picture does not
change gets one frame.
"""

import sys
from io import BytesIO
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from warploom import Engine, load_patch
from warploom.engine.protocol.sampling import ObservePorts, picture_of

FOLDER = Path(__file__).parents[1] / "resources" / "examples"
#: Twice the size of the picture on a card, for screens of scale 2.
SIZE = (560, 316)
PICTURES, PER_SECOND = 20, 10
#: The largest file in bytes, and the qualities to try for it.
LARGEST, QUALITIES = 260 << 10, (90, 80, 70, 60, 50, 40)
#: Frames of the patch before the film, and from one picture to the next, where 60 and 6 don't show the best of it; and
#: the viewer, where the first one isn't the one to show.
BEFORE, STEP, VIEWER = 60, 6, ""
CHOICES: dict[str, tuple[int, int, str]] = {
    "append": (240, 6, ""),
    "particles": (260, 6, ""),
    "values": (260, 6, ""),
    "feedback": (200, 6, ""),
    "journey": (24, 9, ""),
    "music": (500, 3, ""),
    "live_sound": (300, 6, ""),
    "synthesizer": (240, 3, ""),
    "modular": (300, 3, ""),
    "nested": (400, 3, ""),
    "coral": (150, 12, ""),
    "smoke": (150, 6, ""),
    "slime": (150, 12, ""),
    "galaxy": (120, 9, ""),
    "flock": (200, 6, ""),
    "trails": (150, 6, ""),
    "wake": (560, 12, ""),
    "dam": (0, 6, ""),
    "cloth": (100, 6, ""),
    "sculpture": (0, 4, ""),
    "butterflies": (60, 4, ""),
    "ocean": (0, 4, ""),
    "terrain": (0, 12, ""),
    "life": (20, 6, ""),
    "mandala": (60, 12, ""),
    "digits": (1, 12, "weights"),
    "picture": (1, 24, "answer"),
    "sparse": (240, 12, "curve"),
    "slideshow": (0, 36, ""),
    "spectrogram": (200, 6, ""),
}


def main(names: list[str]) -> None:
    """Make the pictures of the named examples, or of all."""
    for path in sorted(FOLDER.glob("*.loom")):
        if not names or path.stem in names:
            pictures = list(distinct(film(path)))
            size = write(path.with_suffix(".webp"), pictures)
            print(f"{path.stem}: {len(pictures)} pictures, {size / 1024:.0f} KB", flush=True)


def film(path: Path) -> list[Image.Image]:
    """Run a patch and return its pictures."""
    before, step, viewer = CHOICES.get(path.stem, (BEFORE, STEP, VIEWER))
    patch = load_patch(path)
    viewer = viewer or next(node.id for node in patch.nodes.values() if node.type == "io.viewer")
    pictures = []
    with Engine(patch, device="host") as engine:
        for _ in range(before):
            engine.step()
        engine.post(ObservePorts({viewer: picture_of(viewer)}))
        for frame in range(PICTURES * step):
            report = engine.step()
            assert not report.failed, report
            sample = engine.take_sample(viewer)
            if frame % step == 0 and sample is not None and sample.data is not None:
                pictures.append(framed(sample.data))
    return pictures


def framed(pixels: np.ndarray) -> Image.Image:
    """Return a picture in the size of a card, cut at its longer sides; small pictures keep their pixels sharp."""
    picture = Image.fromarray(np.ascontiguousarray(pixels[..., :3]))
    method = Image.Resampling.LANCZOS if picture.width >= SIZE[0] // 2 else Image.Resampling.NEAREST
    if picture.width >= 2 * picture.height:  # a plot, of whose axes nothing may be cut off
        return ImageOps.pad(picture, SIZE, method, color=tuple(pixels[0, 0, :3].tolist()))
    return ImageOps.fit(picture, SIZE, method)


def distinct(pictures: list[Image.Image]) -> list[Image.Image]:
    """Return one picture of those that are all alike, or all of them."""
    first = pictures[0].tobytes()
    return pictures[:1] if all(picture.tobytes() == first for picture in pictures) else pictures


def write(path: Path, pictures: list[Image.Image]) -> int:
    """Write a film in the best quality that is small enough, with fewer pictures if none is; return its size."""
    for every, quality in product((1, 2, 4), QUALITIES):
        data, (first, *others) = BytesIO(), pictures[::every]
        duration = every * 1000 // PER_SECOND
        first.save(data, "WEBP", save_all=True, append_images=others, duration=duration, loop=0, quality=quality)
        if data.tell() <= LARGEST:
            break
    path.write_bytes(data.getvalue())
    return data.tell()


if __name__ == "__main__":
    main(sys.argv[1:])
