"""`InnerEditing`: keeps the patch inside a block, open in the editor, equal to the block's parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Change, NodeRemoved, ParameterChanged
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.comparison import difference
from warploom.engine.patch.inner_patch import GRAPH, open_inner


class InnerEditing:
    """Keeps `patch`, the patch inside a node, equal to the node's parameter in the patch around it.

    An edit inside is one edit of the parameter, with its name and gesture. Only the outer patch has an undo history:
    undo there reverts the edit inside as well. `when_lost` is called with a reason when the inner patch no longer
    exists.
    """

    def __init__(self, outer: Patch, node: str, when_lost: Callable[[str], None] = lambda reason: None) -> None:
        self.outer, self.node = outer, node
        self.patch = open_inner(outer, node)
        self._when_lost = when_lost
        self._has_other_value = self._is_lost = self._is_passing_on = self._is_following = False
        self._ends = [
            outer.subscribe(self._hear, self._follow),
            self.patch.subscribe(None, self._pass_on),
        ]

    def close(self) -> None:
        """Stop keeping the patch and the parameter equal."""
        for end in self._ends:
            end()
        self._ends = []

    def shelve(self, edit: Callable[[Patch], object]) -> None:
        """Shelve an edit of the inner patch (see `Patch.shelve`), so that redo of the outer patch applies it."""
        trial = open_inner(self.outer, self.node)
        edit(trial)
        done = trial.history.last
        if done is not None:
            self.outer.shelve(lambda outer: self._set(f"{done.name} in {outer.title(self.node)}", None, trial.json()))

    def _set(self, name: str, gesture: object, graph: dict[str, Any]) -> None:
        with self.outer.edit(name, gesture=gesture):
            self.outer.set(self.node, **{GRAPH: graph})

    def _pass_on(self) -> None:
        """Store the inner patch, which a person has edited, in the node's parameter."""
        if self._is_following:
            return
        edit = self.patch.history.last
        what = f"{edit.name} in {self.outer.title(self.node)}" if edit is not None else f"Edit the {self.patch.kind}"
        gesture = None if edit is None or edit.gesture is None else (id(self), edit.gesture)
        graph = self.patch.json()
        self._is_passing_on = True
        try:
            self._set(what, gesture, graph)
        except BaseException:
            self._has_other_value = True
            self._follow()
            raise
        finally:
            self._is_passing_on = False

    def _hear(self, change: Change) -> None:
        match change:
            case ParameterChanged(self.node, parameter) if parameter == GRAPH:
                self._has_other_value = not self._is_passing_on
            case NodeRemoved(node) if node.id == self.node:
                self._is_lost = True

    def _follow(self) -> None:
        """Update the inner patch from the node's parameter."""
        if self.node not in self.outer.nodes:
            self._lose(f"{self.node} is no longer in the patch")
            return
        if not self._has_other_value and not self._is_lost:
            return
        self._has_other_value = self._is_lost = False
        try:
            other = open_inner(self.outer, self.node)
        except PatchError as problem:
            self._lose(str(problem))
            return
        self._is_following = True
        try:
            self.patch.restore(difference(self.patch, other))
            self.patch.arrange(other.nodes)
            self.patch.extra = other.extra
        finally:
            self._is_following = False

    def _lose(self, reason: str) -> None:
        self.close()
        self._when_lost(reason)
