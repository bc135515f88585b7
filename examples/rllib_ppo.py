"""RLlib: PPO learns from both seats of the PettingZoo environment, one masked module at both."""

import torch
from common import SMALL, measure, settings
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module import MultiRLModuleSpec, RLModuleSpec
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env
from torch.nn import Linear, ReLU, Sequential

from ginenv import actions, gin_rummy_v0, observation

BATCH = 4_096


class _Masked(TorchRLModule, ValueFunctionAPI):
    def setup(self):
        self.trunk = Sequential(Linear(observation.SIZE, 128), ReLU(), Linear(128, 64), ReLU())
        self.policy, self.value = Linear(64, actions.NUM_ACTIONS), Linear(64, 1)

    def _forward(self, batch, **_):
        logits = self.policy(self.trunk(batch["obs"]["observation"].float()))
        illegal = batch["obs"]["action_mask"] == 0
        return {"action_dist_inputs": logits.masked_fill(illegal, -1e9)}

    def compute_values(self, batch, embeddings=None):
        return self.value(self.trunk(batch["obs"]["observation"].float())).squeeze(-1)


def main() -> None:
    """Measure, learn, measure again."""
    arguments = settings(__doc__, steps=12 * BATCH)
    register_env("gin_rummy", lambda _: PettingZooEnv(gin_rummy_v0.env(**SMALL)))
    spec = MultiRLModuleSpec(rl_module_specs={"both": RLModuleSpec(module_class=_Masked)})
    config = PPOConfig().debugging(seed=0).rl_module(rl_module_spec=spec)
    config.environment("gin_rummy", disable_env_checking=True)  # the check plays illegal actions
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=8)
    config.multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
    config.training(train_batch_size_per_learner=BATCH, minibatch_size=512, num_epochs=4, lr=3e-4)
    config.training(gamma=1.0, lambda_=0.95, vf_loss_coeff=0.01, vf_clip_param=1e9)
    algorithm = config.build_algo()

    def choose(seen):
        batch = {"obs": {name: torch.from_numpy(part) for name, part in seen.items()}}
        module = algorithm.get_module("both")
        return module.forward_inference(batch)["action_dist_inputs"].argmax(-1)

    print("before:", measure(choose, arguments.hands))
    for _ in range(0, arguments.steps, BATCH):
        algorithm.train()
    print("after: ", measure(choose, arguments.hands))


if __name__ == "__main__":
    main()
