"""State and Frame Delay begin with a buffer, and begin again when a parameter becomes true."""

from random import Random

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.protocol.messages import Reset, SetInput, SetRunning

FIRST = np.arange(1, 8, dtype=np.float32)


def counting() -> Patch:
    """Return a patch of a state that grows by 1 in each frame, and of a delay that doubles its contents."""
    patch = Patch()
    patch.add("io.array", node_id="first", data=FIRST)
    patch.add("buffer.state", node_id="state", shape="7")
    patch.add("math.scale_offset", node_id="more", offset=1.0)
    patch.add("buffer.assign", node_id="sum")
    patch.connect(patch["state"]["out"], patch["more"]["x"])
    patch.connect(patch["state"]["out"], patch["sum"]["target"])
    patch.connect(patch["more"]["out"], patch["sum"]["value"])
    patch.add("buffer.frame_delay", node_id="delay", initial=1.0)
    patch.add("math.scale_offset", node_id="twice", scale=2.0)
    patch.connect(patch["first"]["out"], patch["delay"]["like"])
    patch.connect(patch["delay"]["out"], patch["twice"]["x"])
    patch.connect(patch["twice"]["out"], patch["delay"]["x"])
    return patch


@pytest.mark.parametrize("seed", seeds(3))
def test_states_follow_a_model(device: Device, seed: int) -> None:
    """After random resets, connections, pauses and rebuilds, contents are those of numpy."""
    chance, patch = Random(seed), counting()
    state, delayed = np.zeros(7, np.float32), np.ones(7, np.float32)
    begins = {"state": np.zeros(7, np.float32), "delay": np.ones(7, np.float32)}
    with Engine(patch, device) as engine:
        for _ in range(25):
            kind, node = chance.randrange(6), chance.choice(("state", "delay"))
            if kind == 0:
                patch.set(node, reset=True)
                patch.set(node, reset=False)
                state, delayed = (begins["state"], delayed) if node == "state" else (state, begins["delay"])
            elif kind == 1 and begins[node] is not FIRST:
                patch.connect(patch["first"]["out"], patch[node]["first"])
                begins[node] = FIRST
                state, delayed = (FIRST, delayed) if node == "state" else (state, FIRST)
            elif kind == 2:
                engine.post(Reset())
                state, delayed = begins["state"], begins["delay"]
            elif kind == 3:
                patch.add("math.add")
            elif kind == 4:
                engine.post(SetRunning(False))
                patch.set("more", offset=3.0)
                engine.core.frame(free_running=True)
                patch.set("more", offset=1.0)
                engine.core.frame(free_running=True)
                engine.post(SetRunning(True))
            engine.step()
            state, delayed = state + 1, delayed * 2
            np.testing.assert_array_equal(engine.read(patch["sum"]["out"]), state, str(seed))
            np.testing.assert_array_equal(engine.read(patch["twice"]["out"]), delayed, str(seed))


def test_a_reset_costs_no_update_and_no_nodes(device: Device) -> None:
    """A block without `first` adds no kernels, and resetting it is not an update of the graph."""
    patch = counting()
    with Engine(patch, device) as engine:
        engine.step()
        assert engine.core.updates.compiled is not None
        nodes = {operation.node for operation in engine.core.updates.compiled.plan.operations}
        assert not nodes & {"state", "delay"}
        patch.set("state", reset=True)
        assert engine.step().update_level is UpdateLevel.NONE


def test_a_key_resets(device: Device) -> None:
    """A value that becomes true resets once, and not again while it stays true."""
    patch = counting()
    patch.connect(patch["first"]["out"], patch["state"]["first"])
    patch.connect(patch.add("value.keyboard", node_id="key", key="a")["down"], patch["state"]["reset"])
    with Engine(patch, device) as engine:
        found = []
        for down in (0, 0, 1, 1, 0, 1):
            engine.post(SetInput("key.a", float(down)))
            engine.step()
            found.append(float(engine.read(patch["sum"]["out"])[0]))
    assert found == [2, 3, 2, 3, 4, 2]


def test_a_delay_in_a_loop_begins_with_a_buffer(device: Device) -> None:
    """The first turn of all has the contents of `first`; later turns and frames go on."""
    patch = Patch()
    patch.add("io.array", node_id="first", data=FIRST)
    loop = patch.add("control.for", node_id="loop", count=3)
    patch.add("buffer.frame_delay", node_id="delay", region=loop)
    patch.add("math.scale_offset", node_id="twice", scale=2.0, region=loop)
    patch.connect(patch["first"]["out"], patch["delay"]["first"])
    patch.connect(patch["delay"]["out"], patch["twice"]["x"])
    patch.connect(patch["twice"]["out"], patch["delay"]["x"])
    with Engine(patch, device) as engine:
        for frame in (1, 2):
            assert not engine.step().diagnostics
            np.testing.assert_array_equal(engine.read(patch["twice"]["out"]), FIRST * 2 ** (3 * frame))


@pytest.mark.parametrize(("data", "told"), [(np.ones(6, np.float32), "shape [7]"), (np.ones(7, np.int32), "f32")])
def test_another_type_or_shape_is_told(device: Device, data: np.ndarray, told: str) -> None:  # type: ignore[type-arg]
    """The buffer that a state begins with has the state's type and shape."""
    patch = counting()
    patch.connect(patch.add("io.array", data=data)["out"], patch["state"]["first"])
    with Engine(patch, device) as engine:
        (item, *_) = engine.step().diagnostics
    assert (item.node, item.port) == ("state", "first") and told in item.message


def test_another_shape_begins_all_state_of_a_block_again(device: Device) -> None:
    """A block of which one state has another shape is as in a new patch, so that its states fit each other."""

    def simulations(first: int, width: int, rows: int) -> Patch:
        patch = Patch()
        patch.add("io.array", node_id="first", data=np.arange(first, dtype=np.float32))
        patch.add("buffer.state", node_id="state", shape=str(first))
        patch.connect(patch["first"]["out"], patch["state"]["first"])
        patch.add("field.slime_mould", node_id="slime", width=width, height=width, agents=300)
        patch.add("field.lattice_boltzmann", node_id="fluid", width=width, height=5)
        patch.add("geometry.cloth", node_id="cloth", rows=rows, columns=20 // rows)
        return patch

    old, new = simulations(7, 40, 4), simulations(9, 8, 5)
    ports = ("state", "out"), ("slime", "trail"), ("fluid", "velocity"), ("cloth", "points")
    with Engine(old, device) as changed, Engine(new, device) as fresh:
        changed.step()
        for node in old.nodes:
            old.set(node, **{name: new.value(node, name) for name in new.nodes[node].parameters})
        assert not changed.step().diagnostics
        fresh.step()
        for node, port in ports:
            np.testing.assert_array_equal(changed.read(old[node][port]), fresh.read(new[node][port]), node)


def test_every_element_type_begins(device: Device) -> None:
    """A state of vectors or halves begins with all their bytes."""
    for dtype, data in (("f16", np.arange(5, dtype="f2")), ("u8", np.arange(5, dtype="u1"))):
        patch = Patch()
        patch.connect(
            patch.add("io.array", data=data)["out"],
            patch.add("buffer.state", node_id="state", shape="5", dtype=dtype)["first"],
        )
        with Engine(patch, device) as engine:
            engine.step()
            np.testing.assert_array_equal(engine.read(patch["state"]["out"]), data)
