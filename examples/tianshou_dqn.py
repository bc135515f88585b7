"""Tianshou: deep Q-learning at one seat of the PettingZoo environment, random play at the other.

The buffer holds the moves of both players in turn, so that the next observation is often the
opponent's, and a target that reads a value there would be wrong. The horizon of the returns is
therefore longer than any hand: the targets are what the hands really paid.
"""

import numpy as np
import torch
from common import SMALL, measure, settings
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm as RandomPlay
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from ginenv import actions, gin_rummy_v0, observation


class _Env(PettingZooEnv):
    def step(self, action):
        return *super().step(action)[:-1], {}  # buffers take no info with a winner that is None


def main() -> None:
    """Measure, learn, measure again."""
    arguments = settings(__doc__, steps=40_000)
    np.random.seed(0)  # noqa: NPY002 - Tianshou explores by it
    torch.manual_seed(0)
    envs = DummyVectorEnv([lambda: _Env(gin_rummy_v0.env(**SMALL))] * 16)
    envs.seed(0)
    env = _Env(gin_rummy_v0.env(**SMALL))
    net = Net(state_shape=observation.SIZE, action_shape=actions.NUM_ACTIONS, hidden_sizes=[128])
    policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1)
    adam = AdamOptimizerFactory(lr=1e-3)
    players = [DQN(policy=policy, optim=adam, gamma=1.0, n_step_return_horizon=250)]
    players.append(RandomPlay(env.action_space))
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=players, env=env)
    collector = Collector(algorithm, envs, VectorReplayBuffer(20_000, 16), exploration_noise=True)

    def choose(seen):
        values = net(seen["observation"])[0].detach()
        return np.where(seen["action_mask"] == 1, values, -np.inf).argmax(-1)

    print("before:", measure(choose, arguments.hands))
    steps = {"max_epochs": 1, "epoch_num_steps": arguments.steps}
    updates = {"update_step_num_gradient_steps_per_sample": 0.05, "batch_size": 256}
    parameters = OffPolicyTrainerParams(training_collector=collector, **steps, **updates)
    algorithm.run_training(parameters)
    print("after: ", measure(choose, arguments.hands))


if __name__ == "__main__":
    main()
