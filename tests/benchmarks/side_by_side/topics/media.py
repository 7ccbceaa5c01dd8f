"""A photo that is blurred, searched for edges and toned, and the spectrogram of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.bench_blocks import EDGES
from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program
from tests.benchmarks.side_by_side.peers import npp_programs
from tests.benchmarks.side_by_side.topics.arrays import launched, without_alpha
from warploom import Patch
from warploom.engine.device.device import Device
from warploom.engine.types import Array

SIGMA, CONTRAST, GREY = 3.0, 1.2, 0.18
#: Samples of a frame and to the next one, and the rate of a recording.
SIZE, HOP, RATE = 2048, 1024, 16000


def contests(device: Device, scale: float = 1.0) -> Iterator[Contest]:
    """Yield the contests on a device; `scale` multiplies the pixels and the seconds."""
    on_gpu, numbers = device.info.name != "host", np.random.default_rng(5)
    height, width = (round(side * scale**0.5) for side in ((2160, 3840) if on_gpu else (1080, 1920)))
    photo = numbers.random((height, width, 4), np.float32)
    programs: dict[str, Callable[[ExitStack], Program]] = {OURS: partial(our_photo, device, photo)}
    if on_gpu:
        programs |= {
            "CuPy": partial(array_photo, "cupy", photo), "torch": partial(torch_photo, "cuda", photo),
            "NPP": partial(npp_programs.photo, device, photo, SIGMA, CONTRAST, GREY),
        }  # fmt: skip
    else:
        programs |= {
            "numpy": partial(array_photo, "numpy", photo), "OpenCV": partial(opencv_photo, photo),
            "torch": partial(torch_photo, "cpu", photo),
        }  # fmt: skip
    yield Contest(
        f"photo of {width} x {height}: blur, Sobel, tone", programs,
        batch=10 if on_gpu else 1, moved_bytes=2 * photo.nbytes, tolerance=5e-3,
    )  # fmt: skip
    seconds = round((3600 if on_gpu else 60) * scale)
    frames = seconds * RATE // HOP
    sound = numbers.uniform(-1, 1, (frames + 1) * HOP).astype(np.float32)
    programs = {OURS: partial(our_spectrogram, device, sound)}
    for name in ("CuPy", "torch", "JAX") if on_gpu else ("numpy", "torch"):
        programs[name] = partial(SPECTROGRAMS[name], sound)
    yield Contest(
        f"{seconds} s of sound to a spectrogram", programs,
        moved_bytes=sound.nbytes + frames * (SIZE // 2 + 1) * 4, tolerance=1e-4,
    )  # fmt: skip


def our_photo(device: Device, photo: Array, opened: ExitStack) -> Program:
    """Run the blocks."""
    patch = Patch()
    last = patch.add("io.image_array", data=photo)
    for block, values in (
        ("image.gaussian_blur", {"sigma": SIGMA}),
        ("image.sobel", {"per_channel": True}),
        ("image.tone", {"contrast": CONTRAST}),
    ):
        node = patch.add(block, **values)
        patch.connect(last["out"], node["image"])
        last = node
    made = launched(device, patch, last, "out", opened)
    assert made.result is not None
    read = made.result
    return Program(made.launch, made.wait, lambda: without_alpha(read()))


def kept(call: Callable[[], Any], wait: Callable[[], object], result: Callable[[Any], Any]) -> Program:
    """Return a program that keeps the result of its last call."""
    results: list[Any] = [None]

    def launch() -> None:
        results[0] = None  # its memory is free for the next result
        results[0] = call()

    return Program(launch, wait, lambda: result(results[0]))


def array_photo(library: str, photo: Array, _: ExitStack) -> Program:
    """Call CuPy, or numpy with scipy."""
    on_gpu = library == "cupy"
    np_, nd = import_module(library), import_module("cupyx.scipy.ndimage" if on_gpu else "scipy.ndimage")
    given, weights = np_.asarray(photo[..., :3]), [np_.asarray(each) for each in EDGES]

    def call() -> Any:
        blurred = nd.gaussian_filter(given, (SIGMA, SIGMA, 0), mode="nearest")
        edges = np_.hypot(*(nd.convolve(blurred, each, mode="nearest") for each in weights))
        return np_.maximum((edges - GREY) * CONTRAST + GREY, 0)

    if on_gpu:
        return kept(call, np_.cuda.Device().synchronize, lambda x: x.get())
    return kept(call, lambda: None, np.asarray)


def opencv_photo(photo: Array, _: ExitStack) -> Program:
    """Call OpenCV, which uses all cores."""
    import cv2

    given, border = np.ascontiguousarray(photo[..., :3]), cv2.BORDER_REPLICATE

    def call() -> Any:
        blurred = cv2.GaussianBlur(given, (0, 0), SIGMA, borderType=border)
        across, down = (cv2.Sobel(blurred, -1, x, 1 - x, borderType=border) for x in (1, 0))
        return cv2.max((cv2.magnitude(across, down) - GREY) * CONTRAST + GREY, 0.0)

    return kept(call, lambda: None, np.asarray)


def torch_photo(on: str, photo: Array, _: ExitStack) -> Program:
    """Call torch's convolutions, with each channel as a picture of its own."""
    import torch

    if on == "cuda" and not torch.cuda.is_available():
        raise Missing("torch has no CUDA")
    pad, convolve, radius = torch.nn.functional.pad, torch.nn.functional.conv2d, round(4 * SIGMA)
    given = torch.from_numpy(np.ascontiguousarray(np.moveaxis(photo[..., :3], 2, 0)[:, None])).to(on)
    bell = torch.exp(-0.5 * (torch.arange(-radius, radius + 1, device=on) / SIGMA) ** 2)
    bell = (bell / bell.sum()).reshape(1, 1, -1, 1)
    edges = torch.from_numpy(np.stack(EDGES)[:, None, ..., 0]).to(on)

    def call() -> Any:
        blurred = convolve(pad(given, (0, 0, radius, radius), "replicate"), bell)
        blurred = convolve(pad(blurred, (radius, radius, 0, 0), "replicate"), bell.transpose(2, 3))
        across, down = convolve(pad(blurred, (1, 1, 1, 1), "replicate"), edges).split(1, 1)
        return torch.clamp((torch.hypot(across, down) - GREY) * CONTRAST + GREY, min=0)

    wait: Callable[[], object] = torch.cuda.synchronize if on == "cuda" else lambda: None
    return kept(call, wait, lambda x: np.moveaxis(x.cpu().numpy()[:, 0], 0, 2))


