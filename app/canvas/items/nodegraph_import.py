"""What NodeGraphQt needs around its import; used by the adapter alone.

NodeGraphQt 0.6.44 finds Qt through Qt.py, and takes `LooseVersion` from distutils, which Python 3.12 no longer has and
3.11 warns about. It compares Qt versions with it when it builds menus, which the canvas does not use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from packaging.version import Version


@contextmanager
def nodegraph_environment() -> Iterator[None]:
    """Make Qt.py choose PySide6, and let `distutils.version` be imported while NodeGraphQt is."""
    os.environ["QT_PREFERRED_BINDING"] = "PySide6"
    package, module = ModuleType("distutils"), ModuleType("distutils.version")
    vars(module)["LooseVersion"] = Version
    names = {"distutils": package, "distutils.version": module}
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name, original in before.items():
            if original is None:
                del sys.modules[name]
            else:
                sys.modules[name] = original
