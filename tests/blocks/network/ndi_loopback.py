"""Send a picture by NDI and receive it, in one process: `python -m tests.blocks.network.ndi_loopback WIDTH HEIGHT`."""

import os
import sys
import time

import numpy as np

from engine import Engine, Patch

PATIENCE_S = 20.0


def main(width: int, height: int) -> int:
    """Return 0 if the picture came."""
    y, x = np.mgrid[0:height, 0:width]
    picture = np.stack([x / width, y / height, np.full_like(x, 0.3, float), np.ones_like(x, float)], axis=-1)
    name = f"loopback {os.getpid()}"
    sending, receiving = Patch(), Patch()
    out = sending.add("io.ndi_out", name=name)
    sending.connect(sending.add("io.image_array", data=picture.astype(np.float32))["out"], out["image"])
    source = receiving.add("io.ndi_in", name=name, width=width, height=height)
    end_s = time.monotonic() + PATIENCE_S
    with Engine(sending, device="host") as sender, Engine(receiving, device="host") as receiver:
        while time.monotonic() < end_s:
            sender.step()
            report = receiver.step()
            if report.values[f"{source.id}.received"]:
                found = receiver.read(source["out"])
                # Gradients are smooth, so compressed colours are near them; the codec also cuts odd sizes by one.
                error = float(np.abs(found[..., :3] - picture[..., :3]).max())
                sys.stdout.write(f"largest error {error:.3f}\n")
                return 0 if error < 0.1 else 1
            time.sleep(0.01)
        sys.stdout.write(f"no source: {[problem.message for problem in report.diagnostics]}\n")
        return 2


if __name__ == "__main__":
    result = main(int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.flush()
    os._exit(result)  # the library's threads may not end by themselves
