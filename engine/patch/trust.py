"""Actions that only a trusted patch may do, since a patch is a document that may come from anywhere.

A patch that isn't trusted (`Patch.trusted`) writes files in its own folder or in the one that the person names, and
listens to this machine only. Block files beside it are trusted separately: `catalogue.trust_blocks`.
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
    """True for what `refuse_file` and `refuse_source` return."""
    return diagnostic.mend is Mend.TRUST and diagnostic.remedy == REMEDY


def refuse_file(node: str, path: Path, folder: Path) -> Diagnostic | None:
    """Return why a node of an untrusted patch may not write a file, or None when it lies in `folder`.

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
    """Where outputs are saved.

    With `folder`, viewers, save blocks and unconnected outputs all go there, each under a different name. Without it,
    only save blocks go to files: to their own paths, of which relative ones start at `base`. An untrusted patch writes
    nothing elsewhere.
    """

    patch_folder: Path
    folder: Path | None = None
    trusted: bool = False

    @property
    def base(self) -> Path:
        """The patch's folder, for an example the working directory."""
        return Path.cwd() if self.patch_folder == EXAMPLES_FOLDER else self.patch_folder

    def refusal(self, node: str, path: Path) -> Diagnostic | None:
        """Return why a node may not write a file, or None."""
        return None if self.trusted else refuse_file(node, path, self.folder or self.base)

    def refusals(self, files: Iterable[tuple[str, str]]) -> list[Diagnostic]:
        """Return why nodes may not write the files that they name."""
        return [told for node, path in files if (told := self.refusal(node, self.base / path))]


def refuse_source(node: str, source: str) -> Diagnostic | None:
    """Return why a node of an untrusted patch may not listen to a source, or None when only this machine reaches it."""
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
    except ValueError:  # another name, which may be any machine's
        return False
