"""The PettingZoo environment playing single hands: its contract, its rewards, and that it tells
nobody what he can't know."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, seed_test

import ginenv
from ginenv import actions, cards, gin_rummy_v0, observation
from ginenv.board import board
from ginenv.rules import PRESETS, Rules, preset

PLAYABLE = [name for name in PRESETS if preset(name).seating == "heads_up"]
AGENTS = ["player_0", "player_1"]
BOTH = pytest.mark.parametrize("make", [gin_rummy_v0.env, gin_rummy_v0.raw_env])
# All deals of this small deck are short, and a discard often ends it dead.
SMALL = Rules(num_ranks=4, num_suits=3, hand_size=3, stock_floor=1)


def move(mask: np.ndarray, rng: np.random.Generator) -> int:
    """A random legal action that ends the hand less often than not."""
    legal = mask.nonzero()[0]
    open_ones = legal[(legal < actions.KNOCK) | (legal >= actions.STOCK)]
    return int(rng.choice(open_ones if len(open_ones) and rng.random() < 0.8 else legal))


def play(env: Any, rng: np.random.Generator, most: int = 10_000) -> list[int]:
    """Play on, at most so many actions; what was played."""
    played = []
    while len(played) < most and not env.terminations[env.agent_selection]:
        chosen = move(env.last()[0]["action_mask"], rng)
        env.step(chosen)
        played.append(chosen)
    return played


def whole_deck(seed: int, rules: Rules) -> list[int]:
    every = cards.to_ids(cards.deck_set(rules.num_ranks, rules.num_suits))
    return np.random.default_rng(seed).permutation(every).tolist()


def all_told(env: Any) -> dict[str, Any]:
    """All that the environment tells anybody, as plain values to compare."""
    told = {
        agent: {key: part.tolist() for key, part in env.observe(agent).items()}
        for agent in env.possible_agents
    }
    return {
        "on move": env.agent_selection,
        "agents": list(env.agents),
        "observations": told,
        "rewards": dict(env.rewards),
        "totals": dict(env._cumulative_rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": copy.deepcopy(env.infos),
    }


# PettingZoo's own tests.


# It warns of every dict as an observation and of every mask that is all zero at an end.
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be")
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
@pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros")
@pytest.mark.parametrize("name", PLAYABLE)
@BOTH
def test_api(name: str, make: Callable[..., Any]) -> None:
    api_test(make(name), num_cycles=100)


@pytest.mark.parametrize("name", PLAYABLE)
@BOTH
def test_seeds(name: str, make: Callable[..., Any]) -> None:
    seed_test(lambda: make(name), num_cycles=100)


def test_what_the_class_says_of_itself() -> None:
    env = gin_rummy_v0.env()
    assert env.metadata["name"] == "gin_rummy_v0"
    assert env.metadata["render_modes"] == ["ansi"]
    assert env.metadata["is_parallelizable"] is False
    assert env.possible_agents == AGENTS
    assert str(env) == "gin_rummy_v0"
    assert ginenv.__version__


def test_the_spaces_are_one_object_each_with_the_keys_in_order() -> None:
    env = gin_rummy_v0.env()
    assert env.observation_space("player_0") is not env.observation_space("player_1")
    for agent in AGENTS:
        space = env.observation_space(agent)
        assert space is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.action_space(agent) == gymnasium.spaces.Discrete(108)
        assert list(space.keys()) == ["observation", "action_mask"]
        assert space["observation"] == gymnasium.spaces.Box(0, 255, (observation.SIZE,), np.uint8)
        assert space["action_mask"] == gymnasium.spaces.Box(0, 1, (108,), np.int8)
        env.reset(seed=1)
        assert list(env.observe(agent)) == ["observation", "action_mask"]
        assert space.contains(env.observe(agent))


def test_the_registry_knows_the_environment_where_there_is_one() -> None:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this version of PettingZoo has no registry")
    env = pettingzoo.make("aec", "ginenv/gin_rummy_v0", rules="oklahoma", reward="win")
    assert env.unwrapped.rules == preset("oklahoma")
    assert env.unwrapped.reward == "win"


def test_importing_the_package_stays_light() -> None:
    code = (
        "import sys, ginenv; from ginenv import gin_rummy_v0; "
        "print([name for name in ('torch', 'agents', 'jsonargparse') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Arguments.


def test_rules_are_a_preset_or_an_object_changed_by_fields() -> None:
    assert gin_rummy_v0.raw_env().rules == Rules()
    assert gin_rummy_v0.raw_env("oklahoma", knock_limit=7).rules == preset(
        "oklahoma", knock_limit=7
    )
    assert gin_rummy_v0.env(SMALL, stock_floor=0).unwrapped.rules == Rules(
        num_ranks=4, num_suits=3, hand_size=3, stock_floor=0
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": "classsic"}, "rules='classsic': there is no such preset; did you mean"),
        ({"knok_limit": 3}, "knok_limit: there is no such rule; did you mean 'knock_limit'"),
        ({"rules": Rules(), "knock_limit": 11}, "knock_limit=11: must be 0 to 10"),
        ({"reward": "chips"}, "reward='chips': must be 'points' or 'win'"),
        ({"render_mode": "human"}, "render_mode='human': must be None or 'ansi'"),
        ({"episode": "round"}, "episode='round': must be 'hand' or 'game' or 'match'"),
    ],
)
@BOTH
def test_a_wrong_argument_is_named(
    make: Callable[..., Any], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**arguments)


# Reset.


def test_one_seed_is_one_hand_and_without_a_seed_the_generator_goes_on() -> None:
    def first_tables(seed: int) -> list[str]:
        env = gin_rummy_v0.env(render_mode="ansi")
        tables = []
        for nth in range(5):
            env.reset(seed=seed if nth == 0 else None)
            tables.append(env.render())
        return tables

    assert first_tables(1) == first_tables(1)
    assert len({*first_tables(1), *first_tables(2)}) == 10


def test_options_hold_on_a_seeded_reset_and_leave_later_hands_alone() -> None:
    plain, set_up = gin_rummy_v0.env(render_mode="ansi"), gin_rummy_v0.env(render_mode="ansi")
    deck = " ".join(cards.name(card) for card in whole_deck(3, Rules()))
    plain.reset(seed=5)
    set_up.reset(seed=5, options={"deck": deck, "dealer": 1})
    assert set_up.agent_selection == "player_0"
    own = set_up.observe("player_0")["observation"][observation.LAYOUT["hand"]]
    assert set(np.flatnonzero(own)) == set(whole_deck(3, Rules())[0:20:2])
    plain.reset()
    set_up.reset()
    assert plain.render() == set_up.render()


def test_a_seed_gives_one_deck_whoever_deals() -> None:
    env = gin_rummy_v0.env()
    hands = []
    for dealer in (0, 1):
        env.reset(seed=9, options={"dealer": dealer})
        assert env.agent_selection == AGENTS[1 - dealer]
        first = env.observe(env.agent_selection)["observation"]
        hands.append(first[observation.LAYOUT["hand"]].tolist())
    assert hands[0] == hands[1]


@pytest.mark.parametrize(
    "form",
    [
        list,
        np.array,
        lambda deck: [cards.name(card) for card in deck],
        lambda deck: " ".join(cards.name(card) for card in deck),
    ],
    ids=["ids", "array", "names", "text"],
)
def test_a_deck_may_be_given_in_any_form(form: Callable[[list[int]], Any]) -> None:
    deck = whole_deck(4, Rules())
    env = gin_rummy_v0.raw_env()
    env.reset(options={"deck": form(deck), "dealer": 0})
    upcard = env.observe("player_1")["observation"][observation.LAYOUT["upcard"]]
    assert np.flatnonzero(upcard).tolist() == [deck[20]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deck": whole_deck(1, SMALL)[:-1]}, "deck: 11 cards, and the deck has 12; missing: .."),
        ({"deck": [*whole_deck(1, SMALL)[:-1], 51]}, "deck: Ks: not in a deck of 4 ranks and 3"),
        ({"deck": "As As"}, "deck: As is there twice"),
        ({"deck": "As 1d"}, "deck: '1d' is not a card"),
        ({"deck": [99]}, "deck: card id 99 is outside"),
        ({"deck": 5}, "deck: "),
        ({"dealer": 2}, "dealer=2: must be a player's number, 0 to 1"),
        ({"dealer": "player_0"}, "dealer='player_0': must be a player's number, 0"),
        ({"dealer": True}, "dealer=True: must be a player's number, 0 to 1"),
        ({"seed": 1}, "'seed' is unknown; there are deck, decks, dealer"),
    ],
)
def test_a_wrong_option_is_named_and_changes_nothing(options: Any, message: str) -> None:
    env = gin_rummy_v0.env(SMALL)
    env.reset(seed=1)
    before = all_told(env.unwrapped)
    with pytest.raises(ValueError, match=f"options: {message}"):
        env.reset(seed=2, options=options)
    assert all_told(env.unwrapped) == before


def test_the_first_dealer_is_the_rules() -> None:
    def on_move(name: str, **fields: Any) -> set[str]:
        env = gin_rummy_v0.env(name, **fields)
        first = set()
        for seed in range(20):
            env.reset(seed=seed)
            first.add(env.agent_selection)
        return first

    assert on_move("classic") == set(AGENTS)
    assert on_move("cardcouch") == {"player_0"}
    assert on_move("classic", first_dealer=0) == {"player_1"}


# Copies.


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
@BOTH
def test_a_copy_in_play_goes_on_as_the_first_one(
    make: Callable[..., Any], copied: Callable[[Any], Any]
) -> None:
    for seed in range(4):
        env = make("big_gin", "win", render_mode="ansi", knock_limit=8)
        env.reset(seed=seed)
        play(env, np.random.default_rng(seed), most=5 + 4 * seed)
        twin = copied(env)
        for agent in AGENTS:
            assert twin.action_space(agent) is not env.action_space(agent)
        for _ in range(2):
            one, other = np.random.default_rng(7), np.random.default_rng(7)
            while not env.terminations[env.agent_selection]:
                assert all_told(twin.unwrapped) == all_told(env.unwrapped)
                assert twin.render() == env.render()
                chosen = move(env.last()[0]["action_mask"], one)
                assert move(twin.last()[0]["action_mask"], other) == chosen
                env.step(chosen)
                twin.step(chosen)
            assert all_told(twin.unwrapped) == all_told(env.unwrapped)
            env.reset()
            twin.reset()


@BOTH
def test_a_copy_shares_nothing_with_the_first_one(make: Callable[..., Any]) -> None:
    env = make()
    env.reset(seed=1)
    play(env, np.random.default_rng(1), most=6)
    before = all_told(env.unwrapped)
    twin = copy.deepcopy(env)
    play(twin, np.random.default_rng(2))
    assert all_told(env.unwrapped) == before


@BOTH
def test_an_environment_never_reset_can_be_pickled_with_its_arguments(
    make: Callable[..., Any],
) -> None:
    env = make("oklahoma", reward="win", render_mode="ansi", knock_limit=6)
    twin = pickle.loads(pickle.dumps(env))
    assert twin.unwrapped.rules == preset("oklahoma", knock_limit=6)
    assert (twin.unwrapped.reward, twin.render_mode) == ("win", "ansi")
    env.reset(seed=3)
    twin.reset(seed=3)
    assert twin.render() == env.render()


# The end of a hand.


@pytest.mark.parametrize("reward", ["points", "win"])
@pytest.mark.parametrize("name", PLAYABLE)
def test_each_player_is_paid_once_and_told_the_result(name: str, reward: str) -> None:
    env = gin_rummy_v0.env(name, reward)
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(8):
        env.reset()
        paid = dict.fromkeys(AGENTS, 0.0)
        ends = []
        for agent in env.agent_iter():
            told, total, terminated, truncated, info = env.last()
            paid[agent] += total
            assert not truncated
            if terminated:
                ends.append((agent, info["result"]))
                assert not told["action_mask"].any()
                env.step(None)
            else:
                assert info == {}
                assert env.infos[AGENTS[1 - AGENTS.index(agent)]] == {}
                env.step(move(told["action_mask"], rng))
        assert sorted(agent for agent, _ in ends) == AGENTS
        result = ends[0][1]
        assert ends[1][1] == result
        assert env.agents == []
        won = {"points": result["points"], "win": 1}[reward]
        expected = [0.0, 0.0]
        if result["winner"] is not None:
            expected[result["winner"]], expected[1 - result["winner"]] = won, -won
        assert list(paid.values()) == expected


def test_a_dead_hand_terminates_and_pays_nothing() -> None:
    env = gin_rummy_v0.env(SMALL)
    rng, seed, dead = np.random.default_rng(1), 0, 0
    while dead < 5:
        seed += 1
        env.reset(seed=seed)
        play(env, rng)
        if env.infos["player_0"]["result"]["kind"] == "dead":
            dead += 1
            assert env.terminations == dict.fromkeys(AGENTS, True)
            assert env.truncations == dict.fromkeys(AGENTS, False)
            assert env._cumulative_rewards == dict.fromkeys(AGENTS, 0)


# Illegal actions.


def an_illegal(env: Any) -> int:
    return int(np.flatnonzero(env.last()[0]["action_mask"] == 0)[0])


@pytest.mark.parametrize("action", [0, 103, 108, -1, 1.5, None, "stock"])
def test_without_wrappers_an_illegal_action_is_named_with_the_legal_ones(action: Any) -> None:
    env = gin_rummy_v0.raw_env()
    env.reset(seed=1, options={"dealer": 1})
    before = all_told(env)
    word = {0: "'discard Ac'", 103: "'knock Ks'"}.get(action, f"{action!r}, which is no action id")
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the message is looked at below
        env.step(action)
    assert str(raised.value).startswith(f"player_0 cannot play {word}")
    assert str(raised.value).endswith("; legal: take, pass")
    assert all_told(env) == before


@pytest.mark.parametrize("after", [0, 1, 7])
def test_an_illegal_action_ends_the_hand_for_minus_one(after: int) -> None:
    env = gin_rummy_v0.env()
    env.reset(seed=1)
    play(env, np.random.default_rng(1), most=after)
    offender = env.agent_selection
    env.step(an_illegal(env))
    assert env.terminations == dict.fromkeys(AGENTS, True)
    paid = {}
    for agent in env.agent_iter():
        told, total, *_ = env.last()
        paid[agent] = total
        assert not told["action_mask"].any()
        env.step(None)
    assert paid == {agent: -1 if agent == offender else 0 for agent in AGENTS}
    env.reset()
    assert play(env, np.random.default_rng(1))


@pytest.mark.parametrize("action", [108, -1, None])
def test_what_is_no_action_is_an_assertion(action: Any) -> None:
    env = gin_rummy_v0.env()
    env.reset(seed=1)
    with pytest.raises(AssertionError, match="not in action space"):
        env.step(action)


def test_nothing_can_be_asked_before_the_first_reset() -> None:
    env = gin_rummy_v0.env()
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        _ = env.agents


# What an agent is told.


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_seat_not_on_move_sees_its_own_hand_and_no_mask(name: str) -> None:
    rules, rng = preset(name), np.random.default_rng(1)
    env = gin_rummy_v0.raw_env(rules)
    for seed in range(3):
        deck = whole_deck(seed, rules)
        env.reset(options={"deck": deck, "dealer": 1})
        hands = [set(deck[0:20:2]), set(deck[1:20:2])]
        upcard, stock = deck[20], deck[21:]
        while True:
            seat = AGENTS.index(env.agent_selection)
            on_move, other = env.observe(AGENTS[seat]), env.observe(AGENTS[1 - seat])
            for known, hand in ((on_move, hands[seat]), (other, hands[1 - seat])):
                plane = known["observation"][observation.LAYOUT["hand"]]
                assert set(np.flatnonzero(plane)) == hand
            assert on_move["action_mask"].any()
            assert not other["action_mask"].any()
            assert not other["observation"][observation.LAYOUT["drawn"]].any()
            assert not other["observation"][observation.LAYOUT["deadwood_after"]].any()
            chosen = move(on_move["action_mask"], rng)
            if chosen == actions.STOCK:
                hands[seat].add(stock.pop(0))
            elif chosen == actions.TAKE:
                hands[seat].add(upcard)
            elif chosen < actions.KNOCK:
                hands[seat].remove(chosen)
                upcard = chosen
            env.step(chosen)
            if env.terminations[AGENTS[0]]:
                break


def test_the_mask_allows_what_the_step_plays() -> None:
    """Every action tried on a copy: it is played where the mask has 1, refused where it has 0."""
    env = gin_rummy_v0.raw_env("big_gin")
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    for _ in range(12):
        mask = env.observe(env.agent_selection)["action_mask"]
        for action in range(108):
            twin = copy.deepcopy(env)
            if mask[action]:
                twin.step(action)
            else:
                with pytest.raises(ValueError, match="cannot play"):
                    twin.step(action)
        play(env, rng, most=1)
        if env.terminations[AGENTS[0]]:
            env.reset()


def test_writing_on_an_observation_changes_nothing_else() -> None:
    env = gin_rummy_v0.raw_env()
    env.reset(seed=1)
    before = all_told(env)
    for agent in AGENTS:
        told = env.observe(agent)
        told["observation"][:] = 7
        told["action_mask"][:] = 1
    assert all_told(env) == before


def hidden_places(
    rules: Rules, deck: list[int], dealer: int, played: list[int], seat: int
) -> list[int]:
    """Places in the deck of cards that this seat has never seen after these actions."""
    start = 2 * rules.hand_size
    known = {*deck[start : start + 1], *deck[(seat == dealer) : start : 2]}
    mover, stock = 1 - dealer, start + 1
    for action in played:
        if action == actions.STOCK:
            known |= {deck[stock]} if mover == seat else set()
            stock += 1
        elif action < actions.KNOCK:
            known.add(action)
        if action < actions.KNOCK or action == actions.PASS:
            mover = 1 - mover
    return [place for place, card in enumerate(deck) if card not in known]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(PLAYABLE),
    seed=st.integers(0, 2**32 - 1),
    dealer=st.integers(0, 1),
    seat=st.integers(0, 1),
    share=st.floats(0, 1),
)
def test_cards_that_a_seat_has_not_seen_change_nothing_that_it_is_told(
    name: str, seed: int, dealer: int, seat: int, share: float
) -> None:
    """The same hand is played from a second deck, in which the cards that this seat never saw up
    to some point have changed places: at each point until then it is told the same."""
    rules, rng = preset(name), np.random.default_rng(seed)
    deck = whole_deck(seed, rules)
    one, other = gin_rummy_v0.raw_env(rules), gin_rummy_v0.raw_env(rules)
    one.reset(options={"deck": deck, "dealer": dealer})
    played = play(one, rng)
    if played[-1] >= actions.KNOCK:
        played = played[:-1]  # a knock lays both hands down
    played = played[: round(share * len(played))]
    places = hidden_places(rules, deck, dealer, played, seat)
    second = list(deck)
    for place, source in zip(places, rng.permutation(places), strict=True):
        second[place] = deck[source]
    one.reset(options={"deck": deck, "dealer": dealer})
    other.reset(options={"deck": second, "dealer": dealer})
    for action in [*played, None]:
        told, again = one.observe(AGENTS[seat]), other.observe(AGENTS[seat])
        for key, part in told.items():
            np.testing.assert_array_equal(part, again[key])
        assert board(one._hands, seat) == board(other._hands, seat)
        assert one.agent_selection == other.agent_selection
        assert one.terminations == other.terminations
        assert one.rewards == other.rewards
        if not one.terminations[AGENTS[0]]:
            assert one.infos == other.infos == {agent: {} for agent in AGENTS}
        if action is not None:
            one.step(action)
            other.step(action)


# Text.


def test_ansi_renders_the_open_table_and_no_mode_warns() -> None:
    env = gin_rummy_v0.env(render_mode="ansi")
    env.reset(seed=1, options={"dealer": 0})
    text = env.render()
    assert text.startswith("player_0 (dealer): deadwood ")
    assert "player_1: deadwood " in text
    assert text.splitlines()[-1].startswith("player_1 takes the ")
    silent = gin_rummy_v0.env()
    silent.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode=None"):
        assert silent.render() is None
