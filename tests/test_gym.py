"""One player against an opponent: Gymnasium's contract, and that it is the PettingZoo environment
underneath."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from test_pettingzoo import hidden_places, move, play, whole_deck

import agents
import ginenv  # noqa: F401 - registers
from ginenv import actions, cards, gin_rummy_v0, observation
from ginenv.actions import Legal
from ginenv.gym_env import GinRummyEnv
from ginenv.observation import View
from ginenv.rules import PRESETS, Rules, preset

NAME = "ginenv/GinRummy-v0"
SEATINGS = ["classic", "hollywood", "cutthroat", "partnership"]
EPISODES = ["hand", "game", "match"]
# Games of this deck are short: hands of four cards, nearly all of which may knock at once.
SHORT = {"num_ranks": 7, "num_suits": 3, "hand_size": 4, "stock_floor": 1, "target": 8}


def knocker(told: dict[str, np.ndarray]) -> int:
    """Ends the hand as soon as it may, and else draws or discards what comes first."""
    legal = told["action_mask"].nonzero()[0]
    ends = legal[(legal >= actions.KNOCK) & (legal < actions.STOCK)]
    return int(ends[0] if len(ends) else legal[0])


def make(rules: str = "classic", episode: str = "hand", **arguments: Any) -> GinRummyEnv:
    if episode == "match":
        arguments["best_of"] = 3
    return GinRummyEnv(rules, episode=episode, **{**SHORT, **arguments})


def same(one: Any, other: Any) -> bool:
    """Whether nests of dicts and arrays are equal."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.all(one == other))


def run(env: Any, steps: int, seed: int | None, rng_seed: int = 0) -> list[Any]:
    """Everything that so many steps return, with resets at the ends."""
    rng = np.random.default_rng(rng_seed)
    told: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        if len(told[-1]) > 2 and told[-1][2]:
            told.append(env.reset())
        else:
            told.append(env.step(move(told[-1][0]["action_mask"], rng)))
    return told


# Gymnasium's own check, and what it leaves out.


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", PRESETS)
def test_gymnasiums_check_has_nothing_to_say(rules: str, episode: str) -> None:
    # Against random opponents who sits out of cutthroat waits long for a hand with a winner.
    opponent = knocker if preset(rules).seating == "cutthroat" else "random"
    env = gymnasium.make(NAME, rules=rules, episode=episode, opponent=opponent)
    for _ in range(2):
        check_env(env.unwrapped)


def test_gymnasiums_check_has_nothing_to_say_of_agents_and_players() -> None:
    for arguments in (
        {"opponent": agents.load("simple", Rules())},
        {"player": 1, "render_mode": "ansi", "reward": "win"},
    ):
        check_env(gymnasium.make(NAME, **arguments).unwrapped)


@pytest.mark.parametrize("opponent", ["random", "simple", knocker])
@pytest.mark.parametrize("episode", ["hand", "game"])
@pytest.mark.parametrize("rules", SEATINGS)
def test_seeds_reproduce(rules: str, episode: str, opponent: Any) -> None:
    if opponent == "simple":
        opponent = agents.load("simple", Rules())
    one = make(rules, episode, opponent=opponent)
    other = copy.deepcopy(one)
    assert same(run(one, 30, seed=1), run(other, 30, seed=1))
    assert one.np_random_seed == other.np_random_seed == 1
    assert same(run(one, 30, seed=None), run(other, 30, seed=None))
    # In the middle of a hand as well.
    assert same(run(one, 30, seed=2), run(make(rules, episode, opponent=opponent), 30, seed=2))
    assert not same(one.reset(seed=3)[0], one.reset(seed=4)[0])
    assert not same(one.reset()[0], one.reset()[0])


def test_a_generator_that_is_set_is_used() -> None:
    one, other = make(), make()
    one.np_random, other.np_random = np.random.default_rng(5), np.random.default_rng(5)
    assert same(run(one, 20, seed=None), run(other, 20, seed=None))


def test_the_spaces() -> None:
    for episode, size in (("hand", observation.SIZE), ("game", observation.GAME_SIZE)):
        env = make(episode=episode)
        assert list(env.observation_space.keys()) == ["observation", "action_mask"]
        assert env.observation_space["observation"] == spaces.Box(0, 255, (size,), np.uint8)
        assert env.observation_space["action_mask"] == spaces.Box(0, 1, (108,), np.int8)
        assert env.action_space == spaces.Discrete(108)
        assert str(env.action_space) == "Discrete(108)"
        for told, *_ in run(env, 40, seed=1):
            assert list(told) == ["observation", "action_mask"]
            assert told in env.observation_space