def our_spectrogram(device: Device, sound: Array, opened: ExitStack) -> Program:
    """Run the blocks."""
    patch = Patch()
    frames = patch.add("signal.frames", count=len(sound) // HOP - 1, size=SIZE, hop=HOP, window="hann")
    fft, magnitude = patch.add("signal.real_fft"), patch.add("signal.magnitude")
    patch.connect(patch.add("io.array", data=sound)["out"], frames["x"])
    patch.connect(frames["out"], fft["x"])
    patch.connect(fft["out"], magnitude["x"])
    return launched(device, patch, magnitude, "out", opened)


def hann() -> Array:
    """Return the window: one period of a raised cosine."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(SIZE) / SIZE)).astype(np.float32)


def halves_joined(np_: Any, sound: Any) -> Any:
    """Return the frames of a recording, whose halves overlap."""
    halves = sound.reshape(-1, HOP)
    return np_.concatenate([halves[:-1], halves[1:]], axis=1)


def cupy_spectrogram(sound: Array, _: ExitStack) -> Program:
    """Call CuPy."""
    import cupy

    given, window = cupy.asarray(sound), cupy.asarray(hann())
    return kept(
        lambda: cupy.abs(cupy.fft.rfft(halves_joined(cupy, given) * window)),
        cupy.cuda.Device().synchronize, lambda x: x.get(),
    )  # fmt: skip


def numpy_spectrogram(sound: Array, _: ExitStack) -> Program:
    """Call scipy, on all cores."""
    from scipy import fft

    window = hann()
    return kept(lambda: np.abs(fft.rfft(halves_joined(np, sound) * window, workers=-1)), lambda: None, np.asarray)


def jax_spectrogram(sound: Array, _: ExitStack) -> Program:
    """Call JAX."""
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        raise Missing("JAX has no GPU")
    given, window = jnp.asarray(sound), jnp.asarray(hann())
    compiled = jax.jit(lambda x: jnp.abs(jnp.fft.rfft(halves_joined(jnp, x) * window)))
    results: list[Any] = [None]

    def launch() -> None:
        results[0] = compiled(given)

    return Program(launch, lambda: results[0].block_until_ready(), lambda: np.asarray(results[0]))


def torch_spectrogram(sound: Array, _: ExitStack) -> Program:
    """Call torch's short-time Fourier transform."""
    import torch

    on = "cuda" if torch.cuda.is_available() else "cpu"
    given, window = torch.from_numpy(sound).to(on), torch.from_numpy(hann()).to(on)
    wait: Callable[[], object] = torch.cuda.synchronize if on == "cuda" else lambda: None
    return kept(
        lambda: torch.stft(given, SIZE, HOP, window=window, center=False, return_complex=True).abs(),
        wait, lambda x: x.cpu().numpy().T,
    )  # fmt: skip


SPECTROGRAMS: dict[str, Callable[..., Program]] = {
    "CuPy": cupy_spectrogram, "numpy": numpy_spectrogram, "JAX": jax_spectrogram, "torch": torch_spectrogram,
}  # fmt: skip
