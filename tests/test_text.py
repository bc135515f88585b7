"""The game in words: what numbers say, errors that can be shown, rules as they are."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from test_gym import EPISODES, NAME, SEATINGS, knocker, make, same
from test_pettingzoo import move

from ginenv import actions
from ginenv.rules import PRESETS, preset
from ginenv.text import MAX_LENGTH, TextGinRummy, rules_text


def words(episode: str = "hand", rules: str = "classic", **arguments: Any) -> TextGinRummy:
    return TextGinRummy(make(rules, episode, **arguments))


# A wrapper is never its own inside, which the check points out.
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("episode", EPISODES)
def test_gymnasiums_check_has_nothing_to_say_of_words(episode: str) -> None:
    check_env(TextGinRummy(gymnasium.make(NAME, episode=episode)))


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", [*SEATINGS, "oklahoma", "big_gin"])
def test_whole_episodes_are_played_in_words(rules: str, episode: str) -> None:
    env = words(episode, rules, opponent=knocker, last_discard="may_knock")
    text, info = env.reset(seed=2)
    assert text.startswith(f"This is Gin Rummy. You are player_{info['player']}, ")
    terminated = False
    while not terminated:
        assert text in env.observation_space
        assert text.splitlines()[-1] == "Legal actions: " + ", ".join(env.action_space.words)
        text, _, terminated, truncated, info = env.step(env.action_space.sample())
        assert not truncated
        assert not text.startswith("This is Gin Rummy")
        assert ("The last hand: " in text) == ("result" in info and not terminated)
    assert text in env.observation_space
    assert text.endswith("Legal actions: none, it is over")


def test_words_say_what_numbers_do() -> None:
    numbers, env = make(episode="game", player=0), words("game", player=0)
    told, _ = numbers.reset(seed=1)
    env.reset(seed=1)
    rng, terminated = np.random.default_rng(1), False
    while not terminated:
        chosen = move(told["action_mask"], rng)
        told, *rest = numbers.step(chosen)
        text, *same_rest = env.step(f"  {actions.format(chosen)}\n")
        assert same(rest, same_rest)
        assert numbers.text() in text
        terminated = rest[1]


@pytest.mark.parametrize("given", ["", "Take!", "discard", "discard 1d", "take 7s", None, 105])
def test_what_is_no_action_in_words_is_told_and_changes_nothing(given: Any) -> None:
    env = words()
    env.reset(seed=1)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match="is not an action; legal: stock, take"):
        env.step(given)
    assert pickle.dumps(env) == before


def test_an_illegal_action_in_words_is_told_and_changes_nothing() -> None:
    env = words(player=0)
    env.reset(seed=1, options={"dealer": 1})
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match=r"^player_0 cannot play 'knock Ks'; legal: take, pass$"):
        env.step("knock Ks")
    assert pickle.dumps(env) == before
    env.step("take")


def test_words_need_a_reset_and_this_environment() -> None:
    env = words(opponent=knocker)
    with pytest.raises(ResetNeeded):
        env.step("take")
    env.reset(seed=1)
    terminated = False
    while not terminated:
        _, _, terminated, _, _ = env.step(env.action_space.sample())
    with pytest.raises(ResetNeeded):
        env.step("take")
    with pytest.raises(ValueError, match="must be a GinRummyEnv, in wrappers or without"):
        TextGinRummy(gymnasium.make("CartPole-v1"))


def test_the_rules_are_told_as_they_are() -> None:
    for name in PRESETS:
        for episode in EPISODES:
            text = rules_text(preset(name, best_of=3), episode, 0)
            assert len(text) < MAX_LENGTH - 2_000
            assert ("best of 3" in text) == (episode == "match")
            assert ("Big gin" in text) == (preset(name).big_gin_bonus is not None)
            assert ("columns" in text) == (name == "hollywood" and episode != "hand")
    text = rules_text(preset("oklahoma", knock_limit=7, undercut_bonus=12, tie="draw"), "game", 1)
    for part in ("of an ace 0), at most 7", "and 12 (undercut)", "Equals score nothing", "double"):
        assert part in text
    assert "undercut" not in rules_text(preset("straight"), "hand", 0)