def test_samples_are_legal_and_seeded() -> None:
    env = make("big_gin", "game")
    assert env.action_space.sample() in env.action_space  # before the first reset
    told, _ = env.reset(seed=1)
    env.action_space.seed(1)
    drawn = [int(env.action_space.sample()) for _ in range(200)]
    env.action_space.seed(1)
    assert drawn == [int(env.action_space.sample()) for _ in range(200)]
    assert set(drawn) == set(told["action_mask"].nonzero()[0])
    only = np.zeros(108, np.int8)
    only[7] = 1
    assert env.action_space.sample(mask=only) == 7
    terminated = False
    while not terminated:
        told, _, terminated, _, _ = env.step(env.action_space.sample())
    assert not told["action_mask"].any()
    assert env.action_space.sample() in env.action_space


def test_masks_as_maskable_ppo_asks_for_them() -> None:
    env = gymnasium.make(NAME)
    masks = env.get_wrapper_attr("action_masks")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        masks()
    told, _ = env.reset(seed=1)
    assert masks().dtype == np.bool_
    assert masks().tolist() == told["action_mask"].astype(bool).tolist()
    terminated = False
    while not terminated:
        told, _, terminated, _, _ = env.step(masks().nonzero()[0][0])
        assert masks().tolist() == told["action_mask"].astype(bool).tolist()


# It is raw_env underneath.


@pytest.mark.parametrize("reward", ["points", "win"])
@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("rules", SEATINGS)
def test_it_is_the_pettingzoo_environment(rules: str, episode: str, reward: str) -> None:
    """The same seed played on ``raw_env``: what the player is told, and all he is paid between."""
    env = make(rules, episode, reward=reward, opponent=knocker)
    raw = gin_rummy_v0.raw_env(env.rules, reward, None, episode)
    rng = np.random.default_rng(1)
    for seed in range(4 if episode == "hand" else 2):
        raw.reset(seed=seed)
        told, info = env.reset(seed=seed)
        me = f"player_{info['player']}"
        paid = 0.0
        if info["unplayed"]:
            continue
        while True:
            while raw.agent_selection != me and not raw.terminations[me]:
                raw.step(knocker(raw.observe(raw.agent_selection)))
                paid += raw.rewards[me]
            assert same(told, raw.observe(me))
            assert {key: info[key] for key in raw.infos[me]} == raw.infos[me]
            assert info["player"] == int(me[-1])
            if raw.terminations[me]:
                break
            chosen = move(told["action_mask"], rng)
            raw.step(chosen)
            before, paid = paid, raw.rewards[me]
            told, earned, terminated, truncated, info = env.step(chosen)
            while raw.agent_selection != me and not raw.terminations[me]:
                raw.step(knocker(raw.observe(raw.agent_selection)))
                paid += raw.rewards[me]
            assert earned == before + paid
            assert type(earned) is float
            paid = 0.0
            assert terminated is raw.terminations[me]
            assert truncated is False


@pytest.mark.parametrize("rules", ["classic", "hollywood", "partnership"])
def test_the_sum_of_a_games_rewards_is_the_settlement(rules: str) -> None:
    env = make(rules, "game", player=1, opponent=knocker)
    rng = np.random.default_rng(1)
    for seed in range(4):
        told, info = env.reset(seed=seed)
        total, terminated = 0.0, False
        while not terminated:
            told, earned, terminated, _, info = env.step(move(told["action_mask"], rng))
            total += earned
        final = info["score_sheet"]["final"]
        assert total == final[1] - final[0]


def test_a_seed_deals_what_it_deals_there_and_options_hold() -> None:
    env, raw = GinRummyEnv(player=0, render_mode="ansi"), gin_rummy_v0.raw_env()
    hand = observation.LAYOUT["hand"]
    env.reset(seed=9, options={"dealer": 1})
    raw.reset(seed=9, options={"dealer": 1})
    assert same(env._raw.observe("player_0")["observation"], raw.observe("player_0")["observation"])
    deck = whole_deck(3, Rules())
    for text in (deck, " ".join(cards.name(card) for card in deck)):
        told, _ = env.reset(seed=5, options={"deck": text, "dealer": 1})
        assert told["observation"][hand].nonzero()[0].tolist() == sorted(deck[0:20:2])
    assert "player_1 (dealer)" in env.render()


# Opponents.


