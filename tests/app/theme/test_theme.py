"""Both themes are legible, and each colour has one meaning."""

import colorsys
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox

from tests.app.app_support import contrast
from warploom.app.canvas.drawing.node_painter import port_ink
from warploom.app.theme.apply import apply_theme
from warploom.app.theme.colours import (
    DARK,
    LIGHT,
    Colours,
    category_tint,
    current,
    faded_ink,
    far_tint,
    heat_colour,
    mix,
)
from warploom.app.theme.fonts import BODY, code_font, ui_font
from warploom.app.theme.icons import ACTIONS, CATEGORIES, icon
from warploom.app.theme.port_style import PORT_STYLES, PortKind
from warploom.app.view_models.node_view_model import PortViewModel
from warploom.app.view_models.profile.heat import DEGREES
from warploom.engine.catalogue.catalogue import default_catalogue

BOTH = pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)


def test_contrast_is_the_ratio_that_wcag_defines() -> None:
    """The contrast of black on white is 21, of a colour on itself 1, and of #777777 on white 4.48."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#5b9bff", "#5b9bff") == 1
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@BOTH
def test_text_is_legible_on_every_grey(theme: Colours) -> None:
    """On every grey, the contrast of body text is 7:1, and of dim text 4.5:1; so is that of hints on all controls.

    In the light theme, messages have 4.5:1 there too.
    """
    for ground in (theme.canvas, theme.dock, theme.control, theme.node):
        assert contrast(theme.text, ground) >= 7
        assert contrast(theme.text_dim, ground) >= 4.5
    for ground in (theme.dock, theme.control, theme.node):
        assert contrast(theme.text_faint, ground) >= 4.5
    for ground in (LIGHT.dock, LIGHT.control, LIGHT.node):
        for ink in (LIGHT.accent, LIGHT.warning, LIGHT.error, LIGHT.running):
            assert contrast(ink, ground) >= 4.5
    assert contrast(theme.on_accent, theme.accent) >= 4.5


@BOTH
@pytest.mark.parametrize("fade", [0.25, 0.45, 0.55])
def test_titles_of_blocks_that_do_not_run_can_be_read(theme: Colours, fade: float) -> None:
    """They fade with their block as far as their contrast with the title bar stays 4.5:1."""
    for category in {block.category for block in default_catalogue().all()} | {"somebody's own"}:
        ground = mix(category_tint(category, theme), theme.canvas, fade)
        ink = faded_ink(theme.text, ground, theme.canvas, fade)
        assert 4.5 <= contrast(ink, ground) < contrast(theme.text, ground)


@BOTH
def test_chrome_is_grey_in_three_steps(theme: Colours) -> None:
    """Canvas, dock and control are greys that get lighter in this order."""
    greys = [QColor(colour) for colour in (theme.canvas, theme.dock, theme.control)]
    assert all(grey.saturation() == 0 for grey in greys)
    assert [grey.lightness() for grey in greys] == sorted({grey.lightness() for grey in greys})


@BOTH
def test_kinds_of_ports_stand_out_and_are_no_warning(theme: Colours) -> None:
    """Each kind of port has a contrast of 3:1, its own shape, and a hue far from orange, red and green."""
    for style in PORT_STYLES.values():
        colour = QColor(style.colour(theme))
        assert contrast(style.colour(theme), theme.canvas) >= 3
        is_coloured = colour.saturation() > 60
        hue = colour.hue()
        assert not is_coloured or not (hue < 45 or hue > 345 or 80 < hue < 160)
    assert len({style.outline for style in PORT_STYLES.values()}) == len(PORT_STYLES)
    for one, other in itertools.combinations(PORT_STYLES.values(), 2):
        assert one.colour(theme) != other.colour(theme)


@given(st.text(max_size=20))
def test_titles_are_legible_on_the_tint_of_any_category(category: str) -> None:
    """The tints of a category of any name don't look like a warning, and titles on them are legible at any zoom."""
    for theme, tint_of in itertools.product((DARK, LIGHT), (category_tint, far_tint)):
        tint = tint_of(category, theme)
        assert contrast(theme.text, tint) >= 4.5
        colour = QColor(tint)
        hue = colorsys.rgb_to_hls(colour.redF(), colour.greenF(), colour.blueF())[0] * 360
        assert 165 <= hue <= 322, "the error's red is at 2"


@BOTH
def test_applying_a_theme_sets_palette_and_font(theme: Colours, qapp: QApplication) -> None:
    """Applying a theme sets the palette and font of widgets without their own style."""
    apply_theme(qapp, theme.name)
    assert current() is theme
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(theme.dock)
    assert qapp.palette().color(QPalette.ColorRole.Highlight) == QColor(theme.accent)
    assert qapp.font().pixelSize() == BODY
    assert qapp.style().name() == "fusion" or qapp.styleSheet()
    apply_theme(qapp, "dark")


