"""One parameter in the inspector: its label, its editor or its driver, and buttons to drive and reset it."""

from collections.abc import Mapping
from functools import cached_property

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QSizePolicy, QStackedLayout, QToolButton, QWidget

from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.edits.nodes import parameter_label
from warploom.app.inspector.parameter_editors import NumberEditor, ParameterEditor
from warploom.app.inspector.scrub import Scrub
from warploom.app.theme.icons import icon
from warploom.app.view_models.live_values import LiveValue
from warploom.app.view_models.parameter_text import parameter_facts, value_text
from warploom.app.widgets.marked_text import without_marks
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.vector_parameters import component_letter
from warploom.engine.patch.rules import is_drivable

#: The width to which a name may be cut off in a narrow inspector, in pixels.
LEAST_NAME = 72


class DrivenView(QWidget):
    """Replaces the editor while a value drives the parameter."""

    #: The person wants to see the parameter's driver.
    followed = Signal()

    def __init__(self, name: str, *, is_narrow: bool) -> None:
        """A narrow one has only the arrow of the driver's title."""
        super().__init__()
        self._is_narrow = is_narrow
        self._live: LiveValue | None = None
        self._unit = self._title = ""
        self.source = QToolButton(autoRaise=True, objectName="drivenBy")
        self.source.setCursor(Qt.CursorShape.PointingHandCursor)
        if not is_narrow:
            self.source.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.source.setAccessibleName(f"Source of {name}")
        self.source.clicked.connect(self.followed)
        self.value = QLabel(objectName="drivenValue")
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.value.setToolTip("The current value; disconnect to set it by hand")
        self.value.setMinimumWidth(0 if is_narrow else 76)
        if is_narrow:
            self.value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self, contentsMargins=QMargins(), spacing=4)
        row.addWidget(self.source, 0 if is_narrow else 1)
        row.addWidget(self.value, 1 if is_narrow else 0)

    def show_source(self, text: str, tooltip: str, live: LiveValue | None, unit: str) -> None:
        """Show the driver of the parameter; `live` is None when different values drive several nodes."""
        self.source.setText("←" if self._is_narrow else f"← {text}")
        self.source.setToolTip(tooltip)
        self._title, self._live, self._unit = text, live, unit
        self.show_values({})

    def show_values(self, values: Mapping[str, float], frame: str = "") -> None:
        """Show the value of a report, and which frame it is from if that is known."""
        title = f"← {self._title} · {frame}" if frame else f"← {self._title}"
        title = "←" if self._is_narrow else title
        if title != self.source.text():
            self.source.setText(title)
        text = f"{self._live.text(values)} {self._unit}".rstrip() if self._live is not None else ""
        if text != self.value.text():
            self.value.setText(text)


