"""The learning algorithm, by the faults that such programs are known for."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents import other_hand, prospects
from agents.features import FULL, Features, features
from agents.network import Actor, Critic, masked_log_probs, mix
from agents.policy import save_policy
from agents.ppo import Trainer, advantages
from agents.ppo_config import NetworkConfig, PPOConfig
from ginenv import actions, cards, engine, observation
from ginenv.rules import preset

SMALL = NetworkConfig(width=16, layers=2)


def config(**fields: object) -> PPOConfig:
    settings = {
        "decisions": 4096, "lanes": 32, "steps": 32, "minibatch": 256, "epochs": 2,
        "actor": SMALL, "critic": SMALL, "precision": "float32", "episodes": ["hand"],
    }  # fmt: skip
    return PPOConfig(**{**settings, **fields})


def hands_of(trainer: Trainer) -> engine.State:
    """The hands on the lanes of a trainer with one kind of lanes."""
    (group,) = trainer.lanes.groups
    return group.play.hands


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
    trainer = Trainer(config(learning_rate=0.01))
    for _ in range(3):  # away from the uniform start, where nothing the actor reads matters
        trainer.iterate()
    rollout, _ = trainer.collect()
    assert rollout.log_probs.exp().max(dim=2).values.std() > 0.05
    for t in range(trainer.config.steps):
        seen = rollout.seen
        read = Features(seen.suits[:, t], seen.mean[t], seen.scalars[t])
        logits, _ = trainer.actor(read)
        fresh = masked_log_probs(logits, rollout.masks[t])
        assert torch.equal(fresh, rollout.log_probs[t])


def test_the_first_gradient_step_sees_ratio_one_and_no_divergence() -> None:
    trainer = Trainer(config(epochs=1, minibatch=1024, learning_rate=0.01))
    for _ in range(4):
        figures = trainer.iterate()
    assert figures["policy/ratio_error"] < 1e-5
    assert abs(figures["policy/kl_to_old"]) < 1e-6
    assert figures["policy/clip_fraction"] == 0


def test_the_loss_by_hand() -> None:
    """Two decisions between two actions; what each part of the loss is, worked out on paper.

    First: p = (.6, .4) now, (.4, .6) when it chose action 0, gain +1: ratio 1.5, clipped to 1.2.
    Second: the same probabilities, it chose action 1, gain -2: ratio 2/3, clipped to .8, so the
    worse of -2 x 2/3 and -2 x .8. Magnet (.5, .5): divergence .6 ln 1.2 + .4 ln .8. From the old
    policy: .6 ln 1.5 + .4 ln (2/3). Values 1 and 0 against returns 3 and 1: mean square 2.5.
    Guesses of even odds, whatever is held: ln 2.
    """
    trainer = Trainer(config(temperature_start=0.5, old_weight=0.1, value_weight=0.5, clip=0.2))
    now = torch.tensor([[0.6, 0.4], [0.6, 0.4]]).log()
    batch = {
        "chosen": torch.tensor([0, 1]),
        "own": torch.ones(2),
        "old": torch.tensor([[0.4, 0.6], [0.4, 0.6]]).log(),
        "gains": torch.tensor([1.0, -2.0]),
        "magnet": torch.full((2, 2), 0.5).log(),
        "returns": torch.tensor([3.0, 1.0]),
        "hidden": torch.tensor([[0, 1], [1, 1]], dtype=torch.uint8),
    }
    loss, parts = trainer.losses(now, torch.tensor([1.0, 0.0]), torch.zeros(2, 2), batch)
    figures = {name: float(part) for name, part in parts.items()}
    policy = -(1.2 + -1.6) / 2
    to_magnet = 0.6 * np.log(1.2) + 0.4 * np.log(0.8)
    to_old = 0.6 * np.log(1.5) + 0.4 * np.log(2 / 3)
    assert figures["loss/policy"] == pytest.approx(policy)
    assert figures["policy/kl_to_magnet"] == pytest.approx(to_magnet, rel=1e-5)
    assert figures["policy/kl_to_old"] == pytest.approx(to_old, rel=1e-5)
    assert figures["loss/value"] == pytest.approx(2.5)
    assert figures["policy/clip_fraction"] == 1
    assert figures["policy/ratio_error"] == pytest.approx(0.5)
    assert figures["policy/entropy"] == pytest.approx(-0.6 * np.log(0.6) - 0.4 * np.log(0.4))
    assert figures["loss/guess"] == pytest.approx(np.log(2))
    expected = policy + 0.5 * to_magnet + 0.1 * to_old + 0.5 * 2.5 + 0.1 * np.log(2)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_the_losss_gradient_is_that_of_the_formula() -> None:
    """Over the logits, some of them masked: what pulls is worked out by hand in ``losses``."""
    trainer = Trainer(config(temperature_start=0.4, old_weight=0.3))
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    masks = (torch.rand((64, 108), generator=generator) < 0.2).to(torch.uint8)
    masks[:, 0] = 1
    batch = {
        "chosen": masks.argmax(1),
        "gains": normal(64),
        "returns": normal(64),
        "hidden": (normal(64, 52) > 0).to(torch.uint8),
        "own": torch.ones(64),
        "old": masked_log_probs(normal(64, 108), masks),
        "magnet": masked_log_probs(normal(64, 108), masks),
    }
    logits, values, guess = normal(64, 108).requires_grad_(), normal(64), normal(64, 52)
    loss, figures = trainer.losses(masked_log_probs(logits, masks), values, guess, batch)
    (found,) = torch.autograd.grad(loss, logits)

    now = masked_log_probs(logits, masks)
    chosen = batch["chosen"].unsqueeze(1)
    ratio = (now - batch["old"]).gather(1, chosen).squeeze(1).exp()
    worse = torch.minimum(ratio * batch["gains"], ratio.clamp(0.8, 1.2) * batch["gains"])
    apart = [(now.exp() * (now - batch[name])).sum(1).mean() for name in ("magnet", "old")]
    (expected,) = torch.autograd.grad(-worse.mean() + 0.4 * apart[0] + 0.3 * apart[1], logits)
    torch.testing.assert_close(found, expected)
    assert float(figures["policy/kl_to_magnet"]) == pytest.approx(apart[0].item(), rel=1e-5)
    assert (found[masks == 0] == 0).all()


def test_gradients_of_each_network_are_scaled_down() -> None:
    trainer = Trainer(config(max_gradient=1e-3, epochs=1, minibatch=1024))
    rollout, _ = trainer.collect()
    trainer.update(rollout)
    for network in (trainer.actor, trainer.critic):
        squares = sum(float(p.grad.square().sum()) for p in network.parameters())
        assert squares**0.5 <= 1.001e-3


def test_training_decks_are_not_those_of_an_evaluation_with_the_same_seed() -> None:
    trainer = Trainer(config(seed=7))
    decks = np.random.default_rng(np.random.SeedSequence(7).spawn(2)[0])
    evaluated = {deck.tobytes() for deck in engine.shuffle(trainer.rules[0], decks, 2000)}
    trained = {deck.tobytes() for deck in hands_of(trainer).deck}
    assert not trained & evaluated


def test_hands_are_dealt_by_whom_the_rules_name() -> None:
    assert (hands_of(Trainer(config(rules=["cardcouch"]))).dealer == 1).all()
    assert set(hands_of(Trainer(config())).dealer.tolist()) == {0, 1}


def test_a_policy_samples_its_probabilities_and_drops_the_rare_ones() -> None:
    from agents.policy import Policy

    class Fixed(torch.nn.Module):
        """The same preference everywhere: 0 : 0.004, 1 : 0.3, 2 : 0.696 among the legal."""

        deck = FULL

        def forward(self, seen: Features) -> tuple[torch.Tensor, torch.Tensor]:
            logits = torch.full((len(seen.scalars), 108), -20.0)
            logits[:, 104:107] = torch.tensor([0.004, 0.3, 0.696]).log()
            return logits, torch.zeros(len(logits), 52)

    lanes = 20_000
    rules = Trainer(config()).rules[0]
    decks = engine.shuffle(rules, np.random.default_rng(0), 1).repeat(lanes, axis=0)
    state = engine.deal(rules, decks, np.zeros(lanes, dtype=int))
    view = observation.view(state)
    everything = np.full(lanes, 7, dtype=np.uint8)  # stock, take and pass, as if all were legal
    none = np.zeros(lanes, dtype=np.uint64)
    legal = actions.Legal(none, none, everything)
    policy = Policy(Fixed())  # type: ignore[arg-type]
    chosen = policy.act(view, legal, np.random.default_rng(1))
    counts = np.bincount(chosen, minlength=108) / lanes
    assert counts[104] == 0
    assert counts[105] == pytest.approx(0.3 / 0.996, abs=0.01)
    assert counts[106] == pytest.approx(0.696 / 0.996, abs=0.01)


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
    start = hands_of(trainer).copy()
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
    seen, hidden, _, _ = trainer.lanes.look()
    hands = hands_of(trainer)
    own = seen[:, observation.LAYOUT["hand"]]
    for lane in range(trainer.config.lanes):
        other = 1 - hands.mover[lane]
        ids = cards.to_ids(hands.hands[lane, other])
        assert hidden[lane].nonzero()[0].tolist() == ids
        assert not (own[lane] & hidden[lane]).any()


def relabel(columns: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Whole planes of 52 with their suits in another order."""
    planes = columns.unflatten(1, (-1, 4, 13))
    return planes[:, :, list(order)].flatten(1)


