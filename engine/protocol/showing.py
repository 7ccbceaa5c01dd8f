"""`LiveView`: a port in a notebook, whose picture follows the frames."""

import threading
from collections.abc import Callable
from typing import Any

from warploom.engine.diagnostics import WarploomError
from warploom.engine.drawings.notebook import MOST_PIXELS, array_bundle
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling


class LiveView:
    """Shows the newest sample of a port in a notebook's output, until `close`, or the engine's end."""

    def __init__(
        self, port: PortRef, rate: float, take: Callable[[], Sample | None], forget: Callable[[], None]
    ) -> None:
        """`take` returns a sample that was not taken yet, `forget` ends them. Raise WarploomError without IPython."""
        display = _display()
        self._take, self._forget, self._port = take, forget, port
        text = {"text/plain": f"{port}: no frame yet"}
        self._handle = display(text, raw=True, display_id=True)
        self._is_over = threading.Event()
        self._period_s = 1 / rate
        self._thread = threading.Thread(target=self._run, name="warploom-show", daemon=True)
        self._thread.start()

    @staticmethod
    def sampling(port: PortRef, rate: float) -> Sampling:
        """Return what is wanted of the port."""
        return Sampling(port, size=(MOST_PIXELS, MOST_PIXELS), reduction=Reduction.MEAN, rate=rate)

    def refresh(self) -> None:
        """Show the newest sample, if there is one that was not shown."""
        sample = self._take()
        if sample is None:
            return
        caption = f"{self._port}, frame {sample.frame}: {sample.dtype} {list(sample.shape)}"
        if sample.data is None:
            bundle: dict[str, Any] = {"text/plain": f"{caption}: {sample.missing}"}
        else:
            bundle = array_bundle(sample.data, caption)
        self._handle.update(bundle, raw=True)

    def close(self) -> None:
        """Stop following the frames; the last picture stays. A second call does nothing."""
        if not self._is_over.is_set():
            self._is_over.set()
            if self._thread is not threading.current_thread():
                self._thread.join()
            self._forget()

    def _run(self) -> None:
        while not self._is_over.wait(self._period_s):
            self.refresh()


def _display() -> Callable[..., Any]:
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        raise WarploomError("show must be called in a notebook, got no IPython: pip install ipykernel") from None
    if get_ipython() is None:
        raise WarploomError("show must be called in a notebook or in IPython, got neither; read the port instead")
    found: Callable[..., Any] = display
    return found
