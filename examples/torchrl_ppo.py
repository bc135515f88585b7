"""TorchRL: PPO with a masked distribution learns to play hands against random play."""

import gymnasium
import torch
from common import SMALL, measure, settings
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, SerialEnv, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from ginenv import actions, observation


def make() -> TransformedEnv:
    """The environment with the types that networks and masked distributions want."""
    game = gymnasium.make("ginenv/GinRummy-v0", opponent="random", **SMALL)
    env = TransformedEnv(GymWrapper(game, categorical_action_encoding=True))
    env.append_transform(DTypeCastTransform(torch.uint8, torch.float, in_keys=["observation"]))
    env.append_transform(DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))
    return env


def main() -> None:
    """Measure, learn, measure again."""
    arguments = settings(__doc__, steps=61_440)
    torch.manual_seed(0)
    net = MLP(observation.SIZE, actions.NUM_ACTIONS, num_cells=[64, 64])
    actor = ProbabilisticActor(
        TensorDictModule(net, ["observation"], ["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(MLP(observation.SIZE, 1, num_cells=[64, 64]), ["observation"])
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=True)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0)
    adam = torch.optim.Adam(loss.parameters(), 5e-4)
    envs = SerialEnv(8, make)
    envs.set_seed(0)

    def choose(seen):
        logits = net(torch.from_numpy(seen["observation"]).float())
        return logits.masked_fill(torch.from_numpy(seen["action_mask"]) == 0, -torch.inf).argmax(-1)

    print("before:", measure(choose, arguments.hands))
    for batch in Collector(envs, actor, frames_per_batch=2_048, total_frames=arguments.steps):
        decisions = advantages(batch).detach().reshape(-1)
        for _ in range(8):
            losses = loss(decisions)
            adam.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"]).backward()
            adam.step()
    print("after: ", measure(choose, arguments.hands))


if __name__ == "__main__":
    main()
