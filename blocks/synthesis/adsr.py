from warploom.api import BlockBuilder, In, Kernel, Out, f32, param, port, u8
from warploom.blocks.synthesis.live import Live


class ADSR(
    Live,
    id="signal.adsr",
    title="ADSR",
    tags=("envelope", "attack", "decay", "sustain", "release", "synthesizer", "note", "gate", "vca", "fade"),
):
    """Shapes the loudness of a note: it rises, falls to a level that it keeps, and fades away.

    While `gate` is true, the loudness rises to 1 in a straight line, then falls towards `sustain`; once `gate` is
    false, it falls to 0. Both falls are exponential, and 99 % done after their time. A new note rises from the present
    loudness. x is a window of live sound, such as that of Oscillator. Drive `gate` by a Keyboard, MIDI In or an LFO.
    """

    x: In[f32] = port(doc="A window of live sound, shape [samples] or [channels, samples].")
    out: Out[f32] = port(shape="same(x)", doc="The sound times its loudness.")
    gate: bool = param(True, doc="The note is held.")
    attack: float = param(0.01, min=0, max=60, unit="s", doc="Time of the rise from 0 to 1.")
    decay: float = param(0.2, min=0, max=60, unit="s", doc="Time of the fall to the sustained level.")
    sustain: float = param(0.6, min=0, max=1, doc="Loudness while the note is held.")
    release: float = param(0.4, min=0, max=60, unit="s", doc="Time of the fall to silence.")

    shape = Kernel("synthesis.cu", entry="shape_sound")
    advance = Kernel("synthesis.cu", entry="advance_stage")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per sample, and one that moves the envelope on."""
        added, size = self.added(build), self.x.last(0)
        stage = build.buffer("stage", u8, "[12]", state=True)
        how = (added, self.gate, self.attack, self.decay, self.sustain, self.release, self.rate, size)
        build.launch(self.shape, num_threads=self.x.size, args=(self.x, self.out, stage, *how, self.x.size))
        build.launch(self.advance, num_threads=1, thread_block=1, args=(stage, *how))
        self.keep(build, self.out, added)
