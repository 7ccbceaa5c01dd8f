import math

from warploom.api import BlockBuilder, In, Kernel, Out, f32, param, port, s32
from warploom.blocks.synthesis.live import Live


class Echo(Live, id="signal.echo", tags=("delay", "reverb", "comb", "feedback", "repeat", "space")):
    """Repeats a sound later, again and again, each time more quietly.

    With `feedback` 0, it is repeated once. With `mix` 1, only the repeated sound is heard, which makes the block a
    plain delay. With `live`, x is a window of live sound, and echoes go on from frame to frame; otherwise it is a
    whole sound, and echoes end with it. A delay below 50 ms colours the sound instead.
    """

    x: In[f32] = port(doc="The sound, shape [samples] or [channels, samples].")
    out: Out[f32] = port(shape="same(x)", doc="The sound with its echoes.")
    delay: float = param(0.3, min=0, max=60, unit="s", doc="Time to the next echo, at least a sample.")
    feedback: float = param(0.4, min=-0.99, max=0.99, doc="Loudness of each echo, as a share of the one before.")
    mix: float = param(0.5, min=0, max=1, doc="Share of the echoes in the output.")
    longest: float = param(
        1.0, min=0.001, max=60, unit="s", structural=True, doc="The longest delay that there can be."
    )
    live: bool = param(False, structural=True, doc="x is a window of live sound, which goes on from frame to frame.")

    repeat = Kernel("synthesis.cu", entry="echo")
    advance = Kernel("synthesis.cu", entry="advance_line")

    @property
    def goes_on_live(self) -> bool:
        """True for live sound."""
        return self.live

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread for each sample of the longest delay."""
        added, size, longest = self.added(build), self.x.last(0), math.ceil(self.longest * self.rate)
        line = build.buffer("line", f32, f"[x.size // x.last0, x.last0 + {longest}]", state=self.live)
        at = build.buffer("at", s32, "[1]", state=True)
        if not self.live:
            build.fill(line)
        count, how = line.dim(0) * longest, (self.delay, self.feedback, self.mix, self.rate)
        args = (self.x, self.out, line, at, added, self.live, *how, size, line.dim(1), longest, count)
        build.launch(self.repeat, num_threads=count, args=args)
        moved = (at, added, self.live, size, line.dim(1))
        build.launch(self.advance, num_threads=1, thread_block=1, args=moved)
        self.keep(build, self.out, added)
