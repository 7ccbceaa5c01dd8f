"""Actions that only a trusted patch may take, since a patch is a document that may come from anywhere.

A patch that isn't trusted (`Patch.trusted`) writes files only in its own folder or in one that the person names, and
listens only to this machine. Block files beside it are trusted separately: `catalogue.trust_blocks`.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from engine.diagnostics import Diagnostic, Mend, warning
from engine.patch.files import EXAMPLES_FOLDER

REMEDY = "if you know the patch, trust it: File > Trust, `--trust`, or `load_patch(path, trust=True)` from Python"


def asks_for_trust(diagnostic: Diagnostic) -> bool:
    """True for diagnostics from `refuse_file` and `refuse_source`."""
    return diagnostic.mend is Mend.TRUST and diagnostic.remedy == REMEDY


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
        remedy=REMEDY,
        mend=Mend.TRUST,
    )


@dataclass(frozen=True)
class SavePlace:
    """The place where outputs are saved.

    With `folder`, viewers, save blocks and unconnected outputs are all saved there, under different names. Without it,
    only save blocks write files: to their own paths, which start at `base` if they are relative. An untrusted patch
    writes nowhere else.
    """

    patch_folder: Path
    folder: Path | None = None
    trusted: bool = False

    @property
    def base(self) -> Path:
        """The patch's folder; for an example patch, the working directory."""
        return Path.cwd() if self.patch_folder == EXAMPLES_FOLDER else self.patch_folder

    def refusal(self, node: str, path: Path) -> Diagnostic | None:
        """Return why a node may not write a file, or None."""
        return None if self.trusted else refuse_file(node, path, self.folder or self.base)

    def refusals(self, files: Iterable[tuple[str, str]]) -> list[Diagnostic]:
        """Return why nodes may not write their files, for those that may not."""
        return [refused for node, path in files if (refused := self.refusal(node, self.base / path))]


def refuse_source(node: str, source: str) -> Diagnostic | None:
    """Return why a node of an untrusted patch may not listen to a source; None if only this machine can reach it."""
    kind, _, place = source.partition(":")
    host, _, port = place.rpartition(":")
    if kind != "osc" or _is_this_machine(host):
        return None
    found = f"{host}, port {port}"
    text = f"OSC must be listened to at an address of this machine only, such as 127.0.0.1, got {found}"
    return warning(text, node=node, found=found, remedy=REMEDY, mend=Mend.TRUST)


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # another host name, which may be any machine's
        return False
