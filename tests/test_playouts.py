"""Actions played out: which are tried, what they bring, and that a policy learns from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_small_games import BONUSES, TINY

import agents
from agents import playouts, small, tree
from agents.hand_counts import HandCounts
from agents.policy import Policy
from agents.ppo import Trainer
from agents.ppo_config import NetworkConfig, PPOConfig
from agents.selfplay import SelfPlay
from ginenv import actions, engine, melds, observation, play
from ginenv.observation import View
from ginenv.rules import preset

RULES = preset("classic")


def test_likely_actions_are_tried_where_there_are_several() -> None:
    likely = np.zeros((4, 108), np.float32)
    likely[0, [3, 60]] = 0.6, 0.4
    likely[1, 105] = 1
    likely[2, [1, 2, 3, 4, 5]] = 0.4, 0.3, 0.2, 0.05, 0.05
    likely[3, [104, 105]] = 0.995, 0.005  # too rare
    rows, tried = playouts.candidates(likely)
    assert rows.tolist() == [0, 0, 2, 2, 2]
    assert sorted(tried[:2].tolist()) == [3, 60]
    assert sorted(tried[2:].tolist()) == [1, 2, 3]


def lanes(episode: str, opponent: str | None, steps: int) -> SelfPlay:
    """Lanes some steps on, played by `adaptive`, so that all phases occur."""
    others = [agents.load(opponent, RULES)] if opponent else []
    found = SelfPlay([RULES], [episode], 24, np.random.default_rng(0), others, 1.0 if others else 0)
    adaptive = agents.load("adaptive", RULES)
    for _ in range(steps):
        found.step(found.ask(adaptive), 20.0, 0.2, HandCounts())
    return found


def legal_alike(found: SelfPlay) -> np.ndarray:
    masks = found.look().masks
    return (masks / masks.sum(axis=1, keepdims=True)).astype(np.float32)


def judge(view: View, hidden: np.ndarray) -> np.ndarray:
    """Less deadwood is worth a tenth a point, to be on move a quarter."""
    own, other = melds.deadwood(view.hand), melds.deadwood(hidden)
    return (other.astype(float) - own) / 10 + 0.25


def chance_before(group: Any, lane: int, mover: int) -> float:
    totals = group.play.match.totals[lane, 0]
    return float(group.table[totals[mover], totals[1 - mover]])


@pytest.mark.parametrize("opponent", [None, "expert"])
@pytest.mark.parametrize("episode", ["hand", "game"])
@pytest.mark.parametrize(("steps", "depth"), [(0, 0), (9, 0), (60, 0), (9, 3), (60, 2)])
def test_an_action_is_worth_what_the_hand_then_brings(
    episode: str, opponent: str | None, steps: int, depth: int
) -> None:
    """Beside each hand played on its own, a decision at a time, from a copy of its state; to its
    end, or with ``depth`` so many decisions far, where something is asked what it is worth."""
    found, adaptive = lanes(episode, opponent, steps), agents.load("adaptive", RULES)
    group = found.groups[-1]
    before = group.play.hands.copy()
    likely = legal_alike(found)
    found.try_actions(likely)
    then = playouts.Continuation(adaptive, depth, judge)
    (table,) = found.advantages(then, 20.0, 0.2)
    for name in ("hands", "phase", "stock_next"):
        assert (getattr(group.play.hands, name) == getattr(before, name)).all()
    checked, cut_off, generator = 0, 0, np.random.default_rng(1)
    for lane in range(24):
        mover = int(before.mover[lane])
        if opponent and mover == lane % 2:
            assert not table[lane].any()
            continue
        tried = table[lane].nonzero()[0]
        worth = {}
        for action in tried.tolist():
            hand = before.take(np.array([lane]))
            engine.step(hand, np.array([action]))
            played = 0
            while not hand.over[0] and (not depth or played < depth):
                played += 1
                his = opponent is not None and int(hand.mover[0]) != mover
                agent = group.opponent if his and group.opponent else adaptive
                game = play.standing(group.play, hand.mover, np.array([lane]))
                view = observation.view(hand, game=game)
                engine.step(hand, agent.act(view, engine.legal(hand), generator))
            winner, points = int(hand.winner[0]), int(hand.points[0])
            if not hand.over[0]:
                now = int(hand.mover[0])
                mine, theirs = hand.hands[0, mover], hand.hands[0, 1 - mover]
                own, other = (int(melds.deadwood(np.array([x]))[0]) for x in (mine, theirs))
                worth[action] = (other - own) / 10 + (0.25 if now == mover else -0.25)
                cut_off += 1
                if episode == "game":
                    worth[action] += chance_before(group, lane, mover) / 0.2
                continue
            if episode == "hand":
                worth[action] = (points if winner == mover else -points) / 20
            else:
                totals = group.play.match.totals[lane, 0].copy()
                if winner >= 0:
                    totals[winner] += points
                own, other = totals[mover], totals[1 - mover]
                chance = float(own >= 100)
                if max(own, other) < 100:
                    chance = group.table[totals[mover], totals[1 - mover]]
                worth[action] = chance / 0.2
        if not worth:
            continue
        # All were equally likely, so what is gained over the mean sums to 0.
        gains = {action: float(table[lane, action]) for action in worth}
        assert sum(gains.values()) == pytest.approx(0, abs=1e-4)
        first = next(iter(worth))
        for action, value in worth.items():
            assert gains[action] - gains[first] == pytest.approx(value - worth[first], abs=1e-4)
            checked += 1
    assert checked > (10 if steps else 0)
    assert (cut_off > 10) == (depth > 0)


def test_the_likelier_weighs_more_in_the_mean() -> None:
    hands = play.start(RULES, "hand", engine.shuffle(RULES, np.random.default_rng(0), 1)[:, None],
                       np.array([0]))  # fmt: skip
    likely = np.zeros((1, 108), np.float32)
    likely[0, [actions.TAKE, actions.PASS]] = 0.25, 0.75
    rows, tried = playouts.candidates(likely)
    tries = playouts.Tries(likely, rows, tried, hands.hands.take(rows), hands.match.take(rows))
    worth = np.where(tried == actions.TAKE, 2.0, 1.0)
    table = tries.advantages(worth)
    assert table[0, actions.TAKE] == pytest.approx(0.75)
    assert table[0, actions.PASS] == pytest.approx(-0.25)
    assert table.any(axis=0).sum() == 2


def test_the_critic_judges_what_is_cut_off() -> None:
    """With a critic of twice the values actions differ by twice as much: no hand ends in between,
    as nobody can knock so early."""
    network = NetworkConfig(width=8, layers=1)
    trainer = Trainer(
        PPOConfig(
            decisions=512, lanes=32, steps=1, minibatch=32, actor=network, critic=network,
            playout_decisions=512, playout_depth=1, rule_fields={"knock_limit": 0},
        )
    )  # fmt: skip
    torch.nn.init.normal_(trainer.critic.body.single_head.weight, generator=trainer.generator)
    state, generator = trainer.lanes.state_dict(), trainer.generator.get_state()
    once = trainer.collect()[0].tried
    trainer.lanes.load_state_dict(state)
    trainer.generator.set_state(generator)
    with torch.no_grad():
        trainer.critic.body.single_head.weight *= 2
        trainer.critic.body.single_head.bias *= 2
    twice = trainer.collect()[0].tried
    assert once.any()
    assert torch.allclose(2 * once, twice, atol=1e-5)


def test_where_nothing_is_tried_nothing_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    network = NetworkConfig(width=8, layers=1)
    trainer = Trainer(
        PPOConfig(
            decisions=512,
            lanes=32,
            steps=8,
            minibatch=64,
            actor=network,
            critic=network,
            episodes=["hand"],
            playout_decisions=512,
        )
    )
    monkeypatch.setattr(playouts, "RARE", 2.0)
    before = [weight.clone() for weight in trainer.weights]
    figures = trainer.iterate()
    assert figures["loss/explained_variance"] <= 1
    assert "loss/policy" not in figures
    for old, new in zip(before, trainer.weights, strict=True):
        assert torch.equal(old, new)


def test_actions_are_played_out_in_the_numbers_of_the_networks() -> None:
    """So bfloat16 is of use there too, where the processor has it."""
    network = NetworkConfig(width=8, layers=1)
    for precision, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        trainer = Trainer(
            PPOConfig(
                decisions=512, lanes=32, steps=8, minibatch=64, actor=network, critic=network,
                belief=network, playout_decisions=512, playout_depth=2, precision=precision,
            )
        )  # fmt: skip
        then = trainer._continuation()
        assert isinstance(then.agent, Policy)
        assert then.agent.dtype == then.judge.__self__.dtype == dtype  # type: ignore[union-attr]
        assert trainer.collect()[0].tried.isfinite().all()
        assert trainer.collect()[0].tried.any()


def test_the_critic_learns_from_the_opponents_positions_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And from as many as the policy, which learns from those alone in which actions were tried."""
    network = NetworkConfig(width=8, layers=1)
    trainer = Trainer(
        PPOConfig(
            decisions=4096, lanes=64, steps=32, minibatch=64, actor=network, critic=network,
            epochs=1, playout_decisions=4096, playout_depth=1, opponents=["simple"],
            opponent_share=1.0,
        )
    )  # fmt: skip
    seen: list[tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]] = []
    step, losses = trainer._gradient_step, trainer.losses

    def noted(batch: dict[str, torch.Tensor], judged: dict[str, torch.Tensor]) -> Any:
        seen.append((batch, judged))
        return step(batch, judged)

    def lost(log_probs: Any, values: Any, guess: Any, batch: dict[str, torch.Tensor]) -> Any:
        assert batch["returns"] is seen[-1][1]["returns"]
        return losses(log_probs, values, guess, batch)

    monkeypatch.setattr(trainer, "_gradient_step", noted)
    monkeypatch.setattr(trainer, "losses", lost)
    rollout, _ = trainer.collect()
    trainer.update(rollout)
    learnt = sum(len(batch["chosen"]) for batch, _ in seen)
    assert learnt == rollout.tried.any(dim=2).sum()
    assert all(batch["tried"].any(dim=1).all() and batch["own"].all() for batch, _ in seen)
    hidden = torch.cat([judged["hidden"] for _, judged in seen])
    assert len(hidden) == learnt
    mine = {bytes(hand) for hand in rollout.hidden[rollout.own].numpy()}
    his = [bytes(hand) not in mine for hand in hidden.numpy()]
    assert 0.2 < np.mean(his) < 0.8


