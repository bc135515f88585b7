"""The chance to win a game from a score, by dynamic programming over what hands bring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def winning_chances(target: int, points: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """The chance of who has the first total against the second, float32 [target, target].

    ``points``: how often a won hand brought 0, 1, 2, ... points, [most + 1], in any measure. Each
    side wins the next hand with chance 1/2 (both play alike, and who deals is left out); hands
    without a winner change nothing. Totals a < b of a game to ``target``:
    V(a, b) = sum over p of share(p) (V(a + p, b) + V(a, b + p)) / 2, V = 1 or 0 at the target.
    """
    share = np.asarray(points, dtype=np.float64)
    # A win worth nothing leaves the totals as they are, like a dead hand.
    share = share[1:] / share[1:].sum()
    size = len(share)
    # Beyond the target everything is settled: rows won, columns lost.
    table = np.zeros((target + size, target + size))
    table[target:, :target] = 1.0
    for total in reversed(range(2 * target - 1)):
        own = np.arange(max(0, total - target + 1), min(total, target - 1) + 1)
        other = total - own
        ahead = np.arange(1, size + 1)
        gains = table[own[:, None] + ahead, other[:, None]] @ share
        losses = table[own[:, None], other[:, None] + ahead] @ share
        table[own, other] = (gains + losses) / 2
    return table[:target, :target].astype(np.float32)
