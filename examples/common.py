"""What the examples share: a small game, the command line, and a measurement."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np

import ginenv  # noqa: F401 - registers the environments

SMALL = {"num_ranks": 8, "hand_size": 7}
"""With all 52 cards random play ends one hand of fifty with a knock, and at first there is next to
nothing to learn from. With these it ends two of five, and a minute's run shows progress."""


def settings(description: str, steps: int | None = None) -> argparse.Namespace:
    """The command line: ``steps`` to learn for and ``hands`` to measure with."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    if steps is not None:
        parser.add_argument("--steps", type=int, default=steps, help="decisions to learn from")
    parser.add_argument("--hands", type=int, default=1_000, help="hands to measure with")
    return parser.parse_args()


def told(points: Sequence[float] | np.ndarray) -> str:
    """The mean of some hands' points in words, with a 95 % interval."""
    spread = 1.96 * np.std(points) / len(points) ** 0.5
    return f"{np.mean(points):+.1f} ± {spread:.1f} points a hand"


def measure(choose: Callable[[dict[str, np.ndarray]], Any], hands: int) -> str:
    """Play hands side by side, player 0 by ``choose``, player 1 at random; tell what they paid.

    ``choose`` gets the observations and masks of all of them and gives their actions.
    """
    envs = gymnasium.make_vec("ginenv/GinRummy-v0", hands, "vector_entry_point", **SMALL)
    seen, info = envs.reset(seed=1)
    points = np.full(hands, np.nan)
    while np.isnan(points).any():
        # All play on until the longest hand has ended. Only the first of each lane counts: to count
        # what ends until then would count short hands more often.
        chosen = np.where(info["mover"] == 0, choose(seen), envs.action_space.sample())
        seen, _, over, _, info = envs.step(chosen)
        if over.any():
            points = np.where(over & np.isnan(points), info["payoffs"][:, 0], points)
    return told(points)
