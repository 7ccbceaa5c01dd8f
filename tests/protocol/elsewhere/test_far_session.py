"""An engine on another machine, behind a line that is slow, stalls and is cut, runs the patch as one here does."""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tests.fuzzing import many, seeds
from tests.protocol.elsewhere.far_engine_process import command
from tests.waiting import next_report, until
from warploom import Engine, Patch, forget_blocks, trust_blocks
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError
from warploom.engine.patch.changes import Node, NodeAdded, PortRef
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.protocol.child import liveness
from warploom.engine.protocol.child.encoding import FromEngine, make_decoder
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.elsewhere import far_client
from warploom.engine.protocol.elsewhere.line import Parts
from warploom.engine.protocol.elsewhere.messages import Part
from warploom.engine.protocol.messages import FrameReport, Saved, SaveOutputs
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.pipe import connect
from warploom.engine.protocol.sampling import ObservePorts, Sample, Sampling, picture_of

SCALE = """.version 7.0
.target sm_52
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 out, .param .u32 count)
{{
  .reg .pred p; .reg .b32 r<5>; .reg .b64 d<5>; .reg .f32 f<2>;
  ld.param.u32 r0, [count]; ld.param.u64 d0, [x]; ld.param.u64 d1, [out];
  mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x;
  mad.lo.s32 r4, r1, r2, r3;
  setp.ge.u32 p, r4, r0;
  @p bra DONE;
  mul.wide.u32 d2, r4, 4;
  add.s64 d3, d0, d2; add.s64 d4, d1, d2;
  ld.global.f32 f0, [d3];
  mul.f32 f1, f0, 0f{factor:08X};
  st.global.f32 [d4], f1;
DONE:
  ret;
}}
"""
BLOCK = """
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port
from .helpers.entry import ENTRY

class Mine(Block, id="test_far.mine", category="Test"):
    "Scales an array."

    x: In[f32] = port(doc="An array.")
    out: Out[f32] = port(shape="same(x)", doc="The scaled array.")
    kernel = Kernel("mine.ptx", ENTRY)

    def describe(self, build: BlockBuilder) -> None:
        "One thread for each element."
        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.out, self.out.size))
"""


def write_kernel(path: Path, factor: float) -> None:
    """Write a kernel that multiplies by a factor."""
    path.write_text(SCALE.format(factor=int(np.float32(factor).view(np.uint32))))


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Path]:
    """The files of this machine: a patch with a trusted folder of blocks, and a kernel elsewhere."""
    folder = tmp_path / "mine"
    (folder / "patches" / "blocks" / "helpers").mkdir(parents=True)
    (folder / "kernels").mkdir()
    write_kernel(folder / "kernels" / "scale.ptx", 2)
    write_kernel(folder / "patches" / "blocks" / "mine.ptx", 3)
    (folder / "patches" / "blocks" / "mine.py").write_text(BLOCK)
    (folder / "patches" / "blocks" / "helpers" / "entry.py").write_text("ENTRY = 'scale'")
    assert trust_blocks(folder / "patches" / "blocks") == []
    yield folder
    forget_blocks(folder / "patches" / "blocks")


def make_patch(mine: Path) -> Patch:
    """Return a patch that uses all files, and shows a picture."""
    patch = Patch()
    patch.path = mine / "patches" / "mine.loom"
    x = patch.add("io.array", node_id="x", data=np.arange(50, dtype=np.float32))
    block = patch.add("test_far.mine", node_id="block")
    # By a relative and by a whole path.
    scale = patch.add("kernel.file", node_id="scale", file="../kernels/scale.ptx")
    again = patch.add("kernel.file", node_id="again", file=str(mine / "kernels" / "scale.ptx"))
    saxpy = patch.add("math.saxpy", node_id="saxpy", a=1.0)
    board = patch.add("image.checkerboard", node_id="board", width=320, height=200, cell=3)
    viewer = patch.add("io.viewer", node_id="viewer")
    for source, target in (
        (x["out"], block["x"]),
        (block["out"], scale["x"]),
        (scale["out"], again["x"]),
        (again["out"], saxpy["x"]),
        (x["out"], saxpy["y"]),
        (board["out"], viewer["image"]),
    ):
        patch.connect(source, target)
    save_patch(patch, mine / "patches" / "mine.loom")
    return load_patch(mine / "patches" / "mine.loom", trust=True)  # with nothing to undo


def outputs(client: Client, patch: Patch) -> dict[str, list[float]]:
    """Return the contents of all outputs after another frame; [] for one that does not run."""
    client.step()
    found: dict[str, list[float]] = {}
    for node in patch.nodes:
        block = patch.block_type(node)
        assert block is not None
        for port in (port for port in block.ports.values() if port.direction == "out"):
            try:
                found[f"{node}.{port.name}"] = client.read(patch[node][port.name]).tolist()
            except PatchError:
                found[f"{node}.{port.name}"] = []
    return found


