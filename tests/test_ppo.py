"""The learning algorithm, by the faults that such programs are known for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from agents.network import Actor, Critic, features, masked_log_probs
from agents.ppo import Trainer, advantages
from agents.ppo_config import NetworkConfig, PPOConfig
from ginenv import actions, cards, engine, observation

SMALL = NetworkConfig(width=16, layers=2)


def config(**fields: object) -> PPOConfig:
    settings = {
        "decisions": 4096, "lanes": 32, "steps": 32, "minibatch": 256, "epochs": 2,
        "actor": SMALL, "critic": SMALL, "precision": "float32",
    }  # fmt: skip
    return PPOConfig(**{**settings, **fields})


def test_advantages_by_hand_over_two_hands() -> None:
    """Seat 0 draws and discards, seat 1 draws and knocks for 1.5; then the next hand begins.

    Values are each from the mover's own view. With trace t, backwards from the knock:
    d3 = 1.5 - 0.5 = 1.0; the same seat before it: d2 = 0.5 - 0.2 = 0.3, A2 = 0.3 + t 1.0;
    seat 0 before that: d1 = -0.2 - (-0.1) = -0.1, A1 = -0.1 - t A2;
    its own draw: d0 = -0.1 - 0.3 = -0.4, A0 = -0.4 + t A1.
    The second hand is cut off after seat 1's draw: d4 = 0.7 - 0.4 = 0.3 by its own next value.
    """
    trace = 0.5
    rewards = torch.tensor([[0.0], [0.0], [0.0], [1.5], [0.0]])
    dones = torch.tensor([[False], [False], [False], [True], [False]])
    values = torch.tensor([[0.3], [-0.1], [0.2], [0.5], [0.4], [0.7]])
    movers = torch.tensor([[0], [0], [1], [1], [1], [1]])
    a3, a2 = 1.0, 0.3 + trace * 1.0
    a1 = -0.1 - trace * a2
    a0 = -0.4 + trace * a1
    found = advantages(rewards, dones, values, movers, trace).flatten()
    torch.testing.assert_close(found, torch.tensor([a0, a1, a2, a3, 0.3]))


def test_with_trace_one_the_return_is_the_hands_result_for_each_seat() -> None:
    rng = np.random.default_rng(0)
    movers = torch.from_numpy(rng.integers(0, 2, (21, 8)))
    values = torch.from_numpy(rng.normal(size=(21, 8)))
    rewards, dones = torch.zeros(20, 8).double(), torch.zeros(20, 8, dtype=torch.bool)
    dones[19], rewards[19] = True, 2.0
    returns = advantages(rewards, dones, values, movers, 1.0) + values[:-1]
    sign = torch.where(movers[:-1] == movers[19], 1.0, -1.0)
    torch.testing.assert_close(returns, 2.0 * sign.double())


def test_ratios_are_exactly_one_before_the_first_update() -> None:
    trainer = Trainer(config())
    rollout, _ = trainer.collect()
    for t in range(trainer.config.steps):
        fresh = masked_log_probs(trainer.actor(features(rollout.observations[t])), rollout.masks[t])
        assert torch.equal(fresh, rollout.log_probs[t])


def test_the_first_gradient_step_sees_ratio_one_and_no_divergence() -> None:
    trainer = Trainer(config(epochs=1, minibatch=1024))
    figures = trainer.iterate()
    assert figures["policy/ratio_error"] < 1e-5
    assert abs(figures["policy/kl_to_old"]) < 1e-6
    assert figures["policy/clip_fraction"] == 0


def test_the_first_policy_is_uniform_over_the_legal_actions() -> None:
    trainer = Trainer(config())
    rollout, _ = trainer.collect()
    count = rollout.masks.sum(2, keepdim=True)
    legal = rollout.masks == 1
    expected = (-count.float().log()).expand_as(rollout.log_probs)
    torch.testing.assert_close(rollout.log_probs[legal], expected[legal])


def test_only_legal_actions_are_chosen_and_entropy_is_finite() -> None:
    trainer = Trainer(config())
    for _ in range(2):
        figures = trainer.iterate()
        assert all(np.isfinite(value) for value in figures.values())
    rollout, _ = trainer.collect()
    assert (rollout.masks.gather(2, rollout.chosen.unsqueeze(2)) == 1).all()


def test_the_rewards_of_a_rollout_are_those_of_the_hands_played_again() -> None:
    trainer = Trainer(config(lanes=16, steps=300, minibatch=256))
    start = trainer.state.copy()
    rollout, counts = trainer.collect()
    assert counts.kinds.sum() == rollout.dones.sum() > 16
    for lane in range(16):
        one = start.take(np.array([lane]))
        for t in range(300):
            mover = int(one.mover[0])
            assert mover == rollout.movers[t, lane]
            engine.step(one, rollout.chosen[t, lane : lane + 1].numpy())
            assert bool(one.over[0]) == bool(rollout.dones[t, lane])
            if one.over[0]:
                gain = int(one.points[0]) * (1 if one.winner[0] == mover else -1)
                assert rollout.rewards[t, lane] == pytest.approx(gain / 20)
                break
            assert rollout.rewards[t, lane] == 0


def test_the_critics_extra_input_is_the_other_hand() -> None:
    trainer = Trainer(config())
    seen, hidden, _ = trainer._look()
    own = seen[:, observation.LAYOUT["hand"]]
    for lane in range(trainer.config.lanes):
        other = 1 - trainer.state.mover[lane]
        ids = cards.to_ids(trainer.state.hands[lane, other])
        assert hidden[lane].nonzero().flatten().tolist() == ids
        assert not (own[lane] & hidden[lane]).any()


def relabel(columns: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Whole planes of 52 with their suits in another order."""
    planes = columns.unflatten(1, (-1, 4, 13))
    return planes[:, :, list(order)].flatten(1)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[1::5])
