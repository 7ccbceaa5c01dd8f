"""The seed's example: its instructions, and its losses compared with numpy and torch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tensor_runtime.training.networks import positions, seeds_example
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW


class TestTheSeedsExample:
    def test_instructions(self, device: Device) -> None:
        """The first words of the instructions are those of the seed's description."""
        with seeds_example().build(device) as graph:
            assert [line.split()[0] for line in graph.function_code("forward").splitlines()] == [
                "MaybeUpdateBatchSize",
                "SparseAffineActivate",
                "MaybeUpdateBatchSize",
                "Matmul",
                "LinearCombinationSplat",
                "MaybeUpdateBatchSize",
                "Unary",
                "MaybeUpdateBatchSize",
                "AbsPowerError",
                "ReduceAcrossBatch",
            ]

    def test_losses_are_those_of_numpy(self, device: Device) -> None:
        """Losses over steps of SGD equal numpy's, which uses dense one-hot sums."""
        with seeds_example().build(device, SGD(0.01)) as graph:
            w = {name: value.astype(np.float64) for name, value in graph.weights.items()}
            for number in range(6):
                given = positions(40 + number, number)
                dense = np.zeros((len(given["inputs"]), 769))
                np.put_along_axis(dense, given["inputs"].astype(int), 1.0, axis=1)
                x, t = dense[:, :768], given["targets"].reshape(-1, 1)
                before = x @ w["l0w"].T + w["l0b"].T
                hidden = np.maximum(before, 0)
                out = 1 / (1 + np.exp(-(hidden @ w["l1w"].T + w["l1b"].T)))
                graph.step(given)
                np.testing.assert_allclose(graph.loss, ((out - t) ** 2).sum(), rtol=1e-5)
                last = 2 * (out - t) * out * (1 - out)
                first = (last @ w["l1w"]) * (before > 0)
                w["l1w"] -= 0.01 * last.T @ hidden
                w["l1b"] -= 0.01 * last.sum(axis=0)[:, np.newaxis]
                w["l0w"] -= 0.01 * first.T @ x
                w["l0b"] -= 0.01 * first.sum(axis=0)[:, np.newaxis]
            for name, value in graph.weights.items():
                np.testing.assert_allclose(value, w[name], rtol=1e-4, atol=1e-5)

    def test_losses_are_those_of_torch(self, device: Device) -> None:
        """Losses over steps of AdamW equal torch's."""
        torch = pytest.importorskip("torch")
        with seeds_example().build(device, AdamW(0.01)) as graph:
            w = {name: torch.tensor(value, requires_grad=True) for name, value in graph.weights.items()}
            theirs = torch.optim.AdamW(w.values(), lr=0.01, weight_decay=0.01)
            for number in range(10):
                given = positions(64, number)
                dense = torch.zeros(64, 769).scatter_(
                    1, torch.tensor(np.where(given["inputs"] < 0, 768, given["inputs"])).long(), 1.0
                )[:, :768]
                hidden = torch.relu(dense @ w["l0w"].T + w["l0b"].T)
                out = torch.sigmoid(hidden @ w["l1w"].T + w["l1b"].T)
                loss = ((out - torch.tensor(given["targets"].reshape(-1, 1), dtype=torch.float32)) ** 2).sum()
                theirs.zero_grad()
                loss.backward()
                theirs.step()
                graph.step(given)
                np.testing.assert_allclose(graph.loss, loss.item(), rtol=2e-4)
