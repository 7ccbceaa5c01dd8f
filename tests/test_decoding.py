"""`engine.decoding`: types that several threads learn at once."""

import subprocess
import sys

_PROGRAM = """
import sys, threading
import msgspec
from warploom.engine.decoding import convert, decode_json, decode_msgpack, type_info

sys.setswitchinterval(1e-6)
data = {"parts": [{"names": {"a": [1]}}]}
for number in range(100):
    part = msgspec.defstruct("Part", [("names", "dict[str, list[int]]"), ("rest", "str | int | None", None)])
    whole = msgspec.defstruct("Whole", [("parts", list[part]), ("count", "int", number)])
    begin, found = threading.Barrier(5), []

    def learn(decode, given):
        begin.wait()
        found.append(decode(given, whole))

    def describe():
        begin.wait()
        type_info(whole)

    ways = (convert, data), (decode_json, msgspec.json.encode(data)), (decode_msgpack, msgspec.msgpack.encode(data))
    threads = [threading.Thread(target=learn, args=way) for way in ways]
    threads += [threading.Thread(target=describe) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [whole([part({"a": [1]})])] * 3
"""


def test_several_threads_learn_a_type_at_once() -> None:
    """Threads that decode to a new type at the same time get right results; msgspec itself crashes the process."""
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True)