class ParameterRow(QWidget):
    """A parameter's editor with its buttons; `label` is in front of it.

    While a value drives the parameter, the row shows that value instead of the editor, which would have no effect. The
    row of a vector's component shows no buttons: it is in a `VectorRow`.
    """

    #: The person wants to see the parameter's driver.
    followed = Signal()
    #: Whether the parameter is driven, or set, may have changed.
    state_changed = Signal()

    def __init__(self, spec: ParameterSpec, editor: ParameterEditor, *, beside_constants: bool) -> None:
        """With `beside_constants`, other rows have the switch for constants, so its space is reserved."""
        super().__init__()
        self.editor = editor
        name = parameter_label(spec.name)
        self.label = ElidedLabel("")
        self.label.setText(component_letter(spec) if spec.vector else name)
        self.label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        facts = [without_marks(spec.doc), *parameter_facts(spec)]
        if isinstance(editor, NumberEditor):
            facts.append("Drag the name to change it; Shift: fine, Ctrl: coarse")
            Scrub(self.label, editor, lambda: not self.is_driven)
        self._facts = "\n".join(facts)
        self.label.setToolTip(self._facts)
        self.label.setMinimumWidth(self.label.sizeHint().width() if spec.vector else LEAST_NAME)
        self.label.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.label.setBuddy(editor)
        self.drive = row_button("rowDrive", f"Drive {name}")
        self.drive.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.drive)
        self.drive.setMenu(self.menu)
        self.key = row_button("rowKey", f"Animate {name}")
        self.key.hide()
        _keep_place(self.key, keeps=False)  # until there is a timeline to set keys in
        self.constant = row_button("rowConstant", f"Compile {name} into the kernel")
        self.constant.setCheckable(True)
        self.constant.setChecked(spec.is_constant)
        if not spec.can_be_constant:  # `setVisible(True)` would show it as a window, since it has no parent yet
            self.constant.hide()
        _keep_place(self.constant, keeps=beside_constants)
        self.reset = row_button("rowReset", f"Reset {name}")
        self.reset.setIcon(icon("reset"))
        self.reset.setToolTip(f"Reset to {value_text(spec.default)}")
        place = QWidget()
        self._place = QStackedLayout(place, contentsMargins=QMargins())
        self._place.addWidget(editor)
        layout = QHBoxLayout(self, contentsMargins=QMargins(), spacing=1)
        layout.addWidget(place, 1)
        buttons = (self.constant, self.key, self.drive, self.reset)
        if spec.vector:
            self._unseen = QWidget(self)
            self._unseen.hide()
            for button in buttons:
                button.setParent(self._unseen)
        else:
            layout.addSpacing(3)
            for button in buttons:
                layout.addWidget(button)
        if not is_drivable(spec):
            self.drive.hide()
        if spec.language:  # code needs the width, and is aligned with nothing
            for button in buttons:
                _keep_place(button, keeps=False)
            layout.setAlignment(self.reset, Qt.AlignmentFlag.AlignTop)
        #: True if the patch has a value of the parameter.
        self.is_set = False
        self.show_free()

    @cached_property
    def driven(self) -> DrivenView:
        """What replaces the editor; made when it is needed, since each widget of a row costs time."""
        view = DrivenView(parameter_label(self.editor.spec.name), is_narrow=bool(self.editor.spec.vector))
        view.followed.connect(self.followed)
        self._place.addWidget(view)
        return view

    @property
    def is_driven(self) -> bool:
        """True while a value drives the parameter."""
        return self._place.currentWidget() is not self.editor

    def show_gain(self, text: str) -> None:
        """Show in the tooltip of the switch what compiling the parameter in has gained; "" if that is unknown."""
        self.constant.setToolTip(f"{self._constant_tip}\n{text}" if text else self._constant_tip)

    def show_address(self, address: str) -> None:
        """Show the parameter's OSC address in the tooltip; the menu of the label copies it."""
        self.label.setToolTip(f"{self._facts}\nOSC: {address}")

    def show_is_set(self, is_set: bool) -> None:
        """Offer to reset a value, if one was set."""
        self.is_set = is_set
        self.reset.setVisible(is_set and not self.is_driven)
        self.state_changed.emit()

    def offer_key(self) -> None:
        """Make room for the button that sets keys, and show it for a parameter that can have some."""
        _keep_place(self.key, keeps=not self.editor.spec.language)
        self.key.setVisible(is_drivable(self.editor.spec))

    def show_key(self, *, has_keys: bool, is_at_key: bool) -> None:
        """Show whether the parameter has keys, and one in the present frame."""
        name = parameter_label(self.editor.spec.name)
        self.key.setIcon(icon("key" if is_at_key else "no_key", "accent" if has_keys else "text_faint"))
        if self.is_driven and not has_keys:
            text = f"A value drives {name}: disconnect it to set keys"
        elif is_at_key:
            text = f"Remove the key of {name} in this frame"
        else:
            text = f"Add a key of {name} in this frame" if has_keys else f"Animate {name}: set a key in this frame"
        self.key.setToolTip(text)
        self.key.setEnabled(not self.is_driven)

    def show_free(self) -> None:
        """Show the editor: nothing drives the parameter."""
        self._place.setCurrentWidget(self.editor)
        self._show_buttons("Drive with a value: an LFO, a slider, an expression …")

    def show_driven(self, text: str, tooltip: str, live: LiveValue | None) -> None:
        """Show the driver of the parameter, and its value if it is the same for all selected nodes."""
        self.driven.show_source(text, tooltip, live, self.editor.spec.unit)
        self._place.setCurrentWidget(self.driven)
        self._show_buttons("Driven by a value: change or disconnect it")

    def _show_buttons(self, tooltip: str) -> None:
        name, is_constant = parameter_label(self.editor.spec.name), self.editor.spec.is_constant
        self.drive.setIcon(icon("drive", "text" if self.is_driven else "text_faint"))
        self.drive.setToolTip(tooltip)
        self.constant.setIcon(icon("constant") if is_constant else icon("variable", "text_faint"))
        self.constant.setEnabled(not self.is_driven)
        if self.is_driven:
            text = f"A value drives {name}: disconnect it before you compile it into the kernel"
        elif is_constant:
            text = f"{name} is compiled into the kernel. Click to change it without compiling"
        else:
            text = (
                f"Compile {name} into the kernel: its loops are unrolled, and another value compiles the kernel again"
            )
        self._constant_tip = text
        self.constant.setToolTip(text)
        self.show_is_set(self.is_set)


def row_button(name: str, text: str) -> QToolButton:
    """Return a small button that keeps its space while it is hidden, so that the editors are aligned."""
    button = QToolButton(autoRaise=True, objectName=name, accessibleName=text)
    _keep_place(button, keeps=True)
    return button


def _keep_place(button: QToolButton, *, keeps: bool) -> None:
    policy = button.sizePolicy()
    policy.setRetainSizeWhenHidden(keeps)
    button.setSizePolicy(policy)