def test_an_unknown_theme_is_refused(qapp: QApplication) -> None:
    """An unknown theme is refused with a list of the themes."""
    with pytest.raises(ValueError, match="theme must be one of dark, light, got 'mauve'"):
        apply_theme(qapp, "mauve")


def test_every_icon_can_be_drawn(qapp: QApplication) -> None:
    """Every name in the table of icons can be drawn."""
    for name in ACTIONS:
        assert not icon(name).pixmap(16, 16).isNull()


def test_an_icon_follows_the_theme(qapp: QApplication) -> None:
    """An icon is drawn in the text colour of the current theme, even if the theme changes later."""
    drawn = icon("save")
    for theme in (DARK, LIGHT):
        apply_theme(qapp, theme.name)
        picture = drawn.pixmap(32, 32).toImage()
        colours = {
            picture.pixelColor(x, y).name()
            for x in range(32)
            for y in range(32)
            if picture.pixelColor(x, y).alpha() == 255
        }
        assert theme.text in colours
    apply_theme(qapp, "dark")


def test_figures_have_one_width(qapp: QApplication) -> None:
    """Digits have one width, and so have all letters of the code font."""
    from PySide6.QtGui import QFontMetricsF

    figures = {QFontMetricsF(ui_font()).horizontalAdvance(digit) for digit in "0123456789"}
    assert len(figures) == 1
    assert len({QFontMetricsF(code_font()).horizontalAdvance(letter) for letter in "iMw0."}) == 1


def _hue(category: str, theme: Colours) -> float:
    colour = QColor(category_tint(category, theme))
    return colorsys.rgb_to_hls(colour.redF(), colour.greenF(), colour.blueF())[0] * 360


@BOTH
def test_each_shipped_category_has_a_hue_of_its_own(theme: Colours) -> None:
    """The hues of shipped categories are at least 9 degrees apart."""
    assert CATEGORIES.keys() <= {block.category.lower() for block in default_catalogue().all()}
    shipped = sorted(_hue(category, theme) for category in CATEGORIES)
    assert min(b - a for a, b in itertools.pairwise(shipped)) >= 9


@BOTH
def test_times_on_nodes_can_be_read(theme: Colours) -> None:
    """A node's time, which stands above the node, is legible on the canvas."""
    assert contrast(theme.text_dim, theme.canvas) >= 4.5


@BOTH
def test_text_is_legible_at_every_heat(theme: Colours) -> None:
    """Numbers and port names are legible on the coldest and on the hottest node."""
    port = PortViewModel("x", True, PortKind.FLOAT)
    for degree in range(DEGREES + 1):
        assert contrast(port_ink(port, degree, theme), heat_colour(degree / DEGREES)) >= 4.5


def test_heat_is_viridis() -> None:
    """Heat has the colours of viridis, and gets lighter with each degree."""
    found = [heat_colour(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for colour, wanted in zip(found, ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"), strict=True):
        mine, known = (QColor(name).getRgb() for name in (colour, wanted))
        assert max(abs(a - b) for a, b in zip(mine, known, strict=True)) <= 8
    lightness = [contrast(heat_colour(degree / DEGREES), "#000000") for degree in range(DEGREES + 1)]
    assert lightness == sorted(set(lightness))


@BOTH
def test_a_check_box_can_be_seen_whether_it_is_checked_or_not(theme: Colours, qapp: QApplication) -> None:
    """An empty check box's outline and a check mark have a contrast of at least 3:1."""
    apply_theme(qapp, theme.name)
    box = QCheckBox()
    middle = box.sizeHint().height() // 2
    row = [box.grab().toImage().pixelColor(x, middle).name() for x in range(box.sizeHint().width())]
    assert max(contrast(colour, theme.dock) for colour in row) >= 3
    box.setChecked(True)
    image = box.grab().toImage()
    inside = [image.pixelColor(x, middle).name() for x in range(4, image.width() - 4)]
    assert max(contrast(one, other) for one in inside for other in inside) >= 3
    box.deleteLater()
    apply_theme(qapp, "dark")


@BOTH
def test_the_chosen_entry_of_an_open_list_can_be_read(theme: Colours, qapp: QApplication) -> None:
    """It has the ground of a selection."""
    apply_theme(qapp, theme.name)
    box = QComboBox()
    box.addItems(["Plot", "Table"])
    box.show()
    box.showPopup()
    view = box.view()
    ground = view.viewport().grab(view.visualRect(view.model().index(0, 0))).toImage().pixelColor(1, 1).name()
    assert contrast(theme.on_accent, ground) >= 4.5
    box.hidePopup()
    box.deleteLater()
    apply_theme(qapp, "dark")
