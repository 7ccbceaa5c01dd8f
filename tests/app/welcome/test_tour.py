"""The tour of the first three minutes."""

from tests.app.window.window_support import patch_of
from warploom.app.welcome.tour import STEPS
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef


def text(window: MainWindow) -> str:
    """Return the sentence of the tour."""
    return window.tour._banner.text


def test_each_step_waits_until_it_is_done(window: MainWindow) -> None:
    """A person who does what the tour says gets from the first step to the last."""
    window.tour.begin()
    patch, tour = patch_of(window), window.tour
    assert window.session.name == "particles"

    def step(number: int) -> None:
        tour.look()
        tour.look()  # nothing more is done by waiting
        assert tour.at == number and text(window) == STEPS[number].text

    step(0)
    window.canvas.select(["forces"])
    step(1)
    patch.set("forces", gravity=3.0)
    step(2)
    patch.undo()
    step(3)
    patch.add("image.gaussian_blur", node_id="blur")
    step(4)
    patch.connect(PortRef("render", "image"), PortRef("blur", "image"))
    step(4)
    patch.connect(PortRef("blur", "out"), PortRef("viewer", "image"))
    step(5)
    window.session.set_running(False)
    step(6)
    window.session.set_running(True)
    step(7)
    for _ in range(2):
        window.tour._banner.buttons[-1].click()
    assert tour.at == -1 and text(window) == ""


def test_the_tour_ends_with_another_patch(window: MainWindow) -> None:
    """The tour ends when another patch is opened, or the person ends it."""
    window.tour.begin()
    window.files.new()
    assert text(window) == ""
    window.tour.begin()
    window.tour._banner.buttons[0].click()
    assert text(window) == "" and window.session.patch is not None
