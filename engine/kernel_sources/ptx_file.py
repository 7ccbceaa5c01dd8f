"""Loads a `.ptx` file, with the `.json` beside it when there is one."""

from __future__ import annotations

from pathlib import Path

from engine.diagnostics import KernelError
from engine.kernel_sources.compile_cache import CompileCache
from engine.kernel_sources.files import read_source
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.manifest import KernelManifest, read_manifest
from engine.ptx import parse
from engine.ptx.signature import KernelSignature


def load_ptx_file(path: Path, architecture: str, cache: CompileCache) -> KernelImage:
    """Read PTX and its manifest; KernelError with the place when either is wrong or they disagree.

    PTX goes to any device as it is, so neither the architecture nor the cache matters here.
    """
    text = read_source(path)
    try:
        signatures = parse(text).signatures
    except KernelError as wrong:
        raise KernelError(f"{path.name}: {wrong}", file=str(path), line=wrong.line) from None
    if not signatures:
        raise KernelError(f"{path.name} must define a kernel (.entry), got none", file=str(path))
    # The manifest counts as a dependency before it exists: writing one changes the image.
    manifest_path = path.with_suffix(".json")
    manifest = read_manifest(manifest_path) if manifest_path.is_file() else None
    if manifest is not None:
        _agree(manifest, signatures, manifest_path)
    return KernelImage(path, text, None, signatures, "", (path, manifest_path), manifest)


def _agree(manifest: KernelManifest, signatures: dict[str, KernelSignature], path: Path) -> None:
    signature = signatures.get(manifest.name)
    if signature is None:
        raise KernelError(
            f"name in {path.name} must be an entry point of the PTX ({', '.join(signatures)}), got {manifest.name}",
            file=str(path),
        )
    indices = sorted(parameter.index for parameter in manifest.parameters)
    if indices != list(range(len(signature.parameters))):
        raise KernelError(
            f"parameters in {path.name} must have the indices 0 to {len(signature.parameters) - 1} "
            f"that {manifest.name} takes, got {indices}",
            file=str(path),
        )
