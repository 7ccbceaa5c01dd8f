"""`TrainSettings`: how a network is trained, as parameters of its block. It imports no tensors, which takes a while."""

from __future__ import annotations

from warploom.engine.blocktypes.adaptive import AdaptiveBlock
from warploom.engine.blocktypes.declarations import param

#: The schedule with the same rate from the first step on.
UNSCHEDULED = "constant"


class TrainSettings(AdaptiveBlock, abstract=True):
    """The parameters of training that a person sets."""

    optimiser: str = param(
        "AdamW",
        choices=("AdamW", "RAdam", "Ranger", "SGD"),
        doc="Optimiser: the rule that changes weights by gradients.",
    )
    learning_rate: float = param(1e-3, min=0, max=1, doc="Learning rate: the size of each step.")
    schedule: str = param(
        UNSCHEDULED,
        choices=(UNSCHEDULED, "warm-up", "steps", "exponential", "linear", "drop once", "cosine"),
        doc="How the learning rate changes; a constant one has no warm-up.",
    )
    schedule_steps: int = param(
        1000,
        min=1,
        max=10**7,
        doc="Steps after which the rate has reached the factor; with `steps`, the rate is multiplied by it each time.",
    )
    schedule_factor: float = param(0.1, min=0, max=1, doc="Factor of the rate after these steps.")
    warmup_steps: int = param(
        100, min=0, max=10**6, doc="Steps in which the rate rises at first; not used by constant."
    )
    clip_gradients: bool = param(False, structural=True, doc="Shorten gradients that are longer than clip_norm.")
    clip_norm: float = param(1.0, min=1e-6, max=1e6, doc="Largest length of all gradients together when clipped.")
    weight_decay: float = param(0.0, min=0, max=1, doc="Decay of the weights towards 0 in each step.")
    train: bool = param(True, structural=True, doc="Change the weights; otherwise only compute the loss.")
    query: bool = param(False, structural=True, doc="Add inputs for which the outputs are computed.")
    history: int = param(256, min=2, max=65536, structural=True, doc="Length of the output losses.")
    seed: int = param(
        0, min=0, max=2**31 - 1, structural=True, doc="Start of the random sequence for the initial weights."
    )