def plain_mix(x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
    """What ``mix`` computes, from torch's own operations alone."""
    _, common, within, across = rest
    return torch.relu(x @ within.t() + x.mean(0) @ across.t() + common)


@pytest.mark.parametrize("wanted", [True, False], ids=["inside", "first layer"])
def test_the_layers_gradient_by_hand_is_that_of_the_plain_layer(wanted: bool) -> None:
    """Also where nothing asks for the input's gradient."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((4, 5, 7), (5, 3), (3, 7), (3, 7))
    x, *rest = (torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes)
    upstream = torch.randn((4, 5, 3), generator=generator, dtype=torch.float64)
    found = []
    for layer in (mix, plain_mix):
        inputs = [
            x.clone().requires_grad_(wanted),
            *(each.clone().requires_grad_() for each in rest),
        ]
        out = layer(inputs[0], inputs[0].detach().mean(0), *inputs[1:])
        (out * upstream).sum().backward()
        found.append([out.detach(), *(each.grad for each in inputs if each.requires_grad)])
    for by_hand, plain in zip(*found, strict=True):
        torch.testing.assert_close(by_hand, plain)


def test_gradients_in_bfloat16_are_those_in_float32_but_for_rounding() -> None:
    """Of every weight: torch's own sum of a norm's weights in bfloat16 loses most of it."""
    trainer = Trainer(config(lanes=512))
    seen, hidden = map(torch.from_numpy, trainer.lanes.look()[:2])
    generator = torch.Generator().manual_seed(0)
    networks = torch.nn.ModuleList([trainer.actor, trainer.critic])
    for weight in networks.parameters():
        torch.nn.init.normal_(weight, mean=0.2 * (weight.dim() == 1), std=0.2, generator=generator)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        networks.zero_grad()
        read = features(seen, dtype)
        logits, guess = trainer.actor(read)
        value = trainer.critic(read, hidden)
        (logits.square().mean() + guess.square().mean() + value.square().mean()).backward()
        found.append({name: weight.grad.clone() for name, weight in networks.named_parameters()})
    exact, rounded = found
    for name, gradient in exact.items():
        assert (rounded[name] - gradient).norm() < 0.03 * gradient.norm(), name


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[1::5])
@pytest.mark.parametrize("belief", [None, SMALL])
def test_networks_answer_alike_under_every_renaming_of_suits(
    order: tuple[int, ...], belief: NetworkConfig | None
) -> None:
    torch.manual_seed(0)
    trainer = Trainer(config(lanes=64))
    trainer.iterate()
    actor, critic = Actor(SMALL, belief=belief), Critic(SMALL)
    for parameter in actor.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    seen, hidden = map(torch.from_numpy, trainer.lanes.look()[:2])
    renamed = seen.clone()
    bits = len(observation.BIT_PLANES) * 52
    renamed[:, :bits] = relabel(seen[:, :bits], order)
    for name in ("deadwood_after", *prospects.PLANES):
        place = prospects.LAYOUT[name]
        renamed[:, place] = relabel(seen[:, place], order)
    expected, believed = actor(features(seen))
    stock = actions.STOCK
    found, again = actor(features(renamed))
    limits = len(other_hand.LIMITS) if belief else 0
    by_card, single = believed.tensor_split([believed.shape[1] - limits], dim=1)
    torch.testing.assert_close(again, torch.cat([relabel(by_card, order), single], dim=1))
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


@pytest.mark.parametrize("done", [1, 2, 3])
def test_a_trainer_that_was_saved_goes_on_as_if_never_stopped(done: int) -> None:
    """In lessons, then playing actions out, then PPO: a phase an iteration, with all that is kept
    between them."""
    settings: dict[str, Any] = {
        "decisions": 4096, "teacher": "simple", "teacher_decisions": 1024,
        "playout_decisions": 1024, "playout_depth": 2, "random_scores": 0.5,
        "opponents": ["simple", "expert_k5"], "belief": NetworkConfig(width=8, layers=1),
    }  # fmt: skip
    whole, half = Trainer(config(**settings)), Trainer(config(**settings))
    for _ in range(done):
        whole.iterate()
        half.iterate()
    again = Trainer(config(**settings))
    again.load_state_dict(half.state_dict())
    for _ in range(4 - done):
        expected, found = whole.iterate(), again.iterate()
        assert expected == found
    assert whole.done
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


def test_after_the_lessons_schedules_run_over_the_rest() -> None:
    told = config(
        teacher="simple", teacher_decisions=1000, teacher_rate=0.01, playout_decisions=500,
        learning_rate=1e-3, temperature_start=0.5, temperature_end=0.1, decisions=3000,
    )  # fmt: skip
    assert [told.taught_at(n) for n in (0, 999, 1000)] == [True, True, False]
    assert [told.played_out_at(n) for n in (999, 1000, 1499, 1500)] == [False, True, True, False]
    assert told.learning_rate_at(500) == pytest.approx(0.01 * 0.525)
    assert told.learning_rate_at(1000) == pytest.approx(1e-3)
    assert told.learning_rate_at(2000) == pytest.approx(1e-3 * 0.525)
    assert told.temperature_at(1000) == pytest.approx(0.5)
    assert told.temperature_at(2000) == pytest.approx(0.3)
    assert config(playout_decisions=500).played_out_at(499)
    assert not config(playout_decisions=500).played_out_at(500)
    to_the_end = config(playout_decisions=None, teacher="simple", teacher_decisions=1000)
    assert [to_the_end.played_out_at(n) for n in (999, 1000, 4095)] == [False, True, True]
    with pytest.raises(ValueError, match="playout_decisions=-1"):
        config(playout_decisions=-1)
    with pytest.raises(ValueError, match="playout_depth=-1"):
        config(playout_depth=-1)


def test_a_run_may_begin_with_a_policys_weights(tmp_path: Path) -> None:
    first = Trainer(config(seed=5))
    header = {"rules": [preset("classic").to_dict()], "decisions": 0}
    header["episodes"] = ["hand", "game"]
    path = tmp_path / "start.safetensors"
    for scale, same in ((5.0, False), (20.0, True)):  # the first critic counts in other units
        save_policy(path, first.actor, header, (first.critic, scale))
        second = Trainer(config(start=str(path)))
        weights = torch.nn.utils.parameters_to_vector
        for network in ("actor", "magnet"):
            found = weights(getattr(second, network).parameters())
            assert torch.equal(found, weights(first.actor.parameters()))
        critics = [weights(each.critic.parameters()) for each in (first, second)]
        assert torch.equal(*critics) == same
    # A critic of another size is left alone, whole.
    large = NetworkConfig(width=24, layers=2)
    other, plain = (
        Trainer(config(critic=large, start=start)).critic.state_dict()
        for start in (str(path), None)
    )
    assert all(torch.equal(other[name], plain[name]) for name in plain)
    # But where it is asked from the first decision on it has to have learnt.
    judging: dict[str, Any] = {"start": str(path), "playout_decisions": 64, "playout_depth": 4}
    Trainer(config(**judging))
    Trainer(config(critic=large, teacher="simple", **judging))
    for fault, more in (("critic=", {"critic": large}), ("reward_scale=7", {"reward_scale": 7})):
        with pytest.raises(ValueError, match=f"has no critic .*{fault}"):
            Trainer(config(**judging, **more))
    save_policy(path, first.actor, header | {"episodes": ["game"]}, (first.critic, 20.0))
    Trainer(config(**judging, episodes=["game"]))
    with pytest.raises(ValueError, match=r"has no critic .*for episodes=\['hand'\]"):
        Trainer(config(**judging, episodes=["hand"]))
    for start, fault in (
        ("simple", "start=simple: must be a trained policy"),
        ("best", "start=best: its networks must be of the sizes"),
        ("no.safetensors", "there is no such policy file"),
    ):
        with pytest.raises(ValueError, match=fault):
            Trainer(config(start=start))


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
        ({"random_scores": -0.5}, "random_scores=-0.5: must be 0 to 1"),
        ({"clip": -1.0}, "clip=-1.0: must be greater than 0"),
        ({"minibatch": 5000}, "minibatch=5000: must be at most lanes x steps = 1024"),
        ({"rules": ["clasic"]}, "rules='clasic': there is no such preset; did you mean 'classic'"),
        ({"ranks": 3}, "lanes=32: must be a multiple of ranks=3"),
        ({"rules": ["hollywood"], "episodes": ["game"]}, "rules=hollywood: games are trained on"),
        ({"episodes": []}, "lanes=32: must be at least one for each"),
        ({"name": "a/b"}, "name='a/b': must be the name of a folder"),
        ({"rules": ["cutthroat"]}, "rules=cutthroat: hands are trained heads up"),
    ],
)
def test_wrong_settings_are_named(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"must|no such|heads up|trained") as caught:
        config(**fields)
    assert str(caught.value).startswith(message)


@pytest.mark.slow
def test_it_learns_a_small_deck() -> None:
    """Far above random within a second or two of play; a wrong sign of the advantage fails it."""
    import agents
    from agents import arena
    from agents.policy import Policy

    small = {"num_ranks": 5, "num_suits": 2, "hand_size": 3, "stock_floor": 0, "knock_limit": 3}
    settings = {"decisions": 150_000, "lanes": 256, "steps": 16, "minibatch": 1024}
    trainer = Trainer(
        config(rule_fields=small, learning_rate=3e-3, temperature_start=0.2, **settings)
    )
    while not trainer.done:
        trainer.iterate()
    rules = trainer.rules[0]
    players = (Policy(trainer.magnet), agents.load("random", rules))
    pair = arena.compare(rules, ("learned", "random"), players, 500, seed=0)
    # With its eyes shut it reaches 8, as it is 20, and `simple` 19.
    assert pair["points_per_hand"]["low"] > 14


def test_what_opponents_choose_is_not_learnt_from() -> None:
    """The policy's gradient is the same whatever stands where an opponent has moved."""
    trainer = Trainer(config(opponents=["simple"], opponent_share=0.5))
    rollout, _ = trainer.collect()
    assert 0.6 < rollout.own.float().mean() < 0.9
    batch = rollout.decisions()
    rows = torch.arange(len(batch["chosen"]))
    batch |= {"gains": torch.randn(len(rows)), "returns": torch.zeros(len(rows))}
    batch["magnet"] = batch["old"] + 0.3 * torch.randn(batch["old"].shape)
    own = batch["own"]
    batch["own"] = trainer._shares(own)
    assert batch["own"].mean() == pytest.approx(1)

    def gradient() -> torch.Tensor:
        log_probs = batch["old"].clone().requires_grad_()
        values, guess = torch.zeros(len(rows)), torch.zeros(len(rows), 52)
        trainer.losses(log_probs, values, guess, batch)[0].backward()
        assert log_probs.grad is not None
        return log_probs.grad

    before = gradient()
    assert (before[~own] == 0).all()
    assert before[own].abs().sum() > 0
    batch["gains"] = torch.where(own, batch["gains"], 1e3)
    torch.testing.assert_close(gradient(), before)


def test_a_teachers_choices_become_likelier() -> None:
    """And nothing else moves the policy while it is taught; the average is the policy itself."""
    trainer = Trainer(
        config(teacher="simple", teacher_decisions=30_000, decisions=60_000, learning_rate=3e-3)
    )
    likely = []
    while trainer.taught:
        rollout, _ = trainer.collect()
        assert not rollout.own.any()
        likely.append(rollout.log_probs.gather(2, rollout.chosen.unsqueeze(2)).mean().item())
        trainer.iterate()
    assert likely[-1] > likely[0] + 0.5
    for slow, fast in zip(trainer.magnet.parameters(), trainer.actor.parameters(), strict=True):
        assert slow.equal(fast)
    assert trainer.collect()[0].own.all()