def test_an_agent_is_shown_views_and_legal_actions() -> None:
    asked = []

    class Watching:
        def act(self, view: View, legal: Legal, generator: np.random.Generator) -> np.ndarray:
            assert isinstance(view, View)
            assert isinstance(legal, Legal)
            assert len(view) == 1
            assert view.to_move.all()
            assert generator is env.np_random
            asked.append(view.game is not None)
            return actions.mask(legal).argmax(axis=1)

        def __call__(self, told: Any) -> int:
            raise AssertionError

    for episode in ("hand", "game"):
        env = make(episode=episode, opponent=Watching())
        run(env, 30, seed=1)
        assert asked
        assert set(asked) == {episode == "game"}
        asked.clear()


@pytest.mark.parametrize("rules", SEATINGS)
def test_a_callable_is_shown_observations_of_every_other_seat(rules: str) -> None:
    asked = []

    def opponent(told: dict[str, np.ndarray]) -> int:
        assert told in env.observation_space
        asked.append(env._raw.agent_selection)
        return knocker(told)

    env = make(rules, "game", opponent=opponent, player=1)
    run(env, 60, seed=1)
    others = {f"player_{number}" for number in range(env.rules.num_players)} - {"player_1"}
    assert set(asked) == others


def test_loaded_agents_are_opponents_and_simple_beats_random() -> None:
    env = GinRummyEnv(opponent=agents.load("simple", Rules()))
    rng = np.random.default_rng(1)
    total = 0.0
    for seed in range(15):
        told, _ = env.reset(seed=seed)
        terminated = False
        while not terminated:
            told, earned, terminated, _, _ = env.step(move(told["action_mask"], rng))
        total += earned
    assert total < -15 * 20


def test_what_an_opponent_does_wrong_is_his() -> None:
    env = GinRummyEnv(opponent=lambda told: 3, player=0)
    with pytest.raises(ValueError, match=r"^opponent: player_1 cannot play 'discard 4c'; legal: t"):
        env.reset(seed=1, options={"dealer": 0})
    with pytest.raises(ResetNeeded):
        env.step(actions.TAKE)
    env.reset(options={"dealer": 1})
    with pytest.raises(ValueError, match=r"^opponent: player_1 cannot play"):
        env.step(actions.PASS)
    with pytest.raises(ResetNeeded):
        env.step(actions.TAKE)

    def fails(told: Any) -> int:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        GinRummyEnv(opponent=fails, player=0).reset(options={"dealer": 0})


def test_random_opponents_draw_every_legal_action_alike() -> None:
    env = GinRummyEnv(player=0)
    took = 0
    for _ in range(400):
        env.reset(options={"dealer": 0})
        took += env._raw._play.hands.turn[0] > 0
    assert 150 < took < 250


# Who the player is, and episodes that he has no part in.


@pytest.mark.parametrize("rules", SEATINGS)
def test_a_seat_is_drawn_at_each_reset_or_given(rules: str) -> None:
    env = make(rules, "game", opponent=knocker)
    drawn = {env.reset(seed=seed)[1]["player"] for seed in range(25)}
    assert drawn == set(range(env.rules.num_players))
    for player in drawn:
        env = make(rules, opponent=knocker, player=player)
        for _ in range(5):
            assert env.reset()[1]["player"] == player
            assert env._raw.agent_selection == f"player_{player}"


def test_who_sits_out_is_not_the_player_of_a_hand() -> None:
    env = make("cutthroat", opponent=knocker)
    for _ in range(20):
        _, info = env.reset(options={"dealer": 2})
        assert info["player"] in (0, 1) or info["unplayed"]
    env = make("cutthroat", opponent=knocker, player=2)
    unplayed = [env.reset(seed=seed)[1]["unplayed"] for seed in range(20)]
    assert 0 < sum(map(bool, unplayed)) < 20
    with pytest.raises(ValueError, match=r"options: dealer=2: the dealer sits out of a hand in"):
        env.reset(options={"dealer": 2})
    with pytest.raises(ValueError, match="player=1: first_dealer=1: the dealer sits out"):
        make("cutthroat", player=1, first_dealer=1)
    make("cutthroat", "game", player=1, first_dealer=1, opponent=knocker).reset()


def test_hands_that_end_before_the_first_move_are_counted() -> None:
    # The non-dealer takes the ace of spades and has three sets and a run.
    knocks = "Ac 2h Ad 4h Ah 6h 5c 8h 5d Th 5h Qh 9c 3s 9d 5s 9h 7s Kc 9s As"
    named = set(knocks.split())
    rest = [cards.name(card) for card in range(52) if cards.name(card) not in named]
    deck = " ".join([knocks, *rest])

    def take(told: dict[str, np.ndarray]) -> int:
        return actions.TAKE if told["action_mask"][actions.TAKE] else knocker(told)

    env = GinRummyEnv(opponent=take, player=0, reward="points")
    told, info = env.reset(seed=1, options={"deck": deck, "dealer": 0})
    assert info["unplayed"] >= 1
    assert info["unplayed_reward"] < -25
    assert "result" not in info
    assert told["action_mask"].any()
    assert env.reset(seed=1, options={"deck": deck, "dealer": 1})[1]["unplayed"] == 0


