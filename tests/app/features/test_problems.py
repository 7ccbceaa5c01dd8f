"""Problems by mouse and keys: at their block, in the list, inside groups, in kernels, in the log."""

import json
import logging
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from tests.app.app_support import make_report
from tests.app.features.person import CONTROL, Person
from tests.app.window.window_support import engine_of
from warploom.app.docks.code.code import Code
from warploom.app.docks.log import Log
from warploom.app.docks.problems import Problems
from warploom.engine.diagnostics import error
from warploom.engine.protocol.messages import NodeReport, NodeState


def fail(person: Person, node: str, **fields: object) -> None:
    """Let the engine report an error of a block."""
    nodes = {node: NodeReport(person.patch.nodes[node].type, NodeState.ERROR, "x must be finite", None, 1)}
    found = (error("x must be finite", node=node, **fields),)  # type: ignore[arg-type]  # fields of a diagnostic
    for _ in range(2):
        engine_of(person.window).reports.append(make_report(nodes=nodes, diagnostics=found))
        person.window.bridge.poll()


def mend(person: Person) -> None:
    """Let the engine report that all is well."""
    engine_of(person.window).reports.append(make_report())
    person.window.bridge.poll()


@pytest.mark.feature("badges", "problems", "group_errors")
def test_a_problem_in_a_group_is_seen_outside_and_leads_inside(person: Person) -> None:
    """The group is marked, its block's text is in tooltip and inspector, and a double click in the list opens it."""
    person.select("noise", "blur")
    person.press(Qt.Key.Key_G, CONTROL)
    (group,) = person.window.canvas.selected()
    fail(person, "blur")
    person.until(lambda: person.hand.scene.nodes[group].appearance.state is NodeState.ERROR)
    person.click(person.window.problem_count)
    problems = person.window.docks.widget(Problems).list
    person.until(lambda: problems.topLevelItemCount() == 1 and problems.isVisible())
    person.row(problems, 0, twice=True)
    assert (person.window.kernel.level, person.window.canvas.selected()) == (group, ["blur"])
    assert "x must be finite" in person.rest(person.hand.title("blur"))
    person.until(lambda: "x must be finite" in person.window.inspector.status.message)
    person.press(Qt.Key.Key_Escape)
    mend(person)
    person.window.docks.close_lists()


@pytest.mark.feature("kernel_errors")
def test_a_kernels_error_opens_its_line(person: Person, tmp_path: Path) -> None:
    """A double click on the row shows the file with the cursor in line 2."""
    kernel = tmp_path / "loud.cu"
    kernel.write_text("// a kernel\nint x = y;\n")
    fail(person, "scale", file=str(kernel), line=2)
    person.press(Qt.Key.Key_J, CONTROL)
    problems, code = person.window.docks.widget(Problems).list, person.window.docks.widget(Code)
    person.until(lambda: problems.topLevelItemCount() == 1 and problems.isVisible())
    person.row(problems, 0, twice=True)
    assert code.isVisible() and code.text.textCursor().blockNumber() == 1
    mend(person)
    person.window.docks.close_lists()


@pytest.mark.feature("log")
def test_the_log_is_filtered(person: Person) -> None:
    """View › Log lists messages; a level and typed words leave only the lines that fit."""
    person.command("log")
    log = person.window.docks.widget(Log)
    logging.getLogger("warploom.test").info("a walrus is fed")
    logging.getLogger("warploom.test").warning("a walrus is hungry")
    model = log.table.model()
    person.until(lambda: model.rowCount() >= 2)
    log.filter.setFocus()
    person.type("walrus", None)
    person.until(lambda: model.rowCount() == 2)
    box = log.findChild(QComboBox)
    assert box is not None
    person.choose(box, "Warnings")
    assert model.rowCount() == 1
    person.choose(box, "Info")
    log.filter.clear()
    person.window.docks.close_lists()


@pytest.mark.feature("placeholders")
def test_a_missing_type_keeps_its_data(person: Person, file: Path, tmp_path: Path) -> None:
    """A patch with a block of another program opens with a placeholder; edited and saved, its data are all there."""
    document = json.loads(file.read_text())
    for node in document["nodes"]:
        if node["id"] == "blur":
            node |= {"type": "elsewhere.fog", "parameters": {"depth": 4.5, "names": ["a", "b"]}}
    path = tmp_path / "foreign.loom"
    path.write_text(json.dumps(document))
    person.asked.path = path
    person.press(Qt.Key.Key_O, CONTROL)
    assert person.window.session.path == path
    person.qtbot.wait(1)
    assert "elsewhere.fog" in person.rest(person.hand.title("blur"))
    person.select("blur")
    person.press(Qt.Key.Key_Right)
    person.press(Qt.Key.Key_S, CONTROL)
    saved = json.loads(path.read_text())
    (found,) = [node for node in saved["nodes"] if node["id"] == "blur"]
    assert found["type"] == "elsewhere.fog" and found["parameters"] == {"depth": 4.5, "names": ["a", "b"]}
    assert len(saved["connections"]) == 3
    assert not person.window.isWindowModified()
