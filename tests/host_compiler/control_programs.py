"""Random kernels of nested loops, branches and barriers, as CUDA C++ and as a reference in numpy.

A program works on the integers a, b, c, d of each thread; d only receives values that all threads share. A condition is
uniform (made from the parameters p and q and loop indices) or differs between threads. Threads wait and exchange
values, through shared memory or within a warp, only where all threads of the thread block arrive. Sums and products are
unsigned, so no overflow is undefined. The reference runs a thread block's threads in lockstep with a mask of active
threads, as a GPU without independent thread scheduling would.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warploom.engine.types import Array

_VARIABLES = "abcd"


@dataclass
class State:
    """The variables of one thread block's threads, and the values that all of them share."""

    values: dict[str, Array]
    uniform: dict[str, int]
    thread: Array
    x: Array


Step = Callable[[State, Array], None]
Expression = tuple[str, Callable[[State], Array]]


class Program:
    """A random kernel `name`: `source` is its CUDA C++, and `run` is the reference."""

    def __init__(self, seed: int) -> None:
        self.name = f"program{seed}"
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._depth = 0
        self._loops: list[str] = []
        self._count = 0
        self._leaves = self._random.random() < 0.3
        steps = self._block(uniform=True)
        self._step = steps
        body = "\n".join(self._lines)
        leave = "  if ((t & 7) > 5) { out[i] = a; return; }\n" if self._leaves else ""
        self.source = f"""
extern "C" __global__ void {self.name}(const int* x, int* out, int p, int q) {{
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, m = blockDim.x;
  int a = x[i], b = t, c = i ^ q, d = p;
{leave}{body}
  out[i] = a * 31 + b * 7 + c + d * 1000003;
}}"""

    def run(self, x: Array, blocks: int, p: int, q: int) -> Array:
        """Return the values that the kernel writes with `blocks` thread blocks for the i32 array `x`."""
        out = []
        size = len(x) // blocks
        with np.errstate(over="ignore"):
            for block, part in enumerate(x.reshape(blocks, size)):
                thread = np.arange(size, dtype=np.int32)
                index = (block * size + thread).astype(np.int32)
                state = State(
                    {"a": part.copy(), "b": thread.copy(), "c": index ^ np.int32(q), "d": np.full(size, np.int32(p))},
                    {"p": p, "q": q},
                    thread,
                    x,
                )
                live = (thread & 7) <= 5 if self._leaves else np.ones(size, bool)
                self._step(state, live)
                a, b, c, d = (state.values[name] for name in _VARIABLES)
                out.append(np.where(live, a * np.int32(31) + b * np.int32(7) + c + d * np.int32(1000003), part))
        return np.concatenate(out).astype(np.int32)

    # -- statements --------------------------------------------------------------------------------------------------

    def _emit(self, line: str) -> None:
        self._lines.append("  " * (self._depth + 1) + line)

    def _block(self, *, uniform: bool) -> Step:
        steps = []
        for _ in range(self._random.randint(1, 3)):
            choices = [self._assign, self._assign, self._shuffle]
            if self._depth < 3:
                choices += [self._branch, self._uniform_loop, self._strided_loop, self._ragged_loop, self._mixed_loop]
            if uniform and not self._leaves:
                choices += [self._exchange, self._exchange]
            steps.append(self._random.choice(choices)(uniform))

        def run(state: State, mask: Array) -> None:
            for step in steps:
                step(state, mask)

        return run

    def _assign(self, uniform: bool) -> Step:
        name = self._random.choice(_VARIABLES + "dd")
        text, value = self._expression(common=name == "d")
        self._emit(f"{name} = {text};")

        def run(state: State, mask: Array) -> None:
            state.values[name] = np.where(mask, value(state), state.values[name]).astype(np.int32)

        return run

    def _branch(self, uniform: bool) -> Step:
        if self._random.random() < 0.5:
            bound = self._random.randint(0, 9)
            text, test = (
                f"(p + {bound}) % 3 < 2",
                lambda state: np.full(state.thread.shape, (state.uniform["p"] + bound) % 3 < 2),
            )
            inner = uniform
        else:
            text, test = self._condition()
            inner = False
        self._emit(f"if ({text}) {{")
        self._depth += 1
        then = self._block(uniform=inner)
        self._depth -= 1
        other: Step | None = None
        if self._random.random() < 0.5:
            self._emit("} else {")
            self._depth += 1
            other = self._block(uniform=inner)
            self._depth -= 1
        self._emit("}")

        def run(state: State, mask: Array) -> None:
            taken = test(state)
            if (mask & taken).any():
                then(state, mask & taken)
            if other is not None and (mask & ~taken).any():
                other(state, mask & ~taken)

        return run

    def _uniform_loop(self, uniform: bool) -> Step:
        """A loop whose number of rounds depends on the parameters only."""
        index, extra = self._new("k"), self._random.randint(0, 4)
        self._emit(f"for (int {index} = 0; {index} < q % 4 + {extra}; {index}++) {{")
        body = self._body(index, uniform)

        def run(state: State, mask: Array) -> None:
            for value in range(state.uniform["q"] % 4 + extra):
                state.uniform[index] = value
                body(state, mask)

        return run

    def _strided_loop(self, uniform: bool) -> Step:
        """A loop whose stride is the thread block's size or a number, so some threads run more rounds than others."""
        index, extra, stride = self._new("j"), self._random.randint(0, 99), self._random.choice((0, 0, 40, 128))
        ends = stride * (extra % 9 + 1) if stride and extra & 1 else 0
        end = str(ends) if ends else f"p + {extra}"
        self._emit(f"for (int {index} = t; {index} < {end}; {index} += {stride or 'm'}) {{")
        name = self._random.choice("abc")
        self._emit(f"  {name} = {name} * 3u + {index};")
        self._depth += 1
        body = self._block(uniform=False)
        self._depth -= 1
        self._emit("}")

        def run(state: State, mask: Array) -> None:
            at = state.thread.copy()
            last = ends or state.uniform["p"] + extra
            while (here := mask & (at < last)).any():
                changed = state.values[name] * np.int32(3) + at
                state.values[name] = np.where(here, changed, state.values[name]).astype(np.int32)
                body(state, here)
                at = np.where(here, at + (stride or len(at)), at).astype(np.int32)

        return run

    def _ragged_loop(self, uniform: bool) -> Step:
        """A loop that each thread leaves depending on its own data."""
        index, (text, value) = self._new("r"), self._expression()
        self._emit(f"for (int {index} = 0; {index} < (({text}) & 5); {index}++) {{")
        name = self._random.choice(_VARIABLES)
        self._emit(f"  {name} = {name} * 5u + {index} + 1;")
        self._emit("}")

        def run(state: State, mask: Array) -> None:
            rounds = 0
            while (mask := mask & (rounds < (value(state) & 5))).any():
                changed = state.values[name] * np.int32(5) + np.int32(rounds + 1)
                state.values[name] = np.where(mask, changed, state.values[name]).astype(np.int32)
                rounds += 1

        return run

    def _mixed_loop(self, uniform: bool) -> Step:
        """A loop over x whose start, end and step are each a number, a uniform value or a thread's own value."""
        index, rounds = self._new("i"), self._random.randint(1, 5)
        (start, first), (end, last), (step, by) = self._expression(), self._expression(), self._operand()
        order, test = self._random.choice((("<", np.less), (">=", np.greater_equal), ("!=", np.not_equal)))
        name = self._random.choice("abc")
        self._emit(
            f"for (int {index} = {start}, e = {end}, w = {step}, n = 0; {index} {order} e && n < {rounds}; n++) {{"
        )
        self._emit(f"  if ({index} >= 0 && {index} < m) {name} += x[{index}] ^ {index};")
        self._emit(f"  {name} = {name} * 3u + {index}; {index} += unsigned(w);")
        self._emit("}")

        def run(state: State, mask: Array) -> None:
            at, stop, stride = (value(state).astype(np.int32) for value in (first, last, by))
            for _ in range(rounds):
                mask = mask & test(at, stop)
                inside = mask & (at >= 0) & (at < len(at))
                value = state.values[name]
                value = np.where(inside, value + (state.x[np.clip(at, 0, len(at) - 1)] ^ at), value)
                state.values[name] = np.where(mask, value * np.int32(3) + at, value).astype(np.int32)
                at = np.where(mask, at + stride, at).astype(np.int32)

        return run

    def _exchange(self, uniform: bool) -> Step:
        """Pass a value to another thread through shared memory, between barriers."""
        name, target, step = (
            self._random.choice(_VARIABLES),
            self._random.choice(_VARIABLES),
            self._random.randint(1, 70),
        )
        self._emit(f"s[t] = {name}; __syncthreads(); {target} += s[(t + {step}) % m]; __syncthreads();")

        def run(state: State, mask: Array) -> None:
            source = state.values[name][(state.thread + step) % len(state.thread)]
            state.values[target] = (state.values[target] + source).astype(np.int32)

        return run

    def _shuffle(self, uniform: bool) -> Step:
        """Sum over the warp's active threads; a full shuffle is used only where all of them are active."""
        name = self._random.choice("abc")
        if not uniform or self._leaves:
            return self._assign(uniform)
        self._emit(f"{name} += __shfl_xor_sync(0xffffffffu, {name}, 5);")

        def run(state: State, mask: Array) -> None:
            value = state.values[name]
            other = state.thread ^ 5
            count = len(value)
            # A thread without a partner receives its own value.
            given = value[np.where(other < count, other, state.thread)]
            state.values[name] = (value + given).astype(np.int32)

        return run

    # -- expressions -------------------------------------------------------------------------------------------------

    def _body(self, index: str, uniform: bool) -> Step:
        self._depth += 1
        self._loops.append(index)
        body = self._block(uniform=uniform)
        self._loops.pop()
        self._depth -= 1
        self._emit("}")
        return body

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _operand(self, *, common: bool = False) -> Expression:
        kind = self._random.randint(0, 1 if common else 3)
        if kind == 0:
            value = np.int32(self._random.randint(-9, 99))
            return str(value), lambda state: np.full(state.thread.shape, value)
        if kind == 1:
            name = self._random.choice(["p", "q", *self._loops])
            return name, lambda state: np.full(state.thread.shape, np.int32(state.uniform[name]))
        name = self._random.choice(_VARIABLES)
        return name, lambda state: state.values[name]

    def _expression(self, *, common: bool = False) -> Expression:
        (left, left_value), (right, right_value) = self._operand(common=common), self._operand(common=common)
        if common:
            left, left_value = "d", lambda state: state.values["d"]
        sign = self._random.choice("+-*^&|")
        functions: dict[str, Callable[[Array, Array], Array]] = {
            "+": np.add,
            "-": np.subtract,
            "*": np.multiply,
            "^": np.bitwise_xor,
            "&": np.bitwise_and,
            "|": np.bitwise_or,
        }
        return f"int(unsigned({left}) {sign} {right})", lambda state: functions[sign](
            left_value(state), right_value(state)
        )

    def _condition(self) -> Expression:
        if self._random.random() < 0.5:
            bound = self._random.randint(0, 80)
            return f"t < {bound}", lambda state: state.thread < bound
        text, value = self._expression()
        return f"({text} & 3) == 1", lambda state: (value(state) & 3) == 1