def test_a_player_who_never_moves_is_an_error() -> None:
    env = GinRummyEnv(player=0, first_dealer=0, first_upcard="open", turn_limit=1)
    with pytest.raises(ValueError, match="100 episodes have ended before player_0 could move"):
        env.reset(seed=1)
    with pytest.raises(ResetNeeded):
        env.step(actions.TAKE)


# Errors.


@pytest.mark.parametrize("action", [0, 103, 108, -1, 1.5, None, "stock"])
def test_an_illegal_action_is_named_and_changes_nothing(action: Any) -> None:
    env = GinRummyEnv(player=0)
    env.reset(seed=1, options={"dealer": 1})
    before = pickle.dumps(env)
    word = {0: "'discard Ac'", 103: "'knock Ks'"}.get(action, f"{action!r}, which is no action id")
    with pytest.raises(ValueError, match=f"player_0 cannot play {word}.*; legal: take, pass$"):
        env.step(action)
    assert pickle.dumps(env) == before
    env.step(np.array(actions.TAKE))


def test_steps_need_a_reset_before_and_after() -> None:
    env = make(opponent=knocker)
    for call in (lambda: env.step(actions.TAKE), env.text):
        with pytest.raises(ResetNeeded, match=r"no episode in play: call reset\(\) first"):
            call()
    told, _ = env.reset(seed=1)
    terminated = False
    while not terminated:
        told, _, terminated, _, _ = env.step(knocker(told))
    for _ in range(2):
        with pytest.raises(ResetNeeded, match=r"no episode in play: call reset\(\) first"):
            env.step(actions.TAKE)
    env.reset()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": "classsic"}, "rules='classsic': there is no such preset; did you mean"),
        ({"knok_limit": 3}, "knok_limit: there is no such rule; did you mean 'knock_limit'"),
        ({"episode": "set"}, "episode='set': must be 'hand' or 'game' or 'match'"),
        ({"reward": "chips"}, "reward='chips': must be 'points' or 'win'"),
        ({"render_mode": "human"}, "render_mode='human': must be None or 'ansi'"),
        ({"opponent": "simple"}, "opponent='simple': must be 'random', an object with act"),
        ({"opponent": 3}, "opponent=3: must be 'random'"),
        ({"opponent": agents.AGENTS["simple"]}, "opponent=<class .*>: must be 'random'"),
        ({"player": 2}, "player=2: must be None or a player's number, 0 to 1"),
        ({"player": True}, "player=True: must be None or a player's number"),
        ({"player": "player_0"}, "player='player_0': must be None or a player's number"),
        ({"rules": "partnership", "player": 4}, "player=4: must be .* 0 to 3"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GinRummyEnv(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deck": "As As"}, "deck: As is there twice"),
        ({"dealer": 2}, "dealer=2: must be"),
        ({"player": 1}, "'player' is unknown"),
    ],
)
def test_a_wrong_option_is_named_and_changes_nothing(options: Any, message: str) -> None:
    env = GinRummyEnv()
    env.reset(seed=1)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match=f"options: {message}"):
        env.reset(seed=2, options=options)
    assert pickle.dumps(env) == before


# What the player can know.


@pytest.mark.parametrize("name", ["classic", "oklahoma", "cardcouch"])
@pytest.mark.parametrize("seat", [0, 1])
def test_cards_that_the_player_has_not_seen_change_nothing_that_he_is_told(
    name: str, seat: int
) -> None:
    """The same hand from a second deck, in which the cards that he never saw up to some point
    have changed places, against an opponent who plays the same cards."""
    rules = preset(name)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        deck, dealer = whole_deck(seed, rules), seed % 2
        raw = gin_rummy_v0.raw_env(rules)
        raw.reset(options={"deck": deck, "dealer": dealer})
        played = play(raw, rng)
        played = played[: rng.integers(2, len(played))]
        places = hidden_places(rules, deck, dealer, played, seat)
        second = list(deck)
        for place, source in zip(places, rng.permutation(places), strict=True):
            second[place] = deck[source]
        assert second != deck
        heard = [told_of(rules, one, dealer, played, seat) for one in (deck, second)]
        assert same(*heard)


class ScriptEndsError(Exception):
    pass


