"""Stable-Baselines3: MaskablePPO of sb3-contrib learns to play hands against random play."""

import torch
from common import SMALL, settings, told
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.env_util import make_vec_env


def main() -> None:
    """Measure, learn, measure again."""
    arguments = settings(__doc__, steps=60_000)
    torch.set_num_threads(1)
    # Where it is told nothing, make_vec_env asks for a picture, which there is not. Leave SMALL out
    # for the whole deck.
    choices = {"rules": "classic", "opponent": "random", "render_mode": None, **SMALL}
    envs = make_vec_env("ginenv/GinRummy-v0", 8, 0, env_kwargs=choices)
    # It asks the environments for their action_masks() by itself.
    model = MaskablePPO(
        "MultiInputPolicy", envs, n_steps=256, batch_size=512, n_epochs=4, gamma=1.0, seed=0
    )
    points, _ = evaluate_policy(model, envs, arguments.hands, return_episode_rewards=True)
    print("before:", told(points))
    model.learn(arguments.steps)
    points, _ = evaluate_policy(model, envs, arguments.hands, return_episode_rewards=True)
    print("after: ", told(points))


if __name__ == "__main__":
    main()
