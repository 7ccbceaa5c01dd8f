"""An untrusted patch writes only in its own folder, and listens only to this machine."""

import socket
from pathlib import Path

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.diagnostics import Diagnostic, PatchError
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.patch.trust import asks_for_trust, refuse_source
from warploom.engine.protocol.messages import Saved, SaveOutputs, SetTrust
from warploom.engine.runtime.check.check_patch import check_patch

INSIDE = ["image.png", "new/folder/image.png", "new/../image.png", "{folder}/image.png", "link inside/image.png"]
OUTSIDE = ["../image.png", "new/../../image.png", "{other}/image.png", "link out/image.png", "linked.png", "broken.png"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A patch's folder with links, beside another folder."""
    folder, other = tmp_path / "patch", tmp_path / "other"
    for made in (folder / "real", other):
        made.mkdir(parents=True)
    (other / "there.png").write_bytes(b"theirs")
    (folder / "link inside").symlink_to("real")
    (folder / "link out").symlink_to(other)
    (folder / "linked.png").symlink_to(other / "there.png")
    (folder / "broken.png").symlink_to(other / "not there.png")
    return folder


def saving(place: Path, file: str) -> Path:
    """Return a patch file in `place` that saves an image to `file`."""
    patch = Patch()
    image = patch.add("io.image_array", data=np.ones((2, 2, 4), np.float32))
    save = patch.add("io.save_image", file=file.format(folder=place, other=place.parent / "other"))
    patch.connect(image["out"], save["image"])
    save_patch(patch, place / "p.loom")
    return place / "p.loom"


def outside(place: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in (place.parent / "other").rglob("*")} | {
        str(file): b"" for file in place.parent.iterdir()
    }


@pytest.mark.parametrize("file", [*INSIDE, *OUTSIDE])
def test_a_file_elsewhere_is_written_only_for_a_trusted_patch(place: Path, file: str) -> None:
    """A script or the editor may grant trust; otherwise a warning names node and path, and the patch still runs."""
    before, path = outside(place), saving(place, file)
    with Engine(load_patch(path), device="host") as engine:
        asks = [item for item in engine.step().diagnostics if asks_for_trust(item)]
        assert [item.node for item in asks] == ["save_image"] * (file in OUTSIDE)
        assert [item for item in check_patch(load_patch(path)) if asks_for_trust(item)] == asks
        engine.post(SaveOutputs())
        engine.step()
        (event,) = [item for item in engine.take_events() if isinstance(item, (Saved, Diagnostic))]
        assert isinstance(event, Diagnostic if file in OUTSIDE else Saved)
        if file in OUTSIDE:
            real = (place / file.format(other=place.parent / "other")).resolve()
            assert str(real) in asks[0].message
            with pytest.raises(PatchError, match=r"node save_image: file must be written in the folder .*--trust"):
                engine.save_outputs()
            assert outside(place) == before
            engine.post(SetTrust(True))
            assert not [item for item in engine.step().diagnostics if asks_for_trust(item)]
            engine.save_outputs()
            assert outside(place) != before
    with Engine(load_patch(path, trust=True), device="host") as engine:
        engine.step()
        (saved,) = [item for item in engine.save_outputs() if item.path]
        assert Path(str(saved.path)).is_file()


def test_a_folder_that_the_person_names_takes_the_outputs_but_leads_nowhere_else(place: Path) -> None:
    """In a folder that the person names, only file names count, and a link doesn't lead out of the folder."""
    before, path = outside(place), saving(place, "../../evil.png")
    with Engine(load_patch(path), device="host") as engine:
        engine.step()
        named = place.parent / "other" / "new"
        assert [Path(str(saved.path)) for saved in engine.save_outputs(named)] == [named / "evil.png"]
        (named / "evil.png").unlink()
        named.rmdir()
        (place / "evil.png").symlink_to(place.parent / "other" / "there.png")
        with pytest.raises(PatchError, match=r"there\.png"):
            engine.save_outputs(place)
    assert outside(place) == before


def test_the_network_reaches_only_a_trusted_patch(tmp_path: Path) -> None:
    """An untrusted patch doesn't bind its port; its outputs keep their defaults, and a warning has the reason."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("0.0.0.0", 0))
        port = probe.getsockname()[1]
    patch = Patch()
    patch.add("value.osc_in", host="0.0.0.0", port=port, default=7.0)
    save_patch(patch, tmp_path / "p.loom")
    with Engine(load_patch(tmp_path / "p.loom"), device="host") as engine:
        (told,) = engine.step().diagnostics
        assert asks_for_trust(told)
        assert (told.node, told.message) == (
            "osc_in",
            f"OSC must be listened to at an address of this machine only, such as 127.0.0.1, got 0.0.0.0, port {port}",
        )
        assert not engine.core.context.value_graph._listeners.open
        assert check_patch(engine.patch) == [told]
        engine.post(SetTrust(True))
        assert engine.step().diagnostics == ()
        assert list(engine.core.context.value_graph._listeners.open) == [f"osc:0.0.0.0:{port}"]
        engine.post(SetTrust(False))
        assert engine.step().diagnostics == (told,)
        assert not engine.core.context.value_graph._listeners.open
        assert engine.read(engine.patch["osc_in"]["value"]) == 7.0


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("localhost", True), ("127.8.8.8", True)]
    + [(host, False) for host in ("0.0.0.0", "192.168.0.9", "example.org", "<broadcast>", "127.1", "localhost.x")],
)
def test_only_addresses_of_this_machine_are_local(host: str, is_local: bool) -> None:
    """Only an address of this machine is local to the check of sources, and MIDI is always allowed."""
    for kind in ("osc", "websocket"):
        assert (refuse_source("n", f"{kind}:{host}:9000") is None) == is_local
    assert refuse_source("n", "sacn:1") and refuse_source("n", "artnet:0")
    assert refuse_source("n", "midi:any") is None


def including(place: Path) -> Path:
    """Return a patch file in `place` with a kernel that includes a header of another folder."""
    (place.parent / "other" / "number.h").write_text("#define NUMBER 3\n")
    text = 'extern "C" __global__ void k(float* out, int count) { if (threadIdx.x < count) out[threadIdx.x] = NUMBER; }'
    patch = Patch()
    patch.add("kernel.cuda", node_id="k", code=f'#include "{place.parent}/other/number.h"\n{text}', shapes="out: [4]")
    save_patch(patch, place / "p.loom")
    return place / "p.loom"


def test_a_header_elsewhere_is_included_only_for_a_trusted_patch(place: Path) -> None:
    """Check and engine refuse it, and ask for trust; trust makes the block run, and a later refusal keeps it."""
    path = including(place)
    assert not check_patch(load_patch(path, trust=True))
    patch = load_patch(path)
    with Engine(patch, device="host") as engine:
        asks = [item for item in engine.step().diagnostics if asks_for_trust(item)]
        assert [(item.node, item.found) for item in asks] == [("k", f"{place.parent}/other/number.h")]
        assert [item.message for item in check_patch(patch) if asks_for_trust(item)] == [asks[0].message]
        assert patch.block_type("k").ports == {}
        patch.trusted = True
        engine.post(SetTrust(True))
        assert not engine.step().diagnostics
        assert engine.read(patch["k"]["out"]).tolist() == [3] * 4
        patch.trusted = False
        engine.post(SetTrust(False))
        (told,) = engine.step().diagnostics
        assert asks_for_trust(told)
        assert engine.read(patch["k"]["out"]).tolist() == [3] * 4


@pytest.mark.parametrize(
    ("block", "values", "text"),
    [
        ("io.webcam", {"device": "lavfi:color=red"}, "must not use a camera, got camera lavfi:color=red"),
        ("io.screen", {}, "must not see the screen, got monitor 1"),
        ("io.audio_in", {"device": "default"}, "must not use a microphone, got device default"),
        (
            "io.load_video",
            {"address": "tcp://192.0.2.1:1/x"},
            "must get films from this machine only, got tcp://192.0.2",
        ),
        ("io.ndi_in", {"name": "Desk"}, "must not receive pictures from the network, got NDI source Desk"),
        ("io.ndi_out", {}, "must not send pictures to the network, got NDI source Warploom"),
        ("io.dmx_out", {"host": "192.0.2.1"}, "must send levels to this machine only, got 192.0.2.1"),
        ("io.dmx_out", {}, "must send levels to this machine only, got the whole network"),
    ],
)
def test_devices_and_the_network_need_trust(block: str, values: dict[str, str], text: str, tmp_path: Path) -> None:
    """A block that uses a device or the network is left out, with the reason, and so are its dependents."""
    patch = Patch()
    node = patch.add(block, node_id="it", **values)
    other = patch.add("io.array", data=np.ones(3, np.float32))
    image = patch.add("io.image_array", data=np.ones((2, 2, 4), np.float32))
    port = {"io.ndi_out": "image", "io.dmx_out": "levels"}.get(block)
    if port is not None:
        patch.connect((image if port == "image" else other)["out"], node[port])
    else:
        patch.connect(node["out"], patch.add("buffer.copy")["x"])
    save_patch(patch, tmp_path / "p.loom")
    loaded = load_patch(tmp_path / "p.loom")
    with Engine(loaded, device="host") as engine:
        (told,) = engine.step().diagnostics
        assert asks_for_trust(told) and told.node == "it" and text in told.message
        assert engine.core.live.is_empty and engine.read(loaded["array"]["out"]).tolist() == [1, 1, 1]
    assert [item for item in check_patch(loaded) if asks_for_trust(item)] == [told]


def test_a_camera_runs_while_its_patch_is_trusted(tmp_path: Path) -> None:
    """Trust begins to use the camera at once, and ends it."""
    patch = Patch()
    patch.add("io.webcam", node_id="camera", device="lavfi:color=red:size=16x16", width=16, height=16)
    patch.add("io.array", data=np.ones(1, np.float32))
    save_patch(patch, tmp_path / "p.loom")
    loaded = load_patch(tmp_path / "p.loom")
    with Engine(loaded, device="host") as engine:
        for _ in range(2):
            (told,) = engine.step().diagnostics
            assert asks_for_trust(told)
            engine.post(SetTrust(True))
            assert not engine.step().diagnostics
            assert engine.read(loaded["camera"]["out"])[8, 8, 0] > 0.9
            engine.post(SetTrust(False))
        (told,) = engine.step().diagnostics
        assert asks_for_trust(told) and engine.core.live.is_empty


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        (f"{scheme}://{host}/x", True)
        for scheme, host in (("rtsp", "127.0.0.1:80"), ("http", "me@localhost"), ("tcp", "[::1]:9"))
    ]
    + [(f"http://{host}/x", False) for host in ("192.0.2.1", "localhost.x", "127.0.0.1@192.0.2.1", "[", "")],
)
def test_only_films_of_this_machine_are_local(address: str, is_local: bool) -> None:
    """The host of an address decides, whatever stands before or after it."""
    assert (refuse_source("n", f"stream:{address}") is None) == is_local
