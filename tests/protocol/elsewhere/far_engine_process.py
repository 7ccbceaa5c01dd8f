"""An engine that takes itself to be on another machine, for tests.

Its argument is a folder that only the other machine has: it ends if it uses that one.
"""

import os
import sys
from pathlib import Path


def command(forbidden: Path) -> list[str]:
    """Return the command that starts such an engine."""
    return [sys.executable, "-m", "tests.protocol.elsewhere.far_engine_process", str(forbidden)]


def main() -> None:
    """Serve on standard input and output."""
    (forbidden,) = sys.argv[1:]

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(f"{forbidden}/"):
            os.write(2, f"the engine used {arguments[0]} of the other machine\n".encode())
            os._exit(77)

    sys.addaudithook(refuse)
    from warploom.engine.protocol.child import hello
    from warploom.engine.runtime.serve import serve_standard_streams

    hello.place = lambda: "another machine"
    serve_standard_streams()


if __name__ == "__main__":
    main()
