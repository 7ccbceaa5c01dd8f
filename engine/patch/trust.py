"""Actions that only a trusted patch may take, since a patch is a document that may come from anywhere.

A patch that isn't trusted (`Patch.trusted`) writes files only in its own folder or in one that the person names,
listens and sends only to this machine, uses no camera, microphone or screen, and its kernels include only files of its
own folder, of the person's and of CUDA. In its own folder it overwrites only what it has written. Block files beside it
are trusted separately: `catalogue.trust_blocks`.
"""

import hashlib
import os
from collections.abc import Collection, Iterable
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from platformdirs import user_state_path

from warploom.engine.diagnostics import TRUST_PATCH, Diagnostic, Mend, warning
from warploom.engine.disk_cache import DiskCache, cache_key
from warploom.engine.patch.files import EXAMPLES_FOLDER
from warploom.engine.platforms.paths import why_refused
from warploom.engine.readings import digest


def asks_for_trust(diagnostic: Diagnostic) -> bool:
    """True for diagnostics from the `refuse_` functions, and of headers out of reach."""
    return diagnostic.mend is Mend.TRUST and diagnostic.remedy == TRUST_PATCH


def refuse_file(node: str, path: Path, folder: Path) -> Diagnostic | None:
    """Return why a node of an untrusted patch may not write a file; None if the file lies in `folder`.

    Symbolic links are followed.
    """
    real = Path(os.path.realpath(path))
    if real.is_relative_to(os.path.realpath(folder)):
        return None
    found = f"{path}" if real == path else f"{path}, which is {real}"
    return warning(
        f"file must be written in the folder {folder}, got {found}",
        node=node,
        found=found,
        remedy=TRUST_PATCH,
        mend=Mend.TRUST,
    )


class SavePlace(msgspec.Struct, frozen=True):
    """The place where outputs are saved.

    With `folder`, viewers, save blocks and unconnected outputs are all saved there, under different names. Without it,
    only save blocks write files: to their own paths, which start at `base` if they are relative. An untrusted patch
    writes nowhere else.

    Without `folder`, a file that exists is overwritten only if `patch` wrote its present contents, or if it is one of
    `overwrites`; None stands for all files. `patch` is the path of the patch's file, or another name while there is
    none.
    """

    patch_folder: Path
    folder: Path | None = None
    trusted: bool = False
    patch: str = ""
    overwrites: Collection[str] | None = ()

    @property
    def base(self) -> Path:
        """The patch's folder; for an example patch, the working directory."""
        return Path.cwd() if self.patch_folder == EXAMPLES_FOLDER else self.patch_folder

    def refusal(self, node: str, path: Path) -> Diagnostic | None:
        """Return why a node may not write a file, or None."""
        if why := why_refused(path.name):
            return warning(
                f"file must have a name that this system allows, got {path.name}: {why}",
                node=node,
                found=path.name,
                remedy="name another file",
            )
        return None if self.trusted else refuse_file(node, path, self.folder or self.base)

    def refusals(self, files: Iterable[tuple[str, str]], *, at_present: bool = False) -> list[Diagnostic]:
        """Return why nodes may not write their files, for those that may not.

        `at_present` adds those that exist, which may change at any time.
        """
        paths = [(node, self.base / path) for node, path in files]
        found = [self.refusal(*each) or (self.overwriting(*each) if at_present else None) for each in paths]
        return [refused for refused in found if refused is not None]

    def overwriting(self, node: str, path: Path) -> Diagnostic | None:
        """Return why a node may not overwrite a file, or None."""
        real = os.path.realpath(path)
        if self.folder is not None or self.overwrites is None or real in self.overwrites or not os.path.lexists(real):
            return None
        known = _written().get(self._key(real))
        if known is not None and digest(Path(real)) == known:
            return None
        return warning(
            f"file must be new, or as this patch wrote it, got {path}",
            node=node,
            found=real,
            remedy="name another file, or allow it: Save Outputs in the editor asks, `warploom run` has `--out` and "
            "`--trust`, Python has `load_patch(path, trust=True)`",
            mend=Mend.OVERWRITE,
        )

    def note(self, path: Path, data: bytes | None = None) -> None:
        """Remember that the patch wrote a file, so that it may overwrite it later; without `data`, the file is read."""
        written = digest(path) if data is None else hashlib.sha256(data).digest()
        if self.folder is None and self.patch and isinstance(written, bytes):
            _written().put(self._key(os.path.realpath(path)), written)

    def _key(self, real: str) -> str:
        return cache_key([os.fsencode(self.patch), os.fsencode(real)])


def _written() -> DiskCache[bytes]:
    """Return the digests of files as patches wrote them, by patch and path.

    They lie in the person's state, since a mark in the file or beside it could come with the patch. No patch can write
    there: no format of pictures has a name without suffix.
    """
    return DiskCache(bytes, user_state_path("warploom") / "written", 512 << 10)


#: What blocks use by their sources, which no untrusted patch may. Lighting desks send to the whole network.
_OUTSIDE = {
    "sacn": "listen to the network, got universe {} of sACN",
    "artnet": "listen to the network, got universe {} of Art-Net",
    "ndi_in": "receive pictures from the network, got NDI source {}",
    "ndi_out": "send pictures to the network, got NDI source {}",
    "camera": "use a camera, got camera {}",
    "microphone": "use a microphone, got device {}",
    "screen": "see the screen, got monitor {}",
}


def refuse_source(node: str, source: str) -> Diagnostic | None:
    """Return why a node of an untrusted patch may not use a source, see `UpdatedBlock.source`.

    None stands for a source that only this machine can reach.
    """
    kind, _, place = source.partition(":")
    if kind in _OUTSIDE:
        text = f"an untrusted patch must not {_OUTSIDE[kind].format(place or 'of any name')}"
        found = f"{kind.replace('_', ' ')} {place}".strip()
        return warning(text, node=node, found=found, remedy=TRUST_PATCH, mend=Mend.TRUST)
    if kind in ("stream", "dmx_out"):
        host = _host_of(place) if kind == "stream" else place
        if _is_this_machine(host):
            return None
        what = "get films from" if kind == "stream" else "send levels to"
        text = f"an untrusted patch must {what} this machine only, got {place or 'the whole network'}"
        return warning(text, node=node, found=place or "all lights", remedy=TRUST_PATCH, mend=Mend.TRUST)
    host, _, port = place.rpartition(":")
    if kind not in ("osc", "websocket") or _is_this_machine(host):
        return None
    found, name = f"{host}, port {port}", "OSC" if kind == "osc" else "WebSocket"
    text = f"{name} must be listened to at an address of this machine only, such as 127.0.0.1, got {found}"
    return warning(text, node=node, found=found, remedy=TRUST_PATCH, mend=Mend.TRUST)


def refuse_destination(host: str) -> Diagnostic | None:
    """Return why an untrusted patch may not send values to a host; None if that is this machine."""
    if _is_this_machine(host):
        return None
    text = f"OSC must be sent to this machine only, such as 127.0.0.1, got {host}"
    return warning(text, found=host, remedy=TRUST_PATCH, mend=Mend.TRUST)


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # another host name, which may be any machine's
        return False
