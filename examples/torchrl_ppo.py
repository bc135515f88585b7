"""TorchRL: PPO with a masked distribution learns to play hands against random play."""

import gymnasium
import torch
from common import SMALL, scaled, settings
from measuring import measure
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, SerialEnv, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from ginenv import actions, observation


def make() -> TransformedEnv:
    """The environment with the mask as the bools that TorchRL's distribution wants."""
    game = gymnasium.make("ginenv/GinRummy-v0", opponent="random", **SMALL)
    env = GymWrapper(scaled(game), categorical_action_encoding=True)
    return TransformedEnv(env, DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))


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
        seen = {name: torch.from_numpy(part) for name, part in seen.items()}
        return net(seen["observation"]).masked_fill(seen["action_mask"] == 0, -torch.inf).argmax(-1)

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