@pytest.mark.slow
def test_a_policy_learns_from_it_to_beat_its_teacher() -> None:
    """On a game that is solved: of the 1.58 points that `simple` gives away. PPO finds 0.39 of them
    in as many decisions."""
    rules = preset("classic", **TINY, **BONUSES)
    written = small.build(rules)
    network = NetworkConfig(width=32, layers=1)
    settings: dict[str, Any] = {
        "rules": "classic", "rule_fields": {**TINY, **BONUSES}, "episodes": ["hand"],
        "decisions": 65_536, "lanes": 512, "steps": 16, "minibatch": 512, "actor": network,
        "critic": network, "learning_rate": 4e-3, "reward_scale": 5.0, "teacher": "simple",
        "teacher_decisions": 8_192, "teacher_rate": 1e-3, "playout_decisions": 65_536,
        "opponents": ["simple"], "opponent_share": 1.0, "temperature_start": 0.05,
        "magnet_time": 0.05,
    }  # fmt: skip
    trainer = Trainer(PPOConfig(**settings))
    victim = written.strategy(agents.load("simple", rules))
    first = written.tree.set_player[written.tree.set_of] == 0

    def wins() -> float:
        own = written.strategy(Policy(trainer.actor))
        seats = (np.where(first, *pair) for pair in ((own, victim), (victim, own)))
        here, there = (tree.value(written.tree, strategy) for strategy in seats)
        return (here - there) / 2

    trainer.iterate()
    assert wins() < 0
    while not trainer.done:
        trainer.iterate()
    assert wins() > 0.9