def told_of(rules: Rules, deck: list[int], dealer: int, played: list[int], seat: int) -> list[Any]:
    """All that the environment tells the player while this is played by both."""
    script = iter(played)

    def following(told: Any = None) -> int:
        for action in script:
            return action
        raise ScriptEndsError

    env = GinRummyEnv(rules, opponent=following, player=seat, render_mode="ansi")
    heard: list[Any] = []
    try:
        heard.append((env.reset(options={"deck": deck, "dealer": dealer}), env.render()))
        while True:
            heard.append((env.step(following()), env.render(), env.action_masks()))
    except ScriptEndsError:
        return heard


def test_what_is_returned_is_no_longer_the_environments() -> None:
    env, other = make(episode="game", opponent=knocker), make(episode="game", opponent=knocker)
    rng = np.random.default_rng(1)
    told, clean = env.reset(seed=1), other.reset(seed=1)
    for _ in range(40):
        chosen = move(clean[0]["action_mask"], rng)
        told[0]["observation"][:], told[0]["action_mask"][:] = 7, 1
        for part in ("result", "score_sheet"):
            told[-1].get(part, {}).clear()
        assert same(env.action_masks(), other.action_masks())
        told, clean = env.step(chosen), other.step(chosen)
        assert same(told, clean)
        if told[2]:
            break


def test_ansi_renders_what_the_player_sees_and_no_mode_warns() -> None:
    env = GinRummyEnv(player=1, render_mode="ansi")
    env.reset(seed=1, options={"dealer": 0})
    text = env.render()
    assert text.startswith("player_0 (dealer): 10 cards\n    10 face down\nplayer_1: deadwood ")
    assert text.splitlines()[-1].startswith("player_1 takes the ")
    silent = gymnasium.make(NAME)
    silent.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode=None"):
        assert silent.unwrapped.render() is None


@pytest.mark.parametrize("rules", SEATINGS)
def test_games_are_rendered_with_the_score(rules: str) -> None:
    env = make(rules, "game", render_mode="ansi", opponent=knocker)
    told, info = env.reset(seed=1)
    rng, terminated = np.random.default_rng(1), False
    while not terminated:
        text = env.render()
        assert "Score, to 8" in text
        assert text.count("face down") == 1
        assert f"player_{info['player']}" in text
        told, _, terminated, _, info = env.step(move(told["action_mask"], rng))
    assert "settlement" in env.render()


# Copies, registry, vectors.


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize("rules", SEATINGS)
def test_a_copy_in_play_goes_on_by_itself(rules: str, copied: Callable[[Any], Any]) -> None:
    env = make(rules, "game")
    told = run(env, 7, seed=1)[-1]
    if len(told) > 2 and told[2]:
        told = env.reset()
    twin = copied(env)
    assert twin._raw.np_random is twin.np_random
    rng = np.random.default_rng(1)
    for _ in range(40):
        chosen = move(told[0]["action_mask"], rng)
        told, again = env.step(chosen), twin.step(chosen)
        assert same(told, again)
        assert same(twin.action_masks(), env.action_masks())
        if told[2]:
            told = env.reset()
            assert same(twin.reset(), told)
    before = pickle.dumps(twin)
    run(env, 5, seed=None)
    assert pickle.dumps(twin) == before


def test_gymnasium_makes_it_by_name() -> None:
    env = gymnasium.make(NAME, rules="oklahoma", opponent=knocker, player=1, knock_limit=7)
    assert type(env.unwrapped) is GinRummyEnv
    assert env.unwrapped.rules == preset("oklahoma", knock_limit=7)
    assert env.spec is not None
    run(env, 30, seed=1)
    env.close()


def test_importing_the_package_registers_and_imports_no_environment() -> None:
    code = (
        "import sys, ginenv, gymnasium; print('ginenv/GinRummy-v0' in gymnasium.registry, "
        "[name for name in sys.modules if name.startswith('ginenv.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("episode", ["hand", "game"])
def test_gymnasium_vectorises_it(episode: str, mode: AutoresetMode) -> None:
    fields = {**SHORT, "dead_hand_dealer": "alternate"}
    envs = gymnasium.make_vec(
        NAME,
        num_envs=6,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        episode=episode,
        **fields,
    )
    told, _ = envs.reset(seed=1)
    rng, ends = np.random.default_rng(1), 0
    for _ in range(60):
        chosen = [move(mask, rng) if mask.any() else 0 for mask in told["action_mask"]]
        told, _, terminations, truncations, infos = envs.step(np.array(chosen))
        assert not truncations.any()
        assert told in envs.observation_space
        ends += terminations.sum()
        results = infos.get("final_info", infos)
        if terminations.any():
            # Hands without a winner and others lie side by side.
            assert results["result"]["winner"].dtype == object
    assert ends > 6
