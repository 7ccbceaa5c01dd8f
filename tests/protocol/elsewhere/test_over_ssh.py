"""A real sshd, between two network namespaces: `make test-ssh`, as root, with sshd installed or named by WARPLOOM_SSHD.

The server's namespace also has other mounts, so its engine doesn't see the client's files. The line can be cut, and
slowed to 1 Mbit/s by `tc`.
"""

import getpass
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.protocol.elsewhere.test_far_session import make_patch, mine, outputs, write_kernel
from tests.waiting import next_report, until
from warploom import Engine
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol.child import liveness
from warploom.engine.protocol.pipe import connect
from warploom.engine.protocol.sampling import ObservePorts, picture_of

SSHD = os.environ.get("WARPLOOM_SSHD", "")
pytestmark = pytest.mark.skipif(not SSHD, reason="make test-ssh runs it")
__all__ = ["mine"]  # a fixture

_HERE, _THERE = "wl-here", "wl-there"
_ROOT = Path(__file__).parents[3]


def run(command: str) -> None:
    """Run a command."""
    subprocess.run(shlex.split(command), check=True, capture_output=True)


@dataclass
class Machine:
    """Another machine, as far as one machine can be two."""

    command: list[str]
    server: subprocess.Popen[bytes]

    def set_line(self, state: str) -> None:
        """Cut the line ("down"), or mend it ("up")."""
        run(f"ip -n {_HERE} link set wl0 {state}")

    def slow(self) -> None:
        """Let the line carry 1 Mbit/s in both directions."""
        for name, device in ((_HERE, "wl0"), (_THERE, "wl1")):
            run(f"tc -n {name} qdisc add dev {device} root tbf rate 1mbit burst 4kb latency 400ms")

    def end_connections(self) -> None:
        """End the connections of the server, as when it loses the client."""
        run(f"pkill -P {self.server.pid}")


@pytest.fixture
def machine(tmp_path: Path, mine: Path) -> Iterator[Machine]:
    """A machine with sshd that has Warploom and none of the client's files."""
    conf = tmp_path / "conf"
    conf.mkdir()
    for key in ("host", "user"):
        run(f"ssh-keygen -q -t ed25519 -N '' -f {conf / key}")
    users = Path("/etc/passwd").read_text()
    (conf / "passwd").write_text(users + ("" if "\nsshd:" in users else "sshd:x:74:74::/:/usr/sbin/nologin\n"))
    (conf / "sshd").write_text(
        f"Port 2222\nListenAddress 10.77.0.2\nHostKey {conf}/host\nAuthorizedKeysFile {conf}/user.pub\n"
        "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n"
    )
    for name in (_HERE, _THERE):
        run(f"ip netns add {name}")
    try:
        run(f"ip link add wl0 netns {_HERE} type veth peer name wl1 netns {_THERE}")
        for name, device, address in ((_HERE, "wl0", "10.77.0.1"), (_THERE, "wl1", "10.77.0.2")):
            run(f"ip -n {name} addr add {address}/24 dev {device}")
            run(f"ip -n {name} link set {device} up")
        mounts = f"mount --bind {conf}/passwd /etc/passwd && mount -t tmpfs none /run && mkdir /run/sshd"
        hides = f"mount -t tmpfs none {mine}"
        serve = f"{mounts} && {hides} && exec {SSHD} -D -e -f {conf}/sshd"
        server = subprocess.Popen(["ip", "netns", "exec", _THERE, "unshare", "--mount", "sh", "-c", serve])
        options = (
            f"-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile={conf}/known -o BatchMode=yes -i {conf}/user"
        )
        caches = " ".join(f"{name}={value}" for name, value in os.environ.items() if name.startswith("XDG_"))
        engine = f"cd {_ROOT} && {caches} {sys.executable} -m app engine"
        ssh = f"ip netns exec {_HERE} ssh {options} -o LogLevel=ERROR -p 2222 {getpass.getuser()}@10.77.0.2"
        yield Machine([*shlex.split(ssh), engine], server)
        server.terminate()
        server.wait()
    finally:
        for name in (_HERE, _THERE):
            run(f"ip netns del {name}")


def test_an_engine_behind_a_real_sshd(machine: Machine, mine: Path) -> None:
    """Files travel, saves reload, pictures and sliders share 1 Mbit/s, and a line that is cut or lost resumes."""
    figures: dict[str, float] = {}
    patch = make_patch(mine)
    patch.set("board", width=640, height=400)

    def expected() -> dict[str, list[float]]:
        with Engine(patch, "host") as fresh:
            return outputs(fresh, patch)

    begun_s = time.monotonic()
    client = connect(patch, machine.command, "host")
    try:
        assert outputs(client, patch) == expected()
        figures["first frame"] = time.monotonic() - begun_s
        client.watch_files()
        begun_s = time.monotonic()
        write_kernel(mine / "kernels" / "scale.ptx", -1.5)
        wanted = expected()
        until(lambda: outputs(client, patch) == wanted)
        figures["a saved kernel runs"] = time.monotonic() - begun_s

        machine.slow()
        client.post(ObservePorts({"viewer": picture_of("viewer", rate=60.0, probe=(1, 1))}))
        client.start(rate=60.0)
        delays, pictures, begun_s = [], 0, time.monotonic()
        for turn in range(60):
            before = next_report(client, lambda report: True).hot_updates
            moved_s = time.monotonic()
            patch.set("saxpy", a=turn / 60)
            patch.set("board", cell=1 + turn % 9)
            next_report(client, lambda report, before=before: report.hot_updates > before)
            delays.append(time.monotonic() - moved_s)
            pictures += client.take_sample("viewer") is not None
        figures["a slider on 1 Mbit/s, median"] = float(np.median(delays))
        figures["a slider on 1 Mbit/s, worst"] = max(delays)
        figures["pictures a second"] = pictures / (time.monotonic() - begun_s)
        assert pictures > 3

        machine.set_line("down")
        begun_s = time.monotonic()
        until(lambda: client.transport.silent_s >= liveness.SILENT_S)
        figures["a lost line is noticed"] = time.monotonic() - begun_s
        machine.set_line("up")
        begun_s = time.monotonic()
        until(lambda: client.transport.silent_s < 1)
        client.stop()
        figures["it is heard again"] = time.monotonic() - begun_s
        assert outputs(client, patch) == expected()

        machine.end_connections()
        begun_s = time.monotonic()
        with pytest.raises(DeviceError, match="must keep running"):
            while True:
                client.step()
        figures["an ended connection is noticed"] = time.monotonic() - begun_s
        client.close()
        patch.set("saxpy", a=0.25)
        begun_s = time.monotonic()
        client = connect(patch, machine.command, "host")
        assert outputs(client, patch) == expected()
        figures["it resumes, on 1 Mbit/s"] = time.monotonic() - begun_s
    finally:
        client.close()
        sys.stdout.writelines(f"{name}: {value:.2f}\n" for name, value in figures.items())
