"""Games worth watching: the right ones are chosen, and thoughts are those of the player on move."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import agents
from agents import arena, prospects, watch
from agents.features import features
from agents.network import Actor, Critic
from agents.policy import Policy, PolicyFileError, load_critic, save_policy
from agents.ppo_config import NetworkConfig
from ginenv import cards, observation, replay
from ginenv.replay import Hand
from ginenv.rules import Rules, preset
from ginenv.tensorboard import summary
from tests.logs import recorded, written

SMALL = NetworkConfig(width=8, layers=1)


def kept(rules: Rules, episode: str, deals: int, names: tuple[str, ...]) -> list[watch.Kept]:
    games: list[watch.Kept] = []

    def keep(players: tuple[int, ...], played: list[list[Hand]]) -> None:
        games.extend((tuple(names[player] for player in players), hands) for hands in played)

    loaded = [agents.load(name, rules) for name in names]
    generators = map(np.random.default_rng, (1, 2))
    arena.play(rules, loaded, deals, *generators, recorder=keep, episode=episode)
    return games


@pytest.mark.parametrize(
    ("rules_name", "episode", "names"),
    [
        ("classic", "hand", ("simple", "random")),
        ("hollywood", "game", ("simple", "expert")),
        ("cutthroat", "game", ("simple", "random", "expert")),
        ("partnership", "game", ("expert", "simple")),
    ],
)
def test_best_and_worst_are_by_points(
    rules_name: str, episode: str, names: tuple[str, ...]
) -> None:
    rules = preset(rules_name)
    games = kept(rules, episode, 4, names)
    records = [replay.record(rules, players, hands, game=episode == "game")
               for players, hands in games]  # fmt: skip
    gains = []
    for made in records:
        sides = [name == names[0] for name in made["players"]]
        gain = 0
        for hand in made["hands"]:
            at = [sides[player] for player in hand.get("seats", [0, 1])]
            winner = hand["result"]["winner"]
            if winner is not None and any(at):
                gain += hand["result"]["points"] * (1 if at[winner] else -1)
        gains.append(gain)
    chosen = watch.choose(rules, games, names[0], seed=0)
    assert gains[chosen["best"]] == max(gains)
    assert gains[chosen["worst"]] == min(gains)
    kinds = [{hand["result"]["kind"] for hand in made["hands"]} for made in records]
    for kind in ("undercut", "gin"):
        assert (kind in chosen) == any(kind in found for found in kinds)
        assert kind not in chosen or kind in kinds[chosen[kind]]
    assert set(chosen) <= set(watch.REASONS)
    assert chosen == watch.choose(rules, games, names[0], seed=0)


@pytest.mark.parametrize("rules_name", ["classic", "hollywood", "cutthroat", "partnership"])
def test_thoughts_are_of_legal_actions_and_of_the_player_on_move(rules_name: str) -> None:
    made = recorded(rules_name)
    rules, hands = replay.parse(made)
    for hand, entry in zip(hands, made["hands"], strict=True):
        played = entry["actions"].split(", ")
        assert len(entry["policy"]) == len(played)
        positions = replay.rerun(rules, hand)
        seats = entry.get("seats", [0, 1])
        for action, thought, state in zip(played, entry["policy"], positions, strict=False):
            # recorded() has the thoughts of player 0 alone.
            assert (thought is not None) == (seats[int(state.mover[0])] == 0)
            if thought is None:
                continue
            legal = replay.legal_words(state)
            assert {words for words, _ in thought["top"]} <= set(legal)
            assert action in [words for words, _ in thought["top"]]
            assert sum(chance for _, chance in thought["top"]) <= 1.001


def test_a_player_of_one_choice_has_no_thoughts() -> None:
    rules = preset("classic")
    made = watch.annotate(recorded("classic", "hand"), [agents.load("expert", rules)] * 2)
    assert not any(made["hands"][0]["policy"])


def test_a_forfeited_hand_keeps_its_thoughts() -> None:
    rules, (hand,) = replay.parse(recorded("classic", "hand"))
    hand = Hand(hand.dealer, hand.deck, hand.actions[:3], forfeited=True)
    made = replay.record(rules, ["ann", "bob"], [hand])
    told = watch.annotate(made, [agents.load("simple", rules)] * 2)
    assert len(told["hands"][0]["policy"]) == 3
    replay.check(told)


def saved(path: Path, critic: bool, episodes: tuple[str, ...] = ("hand",)) -> tuple[Actor, Critic]:
    torch.manual_seed(0)
    actor, judge = Actor(SMALL), Critic(SMALL)
    header = {"rules": [preset("classic").to_dict()], "episodes": episodes, "decisions": 12}
    save_policy(path, actor, header, (judge, 20.0) if critic else None)
    return actor, judge


def test_a_policy_file_may_hold_its_critic(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    actor, critic = saved(path, critic=True)
    policy = Policy.load(path, preset("classic"))
    for name, weight in actor.state_dict().items():
        assert torch.equal(weight, policy.actor.state_dict()[name])
    found = watch.judge_of(path)
    assert found is not None
    assert found.scale == 20
    for name, weight in critic.state_dict().items():
        assert torch.equal(weight, found.critic.state_dict()[name])
    saved(path, critic=False)
    Policy.load(path, preset("classic"))
    assert watch.judge_of(path) is None


def test_the_critic_of_games_alone_says_nothing_of_points(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    saved(path, critic=True, episodes=("game",))
    assert load_critic(path) is not None
    assert watch.judge_of(path) is None


def test_a_damaged_critic_is_named(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    critic = Critic(SMALL)
    critic.body.size = NetworkConfig(width=4, layers=1)  # says another size than it has
    save_policy(path, Actor(SMALL), {"rules": [preset("classic").to_dict()]}, (critic, 1.0))
    with pytest.raises(PolicyFileError, match=r"policy\.safetensors: damaged policy file"):
        load_critic(path)


def test_values_are_points_for_the_player_on_move(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    _, critic = saved(path, critic=True)
    rules = preset("classic")
    made = watch.annotate(
        recorded("classic", "hand"), [Policy.load(path, rules), None], watch.judge_of(path)
    )
    rules, (hand,) = replay.parse(made)
    thoughts = made["hands"][0]["policy"]
    for thought, state in zip(thoughts, replay.rerun(rules, hand), strict=False):
        if thought is None:
            continue
        seen = torch.from_numpy(prospects.encode(observation.view(state)))
        hidden = cards.bits(state.hands[:, 1 - int(state.mover[0])])
        with torch.no_grad():
            value = float(critic(features(seen), torch.from_numpy(hidden))[0])
        assert thought["value"] == pytest.approx(20 * value, abs=0.051)


def test_the_same_cards_are_dealt_at_every_step(tmp_path: Path) -> None:
    rules = preset("classic")
    players = (agents.load("simple", rules), agents.load("expert", rules))
    with summary.log(tmp_path) as log:
        for step in (5, 9):
            watch.play_one(log, rules, ("mine", "expert"), players, step)
    found = written(tmp_path)
    assert set(found) == {"game/vs_expert", "replay/vs_expert", "hand/vs_expert"}
    assert [step for step, _, _ in found["replay/vs_expert"]] == [5, 9]
    first, second = (json.loads(text) for _, _, text in found["game/vs_expert"])
    assert first["hands"][0]["deck"] == second["hands"][0]["deck"]
    assert first["players"] == ["mine", "expert"]
    replay.check(first)
