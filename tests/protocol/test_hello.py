"""An engine's process says its versions and its place first, and one that does not fit is refused."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.waiting import next_report, until
from warploom import Patch
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol import pipe
from warploom.engine.protocol.child.encoding import Alive, Hello, encode
from warploom.engine.protocol.child.hello import hello, place, protocol
from warploom.engine.protocol.pipe import connect

#: Sends one frame, and then waits for its end.
PROGRAM = """
import sys
frame = bytes.fromhex(sys.argv[1])
sys.stdout.buffer.write(len(frame).to_bytes(8, "big") + frame)
sys.stdout.flush()
sys.stdin.read()
"""


def command(first: msgspec.Struct) -> list[str]:
    """Return a command that sends this message first."""
    return [sys.executable, "-c", PROGRAM, encode(first).hex()]


@pytest.mark.parametrize(
    ("first", "found"),
    [
        (Hello("9.8.7", protocol(), place()), f"got Warploom 9.8.7 with protocol {protocol()}"),
        (Hello(hello().warploom, "abc", place()), f"got Warploom {hello().warploom} with protocol abc"),
        (Alive(), "got an older one or no engine"),
    ],
)
def test_another_version_is_refused_by_name(first: msgspec.Struct, found: str) -> None:
    """An engine of other versions ends at once; scripts and windows get one text with both versions and a remedy."""
    wanted = f"it was stopped: engine must be Warploom {hello().warploom}"
    with pytest.raises(DeviceError, match=wanted) as raised:
        connect(Patch(), command(first), "host")
    assert found in str(raised.value) and "install the same version on both machines" in str(raised.value)
    with connect(Patch(), command(first), "host", waits=False) as client:
        (told,) = next_report(client, lambda report: report.failed).diagnostics
        assert wanted in told.message and found in told.message


def test_a_window_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the hello, a client names the limit, and the command unless this Python runs it."""
    monkeypatch.setattr(pipe, "PATIENCE_S", 0.1)
    with connect(Patch(), ["sleep", "100"], "host", waits=False) as client:
        until(lambda: re.fullmatch(r"waiting for `sleep 100`, [1-9]\d* of 600 s", client.transport.waits_for))
    with connect(Patch(), [sys.executable, "-c", "import time; time.sleep(100)"], "host", waits=False) as client:
        until(lambda: re.fullmatch(r"starting the engine, [1-9]\d* of 600 s", client.transport.waits_for))


def test_other_mounts_are_another_place() -> None:
    """Another process has the same protocol; it is at the same place, unless it has other mounts."""
    program = "from warploom.engine.protocol.child.hello import place, protocol; print(protocol(), place())"
    here = [sys.executable, "-c", program]
    assert subprocess.check_output(here, text=True).strip() == f"{protocol()} {place()}"
    apart = [shutil.which("unshare") or "unshare", "--mount", *here]
    done = subprocess.run(apart, capture_output=True, text=True, check=False, cwd=Path.cwd())
    if done.returncode:
        pytest.skip(f"needs another namespace of mounts: {done.stderr}")
    assert done.stdout.startswith(f"{protocol()} ") and place() not in done.stdout
