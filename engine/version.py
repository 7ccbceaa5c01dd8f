"""Versions of Warploom and of installed packages."""

import os
import sys
from contextlib import suppress
from pathlib import Path


def version() -> str:
    """Return Warploom's version, such as "0.2.0": the installed one, or that of the checkout from which it runs."""
    import tomllib  # these two would be a twentieth of a start, and a start asks for no version
    from importlib import metadata

    try:
        return metadata.version("warploom")
    except metadata.PackageNotFoundError:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])


def installed() -> dict[str, os.DirEntry[str]]:
    """Return the metadata folders of installed packages by name in lower case, such as "nvidia_cuda_nvrtc".

    A folder is named "nvidia_cuda_nvrtc-13.5.37.dist-info". `importlib.metadata` finds more, such as packages in
    archives, but importing it is a twentieth of a start.
    """
    found: dict[str, os.DirEntry[str]] = {}
    for folder in sys.path:
        # Python's path also has archives, and folders that don't exist.
        with suppress(OSError), os.scandir(folder or os.curdir) as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    found.setdefault(entry.name.partition("-")[0].lower(), entry)
    return found


def installed_version(package: str) -> str | None:
    """Return the version of an installed package, or None if it isn't found; its name has "_" for "-"."""
    folder = installed().get(package)
    return Path(folder.name).stem.partition("-")[2] if folder is not None else None