def test_networks_answer_alike_under_every_renaming_of_suits(order: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    trainer = Trainer(config(lanes=64))
    trainer.iterate()
    actor, critic = Actor(SMALL), Critic(SMALL)
    for parameter in actor.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    seen, hidden, _ = trainer._look()
    renamed = seen.clone()
    bits = len(observation.BIT_PLANES) * 52
    after = observation.LAYOUT["deadwood_after"]
    renamed[:, :bits] = relabel(seen[:, :bits], order)
    renamed[:, after] = relabel(seen[:, after], order)
    expected = actor(features(seen))
    stock = actions.STOCK
    found = actor(features(renamed))
    torch.testing.assert_close(found[:, :stock], relabel(expected[:, :stock], order))
    torch.testing.assert_close(found[:, stock:], expected[:, stock:])
    value = critic(features(seen), hidden)
    again = critic(features(renamed), relabel(hidden, order))
    torch.testing.assert_close(again, value, atol=1e-5, rtol=1e-4)


def test_same_seed_same_weights_and_another_seed_others() -> None:
    first, second, third = (Trainer(config(seed=seed)) for seed in (1, 1, 2))
    for trainer in (first, second, third):
        trainer.iterate()
    weights = torch.nn.utils.parameters_to_vector
    assert torch.equal(weights(first.actor.parameters()), weights(second.actor.parameters()))
    assert not torch.equal(weights(first.actor.parameters()), weights(third.actor.parameters()))


def test_a_trainer_that_was_saved_goes_on_as_if_never_stopped() -> None:
    whole, half = Trainer(config()), Trainer(config())
    for _ in range(2):
        whole.iterate()
        half.iterate()
    again = Trainer(config())
    again.load_state_dict(half.state_dict())
    for _ in range(2):
        expected, found = whole.iterate(), again.iterate()
        assert expected == found
    for name, weights in whole.magnet.state_dict().items():
        assert torch.equal(weights, again.magnet.state_dict()[name])


def test_schedules_follow_the_decisions() -> None:
    trainer = Trainer(config(decisions=2048))
    assert (trainer.temperature, trainer.learning_rate) == (0.5, 3e-4)
    trainer.iterate()
    assert trainer.temperature == pytest.approx(0.2625)
    trainer.iterate()
    assert trainer.done
    assert trainer.temperature == pytest.approx(0.025)
    assert trainer.learning_rate == pytest.approx(0.05 * 3e-4)


def test_the_magnet_follows_slowly() -> None:
    trainer = Trainer(config(decisions=10_240, magnet_time=1.0))
    before = [p.clone() for p in trainer.magnet.parameters()]
    trainer.iterate()
    weight = 1 - np.exp(-0.1)
    for old, slow, fast in zip(
        before, trainer.magnet.parameters(), trainer.actor.parameters(), strict=True
    ):
        torch.testing.assert_close(slow, old + weight * (fast - old))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lanes": 0}, "lanes=0: must be greater than 0"),
        ({"trace": 1.5}, "trace=1.5: must be 0 to 1"),
        ({"minibatch": 5000}, "minibatch=5000: must be at most lanes x steps = 1024"),
        ({"rules": "clasic"}, "rules='clasic': there is no such preset; did you mean 'classic'"),
        ({"name": "a/b"}, "name='a/b': must be the name of a folder"),
        ({"rules": "cutthroat"}, "rules=cutthroat: hands are trained heads up"),
    ],
)
def test_wrong_settings_are_named(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"must|no such|heads up") as caught:
        config(**fields)
    assert str(caught.value).startswith(message)


@pytest.mark.slow
def test_it_learns_a_small_deck() -> None:
    """Far above random within a second or two of play; a wrong sign of the advantage fails it."""
    import agents
    from agents import arena
    from agents.policy import Policy

    rules = {"num_ranks": 5, "num_suits": 2, "hand_size": 3, "stock_floor": 0, "knock_limit": 3}
    settings = {"decisions": 150_000, "lanes": 256, "steps": 16, "minibatch": 1024}
    trainer = Trainer(
        config(rule_fields=rules, learning_rate=3e-3, temperature_start=0.2, **settings)
    )
    while not trainer.done:
        trainer.iterate()
    players = (Policy(trainer.magnet), agents.load("random", trainer.rules))
    pair = arena.compare(trainer.rules, ("learned", "random"), players, 500, seed=0)
    assert pair["points_per_hand"]["low"] > 4