def edit(patch: Patch, mine: Path, client: Client, chance: random.Random) -> None:
    """Edit the patch or a file in a random way, or play."""
    edits: list[Callable[[], object]] = [
        lambda: patch.set("saxpy", a=chance.uniform(-2, 2)),
        lambda: patch.set("x", data=np.full(chance.randint(1, 90), chance.uniform(-2, 2), np.float32)),
        lambda: patch.set("board", cell=chance.randint(1, 9)),
        lambda: write_kernel(mine / "kernels" / "scale.ptx", chance.uniform(-2, 2)),
        lambda: write_kernel(mine / "patches" / "blocks" / "mine.ptx", chance.uniform(-2, 2)),
        lambda: patch.connect(patch["x"]["out"], patch.add("math.scale_offset", scale=2.0)["x"]),
        patch.undo,
        lambda: client.start(rate=60.0),
        client.stop,
        lambda: client.post(
            ObservePorts({"viewer": picture_of("viewer", probe=(1, 1))} if chance.random() < 0.7 else {})
        ),
    ]
    if chance.random() < 0.3:
        with patch.edit("several"):
            chance.choice(edits[:3])()
            chance.choice(edits[:3])()
    else:
        chance.choice(edits)()


@pytest.mark.parametrize("seed", seeds(1))
def test_after_cuts_and_stalls_the_engine_equals_a_fresh_one(seed: int, mine: Path) -> None:
    """After random edits on a line of 1 Mbit/s that stalls and is cut, all outputs equal those of a fresh engine.

    The engine uses no file of this machine. A connection after a cut runs what was edited meanwhile.
    """
    chance, patch = random.Random(seed), make_patch(mine)
    engine = command(mine)
    count, starts = many(10), 0
    cuts = {chance.randrange(count) for _ in range(count // 10)}

    def connected() -> Client:
        nonlocal starts
        starts += 1
        line = [sys.executable, "-m", "tests.protocol.elsewhere.bad_line", str(seed * 1000 + starts)]
        client = connect(patch, [*line, *engine], "host")
        client.watch_files()
        return client

    client = connected()
    try:
        for number in range(count):
            if is_cut := number in cuts:
                client.transport._process.kill()
            with suppress(DeviceError) if is_cut else nullcontext():
                edit(patch, mine, client, chance)
                if chance.random() < 0.2:
                    client.step()
            if is_cut:
                with pytest.raises(DeviceError, match="must keep running"):
                    client.stop()
                client.close()
                client = connected()
        client.stop()
        with Engine(patch, "host") as fresh:
            expected = outputs(fresh, patch)
        # A block that has lost a connection may run on in an older graph, but never in a fresh engine.
        runs = {port for port, contents in expected.items() if contents}
        until(lambda: {port: expected[port] for port in runs}.items() <= outputs(client, patch).items())
        assert len(runs) >= 6
        preview = None
        client.post(ObservePorts({"viewer": picture_of("viewer", probe=(1, 1))}))
        client.step()
        while preview is None or preview.probed is not None:  # the exact picture comes last
            preview = client.take_sample("viewer") or preview
            time.sleep(0.002)
        assert preview.data.shape == (200, 320, 4)
        board = PortRef("board", "out")
        client.post(ObservePorts({"board": Sampling(board)}))
        client.step()
        found: list[Sample] = []
        until(lambda: bool(found.extend(filter(None, [client.take_sample("board")])) or found))
        np.testing.assert_array_equal(found[0].data, client.read(board))
        assert starts == 1 + len(cuts)
    finally:
        client.close()


def test_outputs_are_saved_on_this_machine(mine: Path, tmp_path: Path) -> None:
    """Save blocks and `save_outputs` write the same files as an engine here, where the patch may write."""
    patch = make_patch(mine)
    for node, file in (("save", "board.png"), ("other", str(tmp_path / "other.png"))):
        patch.add("io.save_image", node_id=node, file=file)
        patch.connect(patch["board"]["out"], patch[node]["image"])
    with Engine(patch, "host") as here:
        here.step()
        expected = {Path(saved.path or "").name: saved for saved in here.save_outputs(mine / "here")}
    patch.trusted = False
    with connect(patch, command(mine), "host") as client:
        client.step()
        for saved in client.save_outputs(mine / "there"):
            path = Path(saved.path or "")
            assert path.parent == mine / "there" and replace(saved, path=None) == replace(
                expected[path.name], path=None
            )
            assert path.read_bytes() == (mine / "here" / path.name).read_bytes()
        assert len(list((mine / "there").iterdir())) == len(expected) == 3
        client.post(SaveOutputs())
        client.step()
        events: list[object] = []
        until(lambda: events.extend(client.take_events()) or {Saved, Diagnostic} <= {type(each) for each in events})
        saved = [event for event in events if isinstance(event, Saved)]
        refused = [event for event in events if isinstance(event, Diagnostic)]
        assert [each.path for each in saved] == [str(mine / "patches" / "board.png")]
        assert [each.node for each in refused] == ["other"] and not (tmp_path / "other.png").exists()
        assert (mine / "patches" / "board.png").read_bytes() == (mine / "here" / "board.png").read_bytes()
        (mine / "patches" / "board.png").write_bytes(b"a person's own")
        client.post(SaveOutputs("save"))
        client.step()
        events.clear()
        until(lambda: events.extend(client.take_events()) or events)
        assert (mine / "patches" / "board.png").read_bytes() == b"a person's own"


def test_blocks_are_trusted_here_and_a_silence_ends(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's own folder of blocks counts for nothing, and a folder that is not trusted any more loses its types.

    Questions to a silent engine fail, those for its files too; once it is heard again, they are answered.
    """
    own = tmp_path / "config" / "warploom" / "blocks"
    own.mkdir(parents=True)
    (own / "own.py").write_text(BLOCK.replace("test_far.mine", "test_far.own").replace("from .helpers", "#"))
    patch = make_patch(mine)
    with connect(patch, ["env", f"XDG_CONFIG_HOME={tmp_path / 'config'}", *command(mine)], "host") as client:
        client.post(NodeAdded(Node(id="own", type="test_far.own")))
        nodes = client.step().nodes
        assert nodes["block"].state == "ok"
        assert "test_far.own" in nodes["own"].message
        os.kill(client.transport._process.pid, signal.SIGSTOP)
        write_kernel(mine / "kernels" / "scale.ptx", 7)
        monkeypatch.setattr(liveness, "LOST_S", 1.0)
        with pytest.raises(DeviceError, match="must answer"):
            client.step()
        monkeypatch.setattr(liveness, "LOST_S", 600.0)
        os.kill(client.transport._process.pid, signal.SIGCONT)
        until(lambda: client.transport.silent_s < liveness.SILENT_S)
        assert client.step().nodes["again"].state == "ok"
        forget_blocks(mine / "patches" / "blocks")
        until(lambda: client.step().nodes["block"].state == "error")


def test_a_window_runs_while_files_are_sent(mine: Path) -> None:
    """Without `waits`, the badge's text tells what is sent, and a node runs as soon as its file is there."""
    patch = make_patch(mine)
    write_kernel(mine / "kernels" / "scale.ptx", random.SystemRandom().random())  # contents that no engine has
    (mine / "patches" / "blocks" / "large.bin").write_bytes(random.randbytes(200_000))
    line = [sys.executable, "-m", "tests.protocol.elsewhere.bad_line", "7"]
    waited = set[str]()
    with connect(patch, [*line, *command(mine)], "host", waits=False) as client:
        client.start(rate=30.0)
        client.watch_files()

        def runs(report: FrameReport) -> bool:
            waited.add(client.transport.waits_for)
            return (
                not report.preparing and len(report.nodes) == 7 and all(n.state == "ok" for n in report.nodes.values())
            )

        next_report(client, runs)
        assert client.transport.waits_for == ""
        assert any(text.startswith("sending files, 0.") and text.endswith("of 0.2 MB") for text in waited)


def test_an_engine_without_a_client_ends(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine elsewhere that hears nothing for long ends, since the end of its line may not be reported."""
    monkeypatch.setattr(far_client, "LOST_S", 0.2)
    lost = threading.Event()
    client = far_client.FarClient("client", lost.set)
    assert not lost.wait(0.5)  # while it follows a message, however long that takes
    client.wait()
    lost.wait()
    client.close()


def test_a_smaller_picture_keeps_the_place_of_its_probed_pixel() -> None:
    """A value that was read at one pixel is not sent as that of the pixel that is probed by now."""
    outbox, moved = Outbox(), picture_of("show", probe=(7, 7))
    client = far_client.FarClient("client", lambda: None)
    try:
        client.observe({"small": moved, "whole": moved})
        for name, side in (("small", 4), ("whole", 8)):
            pixels = np.full((side, side, 4), 9, np.uint8)
            probed = np.array([1, 2, 3, 4], np.uint8) if side == 4 else None
            made = Sample(name, picture_of("show", probe=(0, 0)), 1, shape=(8, 8), data=pixels, probed=probed)
            outbox.put_sample(name, lambda _, made=made: made)
            client.begin_large(outbox)
            parts, frame = Parts(), None
            while (part := client.part()) is not None:
                frame = parts.take(make_decoder(Part).decode(part))
            assert frame
            sent = make_decoder(FromEngine).decode(frame).sample
            assert sent.sampling.probe == ((0, 0) if side == 4 else (7, 7))
    finally:
        client.close()
