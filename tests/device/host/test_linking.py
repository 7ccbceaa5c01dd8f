"""Loading object code: many libraries share a linker, and their symbols have equal names."""

import random
import subprocess
import sys

from warploom.engine.device.host.modules import native

#: Object code, by the number that its function returns.
objects: dict[int, bytes] = {}


def code(value):
    """Return a loaded library whose function `f` returns a number."""
    text = f"define i32 @f(ptr %a, ptr %b, ptr %c, i64 %d, i64 %e) {{\n  ret i32 {value}\n}}\n"
    return native.NativeCode([objects.setdefault(value, native.compile_object(text))], ["f"], {})


def result(library):
    return library.function("f")(None, None, None, 0, 0)


def test_a_library_keeps_its_code_whatever_else_is_unloaded():
    """A library's function works after other libraries are unloaded, even if there are too many for one linker."""
    chance = random.Random(3)
    loaded = [(index % 5, code(index % 5)) for index in range(native.MOST_LINKED + 50)]
    assert len({id(native._linkers.next()[0]) for _ in range(native.MOST_LINKED + 1)}) == 2
    while loaded:
        assert all(result(library) == value for value, library in chance.sample(loaded, min(9, len(loaded))))
        chance.shuffle(loaded)
        del loaded[-30:]
        if len(loaded) % 4 == 0:
            loaded.append((7, code(7)))
            assert result(loaded[-1][1]) == 7
            loaded.pop()


def test_a_program_may_end_while_code_is_loaded():
    """A process that ends while code is loaded exits with status 0."""
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}; from tests.device.host.test_linking import code; kept = code(1)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).returncode == 0
