"""What the examples share: a small game, observations made for a network, the command line."""

import argparse

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo.utils import BaseWrapper

from ginenv import observation

SMALL = {"num_ranks": 8, "hand_size": 7}
"""With all 52 cards random play ends one hand of fifty with a knock, and at first there is next to
nothing to learn from. With these it ends two of five, and a minute's run shows progress."""

_SCALE = np.ones(observation.SIZE, np.float32)
_SCALE[observation.LAYOUT["deadwood_after"].start :] = 1 / 16
_SPACE = spaces.Box(0, 16, _SCALE.shape, np.float32)


def scale(seen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same with floats: the last entries are numbers, up to 255, and would drown the bits."""
    return {**seen, "observation": seen["observation"] * _SCALE}


def scaled(env: gymnasium.Env) -> gymnasium.Env:
    """The Gymnasium environment with scaled observations; the masks beside them stay."""
    space = spaces.Dict({**env.observation_space.spaces, "observation": _SPACE})
    return gymnasium.wrappers.TransformObservation(env, scale, space)


class Scaled(BaseWrapper):
    """The same around the PettingZoo environment."""

    def observation_space(self, agent: str) -> spaces.Dict:
        """Of what is observed."""
        return spaces.Dict({**super().observation_space(agent).spaces, "observation": _SPACE})

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What the agent knows, scaled."""
        return scale(super().observe(agent))


def settings(description: str, steps: int | None = None) -> argparse.Namespace:
    """The command line: ``steps`` to learn for and ``hands`` to measure with."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    if steps is not None:
        parser.add_argument("--steps", type=int, default=steps, help="decisions to learn from")
    parser.add_argument("--hands", type=int, default=1_000, help="hands to measure with")
    return parser.parse_args()
