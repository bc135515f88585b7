"""The chance to win a game from a score, by dynamic programming over what hands bring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def winning_chances(target: int, points: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """The chance of who has the first total against the second, float32 [target, target].

    ``points`` [2, most + 1]: how often hands brought 0, 1, 2, ... points to the first and to the
    second, in any measure. Who deals is left out; hands without a winner change nothing. Totals
    a, b < target, p and q the shares of hands that bring k points to the first and to the second:
    V(a, b) = sum over k of p(k) V(a + k, b) + q(k) V(a, b + k), V = 1 or 0 at the target.
    """
    # A win worth nothing leaves the totals as they are, like a dead hand.
    share = np.asarray(points, dtype=np.float64)[:, 1:]
    first, second = share / share.sum()
    size = len(first)
    # Beyond the target everything is settled: rows won, columns lost.
    table = np.zeros((target + size, target + size))
    table[target:, :target] = 1.0
    ahead = np.arange(1, size + 1)
    for total in reversed(range(2 * target - 1)):
        own = np.arange(max(0, total - target + 1), min(total, target - 1) + 1)
        other = total - own
        gains = table[own[:, None] + ahead, other[:, None]] @ first
        losses = table[own[:, None], other[:, None] + ahead] @ second
        table[own, other] = gains + losses
    return table[:target, :target].astype(np.float32)
