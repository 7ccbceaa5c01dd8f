"""OSC without a block: where the patch listens, what it sends, and the address of every parameter."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QMargins, QModelIndex, QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from warploom.app.docks.dock import Dock, Editor
from warploom.app.edits.organise import osc as edits
from warploom.app.qt.flow_row import FlowRow
from warploom.app.qt.throttle import Throttle
from warploom.app.theme import colours
from warploom.app.view_models.lists.osc_rows import OscRow, osc_rows
from warploom.app.view_models.live_values import number_text
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.list_table import Index, ListModel, RowFilter, make_table
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.osc import THIS_MACHINE
from warploom.engine.patch.organise.osc_addresses import osc_settings
from warploom.engine.protocol.messages import FrameReport, ReleaseOsc

_HINT = "No parameters that messages could set.\nPress Tab on the canvas to add a block"
_PORT = 9000  # what most controllers send to at first
#: The height of the list that a low dock keeps, in pixels.
_LEAST_LIST = 96
_REFRESH_MS = 100
_EVERYONE = "0.0.0.0"
_HOSTS = {"this machine": THIS_MACHINE, "the network": _EVERYONE}


class OscTableRows(ListModel[OscRow]):
    """The addresses, with a check mark for those whose value is sent."""

    HEADERS = ("Send", "Address", "Takes", "Value")
    TOOLTIPS = ("Send the value when it changes", "Double-click to copy", "", "The value that messages have set")
    SEND, ADDRESS, VALUE = 0, 1, 3
    NUMBERS = (3,)

    def __init__(self, parent: QObject, choose: Callable[[OscRow], object]) -> None:
        super().__init__(parent)
        self.values: Mapping[str, float] = {}
        self._choose = choose

    def texts(self, row: OscRow) -> Sequence[str]:
        """Return the texts of a row."""
        value = self.values.get(str(row.port))
        return "", row.address, row.takes, "" if value is None or not row.type else number_text(value, row.type)

    def tooltip(self, row: OscRow, column: int) -> str:
        """Return the full address."""
        return f"{row.address}\n{row.port}: {row.takes}\nDouble-click to copy the address"

    def colour(self, row: OscRow, column: int) -> str:
        """Return a strong colour for addresses and values."""
        tokens = colours.current()
        return tokens.text if column in (self.ADDRESS, self.VALUE) else tokens.text_dim

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return the check mark of the first column, or the data that all lists show."""
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == self.SEND:
            sent = self.rows[index.row()].is_sent
            return (Qt.CheckState.Checked if sent else Qt.CheckState.Unchecked).value
        return super().data(index, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return the flags of a cell; the first column can be checked."""
        more = Qt.ItemFlag.ItemIsUserCheckable if index.column() == self.SEND else Qt.ItemFlag.NoItemFlags
        return super().flags(index) | more

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Start or stop sending the value of a row."""
        if role == Qt.ItemDataRole.CheckStateRole:
            self._choose(self.rows[index.row()])
        return role == Qt.ItemDataRole.CheckStateRole

    def show_values(self, values: Mapping[str, float]) -> None:
        """Show the values of a report."""
        self.values = values
        if self.rows:
            self.dataChanged.emit(self.index(0, self.VALUE), self.index(len(self.rows) - 1, self.VALUE), [])


class OscDock(QWidget, Dock):
    """The settings above, and the list of addresses below."""

    name, title = "osc", "OSC"
    area = Qt.DockWidgetArea.RightDockWidgetArea
    is_made_late = True
    least_share = 0.4

    def __init__(self) -> None:
        super().__init__()
        self._editor: Editor | None = None
        self._patch = Patch()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._is_seen, self._edition = False, -1  # the edition of the patch that the rows show
        self._report: FrameReport | None = None
        self.listens = QCheckBox("Listen at port", toolTip="Set parameters by OSC messages, without a block")
        self.listens.clicked.connect(self._set_listening)
        self.port = QSpinBox(minimum=1, maximum=65_535, value=_PORT, accessibleName="OSC port", keyboardTracking=False)
        self.port.valueChanged.connect(self._set_port)
        self.host = QComboBox(accessibleName="Who may send messages")
        self.host.addItems(list(_HOSTS))
        self.host.activated.connect(self._set_port)
        self.to = QLineEdit(accessibleName="Destination of values", placeholderText="127.0.0.1:9001")
        self.to.setToolTip("Host and port that checked values are sent to, such as 127.0.0.1:9001 or mixer.local:9001")
        self.to.editingFinished.connect(self._set_destination)
        self.status = QLabel(objectName="faint", wordWrap=True)
        self.keep = QPushButton("Keep", toolTip="Set the parameters to the values that messages have given them")
        self.keep.clicked.connect(self._keep)
        self.give_back = QPushButton("Give back", toolTip="Give these parameters the patch's values again")
        self.give_back.clicked.connect(self._give_back)
        self.filter = QLineEdit(clearButtonEnabled=True, placeholderText="Filter", accessibleName="Filter of addresses")
        self.filter.textChanged.connect(lambda _: self._choose_rows())
        self.rows = OscTableRows(self, self._send)
        self._shown = RowFilter(self.rows)
        self.table = make_table(self._shown, "OSC addresses", {0: 48, 2: 132, 3: 68}, OscTableRows.ADDRESS)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # addresses begin alike
        self.table.doubleClicked.connect(self._copy)
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.table, self._copy)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._open_menu)
        self.list = EmptyState(self.table, _HINT)
        page = QWidget()
        scroll = QScrollArea(widgetResizable=True, frameShape=QScrollArea.Shape.NoFrame)
        scroll.setWidget(page)
        self.list.setMinimumHeight(_LEAST_LIST)
        QVBoxLayout(self, contentsMargins=QMargins()).addWidget(scroll)
        column = QVBoxLayout(page, contentsMargins=QMargins(8, 8, 8, 0), spacing=8)
        for widgets in (
            (self.listens, self.port, QLabel("from"), self.host),
            (QLabel("Send to"), self.to),
            (self.status, self.keep, self.give_back),
        ):
            row = FlowRow(margins=QMargins(), spacing=8)
            for widget in widgets:
                row.add(widget, grows=widget in (self.host, self.to, self.status))
            column.addLayout(row)
        column.addWidget(self.filter)
        column.addWidget(self.list, 1)
        self._throttle = Throttle(self._refresh, _REFRESH_MS, self)

    def follow(self, editor: Editor) -> None:
        """Follow the open patch and its engine."""
        self._editor = editor
        editor.session.replaced.connect(self.set_patch)
        editor.bridge.report.connect(self.show_report)
        self.set_patch(editor.session.patch)
        self._report = editor.bridge.last_report

    def set_patch(self, patch: Patch | None) -> None:
        """Show the addresses of another patch."""
        self._unsubscribe()
        self._patch, self._report, self._edition = patch or Patch(), None, -1
        self._unsubscribe = self._patch.subscribe(None, self._follow_edit)
        self._throttle.ask()

    def set_seen(self, seen: bool) -> None:
        """Follow only while somebody sees the dock."""
        self._is_seen = seen
        if seen:
            self._throttle.ask()

    def show_report(self, report: FrameReport) -> None:
        """Show the values that messages have set, a few times a second."""
        self._report = report
        if self._is_seen:
            self._throttle.ask()

    def _follow_edit(self) -> None:
        if self._edition != self._patch.edition:
            self._throttle.ask()

    def _refresh(self) -> None:
        if not self._is_seen:
            return
        if self._edition != self._patch.edition:
            self._edition = self._patch.edition
            settings = osc_settings(self._patch)
            for widget in (self.port, self.host):
                widget.blockSignals(True)
            self.listens.setChecked(bool(settings.port))
            self.port.setValue(settings.port or self.port.value())
            if settings.host not in _HOSTS.values():
                _HOSTS[settings.host] = settings.host
                self.host.addItem(settings.host)
            self.host.setCurrentText(next(name for name, host in _HOSTS.items() if host == settings.host))
            for widget in (self.port, self.host):
                widget.blockSignals(False)
            self.to.setText(settings.to)
            rows = osc_rows(self._patch)
            if rows != self.rows.rows:
                self.rows.set_rows(rows)
            self.list.set_filled(bool(rows))
        report = self._report
        held = edits.held_by_osc(self._patch, report.values) if report is not None else {}
        self.rows.show_values(report.values if report is not None else {})
        self.keep.setVisible(bool(held))
        self.give_back.setVisible(bool(held))
        problem = next((d for d in report.diagnostics if d.message.startswith("OSC must")), None) if report else None
        if problem is not None:
            self.status.setText(f"{problem.message}: {problem.remedy}")
        elif held:
            self.status.setText(f"Messages have set {plural(len(held), 'parameter')}")
        else:
            where = "Messages set parameters until you do" if self.listens.isChecked() else "Not listening"
            self.status.setText(where)

    def _choose_rows(self) -> None:
        words = self.filter.text().lower().split()
        self._shown.choose(lambda row: all(word in row.address.lower() for word in words))

    def _set_listening(self) -> None:
        self._edit(lambda: edits.set_osc(self._patch, self.port.value() * self.listens.isChecked(), self._host))

    def _set_port(self) -> None:
        if self.listens.isChecked():
            self._set_listening()

    @property
    def _host(self) -> str:
        return _HOSTS[self.host.currentText()]

    def _set_destination(self) -> None:
        if self.to.text() != osc_settings(self._patch).to:
            self._edit(lambda: edits.set_destination(self._patch, self.to.text().strip()))

    def _send(self, row: OscRow) -> None:
        self._edit(lambda: edits.set_sent(self._patch, row.port, is_sent=not row.is_sent))

    def _keep(self) -> None:
        if self._report is not None:
            held = edits.held_by_osc(self._patch, self._report.values)
            self._edit(lambda: edits.keep_values(self._patch, held))
            if self._editor is not None:  # a value that is the patch's already is no edit, which would give it back
                self._editor.session.post(ReleaseOsc(tuple(held)))

    def _give_back(self) -> None:
        if self._editor is not None:
            self._editor.session.post(ReleaseOsc())

    def _copy(self, index: QModelIndex | None = None) -> None:
        chosen = self.table.selectionModel().selectedRows() if index is None else [index]
        if chosen:
            rows = [self.rows.rows[self._shown.mapToSource(each).row()] for each in chosen]
            QGuiApplication.clipboard().setText("\n".join(row.address for row in rows))
            if self._editor is not None:
                self._editor.note(f"Copied {'the address' if len(rows) == 1 else f'{len(rows)} addresses'}")

    def _open_menu(self, position: QPoint) -> None:
        index = self.table.indexAt(position)
        if index.isValid():
            row = self.rows.rows[self._shown.mapToSource(index).row()]
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.addAction("Copy address", partial(self._copy, index))
            menu.addAction("Don't send" if row.is_sent else "Send when it changes", partial(self._send, row))
            if self._editor is not None:
                menu.addAction("Go to block", partial(self._editor.kernel.go_to, row.port.node))
            menu.popup(self.table.viewport().mapToGlobal(position))

    def _edit(self, edit: Callable[[], object]) -> None:
        try:
            edit()
        except PatchError as problem:
            if self._editor is not None:
                self._editor.note(str(problem))
            self._edition = -1
            self._throttle.ask()
