"""Address patterns of OSC, host names, and values that another engine takes over."""

import random
import re
import socket
from collections.abc import Callable

import pytest
from pythonosc.udp_client import SimpleUDPClient

from tests.fuzzing import seeds
from tests.values.running import doubling
from tests.values.test_osc_control import HOST, free_port, received, receiver  # noqa: F401  # a fixture
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.organise.osc import Osc, OscOut
from warploom.engine.protocol.messages import HoldOsc
from warploom.engine.values.sources import host_names
from warploom.engine.values.sources.osc_patterns import is_pattern, matching


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("/synth/*/gain", ["/synth/1/gain", "/synth/lead/gain"]),
        ("/synth/?/gain", ["/synth/1/gain"]),
        ("/synth/[0-9]/*", ["/synth/1/gain", "/synth/1/pan"]),
        ("/synth/[!0-9]*/gain", ["/synth/lead/gain"]),
        ("/{synth,drum}/1/{gain,level}", ["/synth/1/gain", "/drum/1/level"]),
        ("/*/*/*", ["/synth/1/gain", "/synth/1/pan", "/synth/lead/gain", "/drum/1/level"]),
        ("/*", []),
        ("/synth/[0-9/gain", []),
        ("/synth/1]/gain", []),
        ("*" * 300, []),
    ],
)
def test_a_pattern_matches_as_osc_defines(pattern: str, found: list[str]) -> None:
    """Wildcards stay inside a part of the address; what is not valid matches nothing."""
    addresses = ["/synth/1/gain", "/synth/1/pan", "/synth/lead/gain", "/drum/1/level"]
    assert matching(pattern, addresses) == found and is_pattern(pattern)


@pytest.mark.parametrize("seed", seeds(3))
def test_patterns_match_as_regular_expressions(seed: int) -> None:
    """Any valid pattern matches what the same regular expression does."""
    chance = random.Random(seed)
    parts = ("a", "b", "/", "*", "?", "[ab]", "[!a]", "[a-c]", "{a,bc}", "{ab,b,}")
    for _ in range(300):
        pattern = "".join(chance.choice(parts) for _ in range(chance.randrange(7)))
        tokens = re.findall(r"\{[^}]*\}|\[[^]]*\]|.", pattern)
        plain = {"*": "[^/]*", "?": "[^/]", "[!a]": "[^a/]"}
        words = [f"(?:{each[1:-1].replace(',', '|')})" if each[0] == "{" else plain.get(each, each) for each in tokens]
        texts = ["".join(chance.choice("abc/") for _ in range(chance.randrange(6))) for _ in range(20)]
        assert matching(pattern, texts) == [text for text in texts if re.fullmatch("".join(words), text)], pattern


def test_a_pattern_sets_every_parameter_that_it_matches() -> None:
    """Two blocks follow one message, so does one that is added later; an OSC In waits for addresses of a pattern."""
    patch, port = Patch(), free_port()
    ids = [patch.add("value.slider", node_id=f"s{number}").id for number in (1, 2)]
    patch.add("value.osc_in", node_id="heard", address="/s1/setting", port=port)
    patch.annotate(Osc(port=port))
    with Engine(patch, device="host") as engine, SimpleUDPClient(HOST, port) as client:

        def follows(address: str, value: float, expected: dict[str, float]) -> Callable[[], bool]:
            def holds() -> bool:
                client.send_message(address, value)
                values = engine.step().values
                return all(values.get(name) == wanted for name, wanted in expected.items())

            return holds

        until(follows("/s?/setting", 0.25, {"s1.value": 0.25, "s2.value": 0.25, "heard.value": 0.25}))
        patch.add("value.slider", node_id="s3")
        until(follows("/s[1-3]/setting", 0.5, dict.fromkeys(["s1.value", "s2.value", "s3.value"], 0.5)))
        until(follows("/{s1,s3}/set*", 0.75, {"s1.value": 0.75, "s2.value": 0.5, "s3.value": 0.75}))
        patch.remove("s3")
        until(follows("/s[1-3]/setting", 1.0, {"s1.value": 1.0, "s2.value": 1.0}))
        assert all(patch.value(node, "setting") == 0.5 for node in ids)


def test_values_are_sent_to_a_host_by_its_name(
    receiver: socket.socket,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name is looked up beside the frames; one that is not found is a warning until it is."""
    known = dict[str, str]()

    def look_up(host: str, *_: object) -> list[tuple[object, ...]]:
        if host not in known:
            raise socket.gaierror(-2, "Name or service not known")
        return [(0, 0, 0, "", (known[host], 0))]

    monkeypatch.setattr(host_names.socket, "getaddrinfo", look_up)
    monkeypatch.setattr(host_names, "_RETRY_S", 0.01)
    patch = Patch()
    doubling(patch)
    patch.annotate(Osc(to=f"mixer.local:{receiver.getsockname()[1]}"))
    patch.annotate(OscOut(node="saxpy", port="a"))
    with Engine(patch, device="host") as engine:
        until(lambda: any("mixer.local" in each.message for each in engine.step().diagnostics))
        known["mixer.local"] = HOST
        until(lambda: not engine.step().diagnostics)
        until(lambda: bool(engine.step()) and received(receiver) == [("/saxpy/a", [2.0])])


def test_another_engine_takes_values_over() -> None:
    """A held value counts as if its message had come again: not an edit, and given back by the person's next value."""
    patch = Patch()
    saxpy = doubling(patch)
    patch.annotate(Osc(port=free_port()))
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(HoldOsc(((PortRef("saxpy", "a"), 5.0), (PortRef("gone", "a"), 1.0))))
        assert engine.step().values == {"saxpy.a": 5.0} and engine.read(saxpy["out"])[0] == 5.0
        patch.set(saxpy, a=3.0)
        assert engine.step().values == {} and engine.read(saxpy["out"])[0] == 3.0
