"""What a policy makes a hand against random play, on the vector environment."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from common import SMALL, scale

import ginenv  # noqa: F401 - registers the environments


def told(points: Sequence[float] | np.ndarray) -> str:
    """The mean of some hands' points in words, with a 95 % interval."""
    spread = 1.96 * np.std(points) / len(points) ** 0.5
    return f"{np.mean(points):+.1f} ± {spread:.1f} points a hand"


def measure(choose: Callable[[dict[str, np.ndarray]], Any], hands: int) -> str:
    """Play hands side by side, player 0 by ``choose``, player 1 at random; tell what they paid.

    ``choose`` gets the scaled observations and the masks of all of them and gives their actions.
    """
    envs = gymnasium.make_vec("ginenv/GinRummy-v0", hands, "vector_entry_point", **SMALL)
    seen, info = envs.reset(seed=1)
    points = np.full(hands, np.nan)
    while np.isnan(points).any():
        # All play on until the longest hand has ended. Only the first of each lane counts: to count
        # what ends until then would count short hands more often.
        chosen = np.where(info["mover"] == 0, choose(scale(seen)), envs.action_space.sample())
        seen, _, over, _, info = envs.step(chosen)
        if over.any():
            points = np.where(over & np.isnan(points), info["payoffs"][:, 0], points)
    return told(points)
