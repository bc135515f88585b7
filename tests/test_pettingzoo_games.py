"""The PettingZoo environment playing games and matches, for two, three and four: a reference sheet
and hands played singly go along, and all that anybody is told must follow from them."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, seed_test
from reference_match import ReferenceMatch
from test_observation import hide_otherwise
from test_pettingzoo import all_told, whole_deck

from ginenv import actions, cards, gin_rummy_v0, observation
from ginenv.engine import State
from ginenv.observation import FLAGS, GAME_LAYOUT, LAYOUT, SCALARS, SCORE, SIZE
from ginenv.play import EPISODES
from ginenv.rules import HAND_FIELDS, PRESETS, Rules, preset

BOTH = pytest.mark.parametrize("make", [gin_rummy_v0.env, gin_rummy_v0.raw_env])
EVERY = pytest.mark.parametrize("name", PRESETS)
SEATINGS = ["classic", "cutthroat", "partnership"]
SEATED = pytest.mark.parametrize("name", SEATINGS)
LONG = ["game", "match"]
# All hands of this small deck are short, and many of them dead.
SMALL = {"num_ranks": 4, "num_suits": 3, "hand_size": 3, "stock_floor": 1, "knock_limit": 1}
SHORT = {"num_ranks": 5, "num_suits": 3, "hand_size": 4, "stock_floor": 0, "target": 60}


# A player, and what goes along with the game.


def part(told: dict[str, Any], name: str) -> np.ndarray:
    return told["observation"][GAME_LAYOUT[name]]


def number(told: dict[str, Any], name: str) -> int:
    """A number; of two entries the second counts 256."""
    return sum(int(byte) << 8 * at for at, byte in enumerate(part(told, name)))


def makes_a_meld(card: int, hand: set[int]) -> bool:
    same_rank = len([held for held in hand if held % 13 == card % 13])
    run = [card + step in hand and (card + step) // 13 == card // 13 for step in (-2, -1, 1, 2)]
    return same_rank > 1 or any(one and other for one, other in itertools.pairwise(run))


def choose(told: dict[str, Any], rng: np.random.Generator, wild: float = 0) -> int:
    """Knocks as soon as it may and else keeps the least deadwood; now and then anything."""
    legal = np.flatnonzero(told["action_mask"]).tolist()
    if rng.random() < wild:
        return int(rng.choice(legal))
    if legal[-1] == actions.BIG_GIN:
        return actions.BIG_GIN
    if legal[0] < actions.STOCK:
        after = part(told, "deadwood_after") + rng.random(52)
        knocks = [action for action in legal if action >= actions.KNOCK]
        return min(knocks or legal, key=lambda action: after[action % actions.KNOCK])
    if actions.TAKE in legal:
        upcard = int(part(told, "upcard").argmax())
        if makes_a_meld(upcard, set(np.flatnonzero(part(told, "hand")).tolist())):
            return actions.TAKE
    return actions.PASS if actions.PASS in legal else actions.STOCK


def some_decks(rules: Rules, seed: int, count: int) -> list[list[int]]:
    return [whole_deck(1000 * seed + at, rules) for at in range(count)]


def single(rules: Rules) -> Any:
    """The environment of one hand for two by the same rules."""
    fields = {name: getattr(rules, name) for name in HAND_FIELDS}
    return gin_rummy_v0.raw_env(Rules(**fields))


FACTS = (
    *("totals", "boxes", "closed_by", "winner", "games_won", "settled"),
    *("rounds", "dealer", "over"),
)
"""Of the reference."""


class Beside:
    """What must be told of an episode: its hands played singly, its results on a reference sheet.

    It resets the environment, and ``step`` plays in all of them. ``decks``: of the first hands.
    """

    def __init__(
        self, env: Any, seed: int = 0, dealer: int = 0, decks: list[list[int]] | None = None
    ) -> None:
        self.env, self.raw, self.rules = env, env.unwrapped, env.unwrapped.rules
        self.decks = list(decks or [])
        env.reset(seed=seed, options={"decks": self.decks, "dealer": dealer})
        self.reference = ReferenceMatch(self.rules, dealer)
        self.players = self.rules.num_players
        self.singles = [single(self.rules) for _ in range(self.rules.num_tables)]
        self.over = False
        self.hands_played = self.games_played = 0
        self.settled = [0] * self.reference.game.num_sides
        self.pays = [0.0] * self.players
        self.read_sheet()
        self.infos = [self.score_sheet() for _ in range(self.players)]
        self.deal()

    def read_sheet(self) -> None:
        """The reference works all of it out anew whenever it is asked."""
        self.sheet = SimpleNamespace(**{name: getattr(self.reference, name) for name in FACTS})

    def deal(self) -> None:
        self.seats = [tuple(table) for table in self.reference.seats]
        tables = len(self.seats)
        if len(self.decks) < self.hands_played + tables:
            self.decks[self.hands_played :] = self.raw._play.hands.deck.tolist()
        decks = self.decks[self.hands_played : self.hands_played + tables]
        for hand, deck, dealer in zip(
            self.singles, decks, self.reference.dealer_seats, strict=True
        ):
            hand.reset(options={"deck": deck, "dealer": dealer})
        self.table = 0
        self.set_scores()

    def of_players(self, of_sides: list[Any]) -> list[Any]:
        return [of_sides[player % len(of_sides)] for player in range(self.players)]

    def place(self, player: int) -> tuple[int, int] | None:
        """Table and seat of a player; None for who sits out."""
        for table, seats in enumerate(self.seats):
            if player in seats:
                return table, seats.index(player)
        return None

    def has_ended(self, table: int) -> bool:
        return self.singles[table].terminations["player_0"]

    @property
    def agent(self) -> str:
        """Who is on move; at the end of an episode, who played last."""
        seat = int(self.singles[self.table].agent_selection[-1])
        return f"player_{self.seats[self.table][seat]}"

    def step(self, action: int) -> None:
        """Play in the environment and beside it."""
        played = self.table
        self.env.step(action)
        self.singles[played].step(action)
        other = (played + 1) % len(self.seats)
        if not self.has_ended(other):
            self.table = other
        self.pays = [0.0] * self.players
        if all(self.has_ended(table) for table in range(len(self.seats))):
            self.end_hands()

    def end_hands(self) -> None:
        results = [hand.infos["player_0"]["result"] for hand in self.singles]
        self.hands_played += len(results)
        self.last_deadwood = {
            (table, seat): number(hand.observe(f"player_{seat}"), "deadwood")
            for table, hand in enumerate(self.singles)
            for seat in (0, 1)
        }
        entered = self.reference.enter([(each["winner"], each["points"]) for each in results])
        self.read_sheet()
        game_over = self.sheet.winner is not None
        self.games_played += game_over
        ends = {"hand": True, "game": game_over, "match": self.sheet.over}
        self.over = ends[self.raw.episode]
        self.pays = self.of_players(self.payments(results, entered))
        self.infos = [self.told(player, results) for player in range(self.players)]
        if self.over:
            self.set_scores()
            return
        if game_over:
            may = self.reference.may_deal_next_game()
            dealer = None
            if len(may) > 1:
                # A cut decides. Who acts first sits to the dealer's left.
                dealer = (int(self.env.agent_selection[-1]) - 1) % 3
            self.reference.next_game(dealer)
            self.read_sheet()
        self.deal()

    def payments(self, results: list[dict[str, Any]], entered: list[int]) -> list[float]:
        """What each side (of a single hand of three, each player) is paid."""
        sides = len(entered)
        if self.raw.reward == "win":
            winner = self.sheet.winner
            if self.raw.episode == "match":
                won = self.sheet.games_won
                winner = won.index(max(won))
            elif self.raw.episode == "hand":
                boxes = self.sheet.boxes[0]
                winner = boxes.index(1) if any(boxes) else None
            if not self.over or winner is None:
                return [0.0] * sides
            pays = [1.0 if side == winner else -1 / (sides - 1) for side in range(sides)]
            if self.raw.episode == "hand" and sides == 3:
                pays = [1.0 if side == winner else -1.0 for side in range(3)]
                pays[3 - sum(self.seats[0])] = 0.0
            return pays
        if self.raw.episode == "hand":
            paid = [0.0] * sides
            if sides == 3:
                (result,), (seats,) = results, self.seats
                if result["winner"] is not None:
                    paid[seats[result["winner"]]] = result["points"]
                    paid[seats[1 - result["winner"]]] = -result["points"]
                return paid
            return [entered[0] - entered[1], entered[1] - entered[0]]
        paid = [sum(own - other for other in entered) for own in entered]
        if self.over:
            ends = zip(self.sheet.settled, self.settled, strict=True)
            paid = [settled - before for settled, before in ends]
        self.settled = [sum(pair) for pair in zip(self.settled, paid, strict=True)]
        return paid

    def score_sheet(self) -> dict[str, Any]:
        """As ``infos`` have it; of single hands there is none."""
        if self.raw.episode == "hand":
            return {}
        sheet = self.sheet
        columns = slice(None) if self.rules.score_sheet == "hollywood" else 0
        winner = sheet.winner
        return {
            "score_sheet": {
                "totals": [self.of_players(column) for column in sheet.totals][columns],
                "boxes": [self.of_players(column) for column in sheet.boxes][columns],
                "dealer": sheet.dealer if winner is None else None,
                "games_won": self.of_players(sheet.games_won),
                "winner": winner,
                "final": None if winner is None else self.of_players(self.reference.finals()),
            }
        }

    def told(self, player: int, results: list[dict[str, Any]]) -> dict[str, Any]:
        """All that a player is told in ``infos`` of the hands that have ended."""
        infos = self.score_sheet()
        place = self.place(player)
        for table, (seats, result) in enumerate(zip(self.seats, results, strict=True)):
            result = copy.deepcopy(result)
            here = place is None or place[0] == table
            if result["kind"] == "dead" and self.raw.episode != "hand":
                for seat in (0, 1):
                    if (table, seat) != place:
                        result["deadwood"][seat] = None
            if self.rules.seating != "heads_up":
                result["seats"] = list(seats)
            infos["result" if here else "partner_result"] = result
        return infos

    def set_scores(self) -> None:
        """The entries of SCORE for every player; they change with hands, not with actions."""
        self.scores = {}
        if self.raw.episode != "hand":
            self.scores = {player: self.score(player) for player in range(self.players)}

    def score(self, player: int) -> dict[str, int]:
        rules, sheet = self.rules, self.sheet
        expected = dict.fromkeys(SCORE.names or (), 0)
        own = player % len(sheet.games_won)
        order = [own, 1 - own]
        if rules.seating == "cutthroat":
            one, other = self.seats[0]
            order = [own] + [side for side in (one, other, 3 - one - other) if side != own]
        is_open = [by is None for by in sheet.closed_by]
        first_open = is_open.index(True) if any(is_open) else 0
        for side, whose in zip(order, ("own", "opponent", "third"), strict=False):
            left = rules.target - sheet.totals[first_open][side]
            expected[f"{whose}_to_go"] = min(255, max(0, left))
            expected[f"{whose}_games"] = sheet.games_won[side]
            for column, (totals, boxes) in enumerate(zip(sheet.totals, sheet.boxes, strict=True)):
                end = "" if whose == "third" else f"_{column + 1}"
                expected[f"{whose}_total{end}"] = totals[side]
                expected[f"{whose}_boxes{end}"] = min(255, boxes[side])
        for column, this_is_open in enumerate(is_open):
            expected[f"column_open_{column + 1}"] = int(this_is_open)
        match = self.raw.episode == "match"
        return expected | {
            "target": rules.target,
            "game_bonus": rules.game_bonus,
            "shutout_bonus": rules.shutout_bonus,
            "box_bonus": rules.box_bonus,
            "partners_bonus": rules.partners_bonus,
            "games_to_win": (rules.best_of + 1) // 2 if match else 1,
            "rounds": min(255, sheet.rounds),
            "in_game": 1,
            "hollywood": int(rules.score_sheet == "hollywood"),
            "cutthroat": int(rules.seating == "cutthroat"),
            "partnership": int(rules.seating == "partnership"),
            "dealer_alternates": int(rules.next_dealer == "alternate"),
            "dead_hand_dealer_alternates": int(rules.dead_hand_dealer == "alternate"),
        }

    def check_state(self) -> None:
        """Who is on move, what was paid, who has ended, what infos say."""
        agents = self.env.possible_agents
        assert self.env.agents == agents
        assert self.env.agent_selection == self.agent
        assert self.env.terminations == dict.fromkeys(agents, self.over)
        assert self.env.truncations == dict.fromkeys(agents, False)
        assert self.env.rewards == dict(zip(agents, self.pays, strict=True))
        assert sum(self.env.rewards.values()) == 0
        assert self.env.infos == dict(zip(agents, self.infos, strict=True))

    def check_observations(self) -> None:
        for player, agent in enumerate(self.env.possible_agents):
            told = self.env.observe(agent)
            place = self.place(player)
            mask = np.zeros(actions.NUM_ACTIONS, np.int8)
            if place is None:
                hand = self.public_part()
            else:
                table, seat = place
                alone = self.singles[table].observe(f"player_{seat}")
                hand = alone["observation"]
                if agent == self.agent and not self.over:
                    mask = alone["action_mask"]
            assert told["observation"][:SIZE].tolist() == hand.tolist(), agent
            assert told["action_mask"].tolist() == mask.tolist()
            if self.scores:
                score = {name: number(told, name) for name in SCORE.names or ()}
                expected = self.scores[player]
                if self.over and self.rules.score_sheet == "hollywood":
                    # No column is open.
                    for whose in ("own", "opponent"):
                        del score[f"{whose}_to_go"], expected[f"{whose}_to_go"]
                assert score == expected, agent

    def public_part(self) -> np.ndarray:
        """What who sits out knows of the hand, from what its two players know."""
        pair = [self.singles[0].observe(f"player_{seat}")["observation"] for seat in (0, 1)]
        of_both = {name: pair[0][place] | pair[1][place] for name, place in LAYOUT.items()}
        expected = np.zeros(SIZE, np.uint8)
        for name in ("upcard", "opponent_known", "opponent_discards", "opponent_refused"):
            expected[LAYOUT[name]] = of_both[name]
        known = expected[LAYOUT["opponent_known"]] | expected[LAYOUT["upcard"]]
        assert (of_both["own_known"] == of_both["opponent_known"]).all()
        expected[LAYOUT["buried"]] = of_both["buried"] & ~known
        for name in FLAGS:
            if name not in ("to_move", "is_dealer", "drawn_from_pile"):
                expected[LAYOUT[name]] = pair[0][LAYOUT[name]]
        for name in SCALARS:
            if name != "deadwood":
                expected[LAYOUT[name]] = pair[0][LAYOUT[name]]
        unknown = LAYOUT["opponent_unknown"]
        expected[unknown] = pair[0][unknown] + pair[1][unknown]
        return expected

    def play(self, rng: np.random.Generator, wild: float = 0, most: int = 100_000) -> int:
        """Play on to the end, at most so many actions; how many were played."""
        for played in range(most):
            if self.over:
                return played
            self.step(choose(self.env.observe(self.env.agent_selection), rng, wild))
        return most


def to_the_next_hand(env: Any, rng: np.random.Generator) -> None:
    """Play until a hand (partnership: a round) has ended."""
    infos = env.infos
    while env.infos is infos:
        env.step(choose(env.observe(env.agent_selection), rng))


# PettingZoo's own tests.


# It warns of every dict as an observation and of every mask that is all zero.
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be")
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
@pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros")
@pytest.mark.parametrize("episode", EPISODES)
@EVERY
@BOTH
def test_api(make: Callable[..., Any], name: str, episode: str) -> None:
    api_test(make(name, episode=episode), num_cycles=30)


@pytest.mark.parametrize("episode", EPISODES)
@EVERY
@BOTH
def test_seeds(make: Callable[..., Any], name: str, episode: str) -> None:
    seed_test(lambda: make(name, episode=episode), num_cycles=30)


@pytest.mark.parametrize("episode", EPISODES)
@SEATED
def test_agents_and_spaces_are_those_of_the_seating_and_the_episode(
    name: str, episode: str
) -> None:
    env = gin_rummy_v0.env(name, episode=episode)
    players = {"classic": 2, "cutthroat": 3, "partnership": 4}[name]
    assert env.possible_agents == [f"player_{player}" for player in range(players)]
    size = observation.SIZE if episode == "hand" else observation.GAME_SIZE
    env.reset(seed=1)
    for agent in env.possible_agents:
        space = env.observation_space(agent)
        assert space is env.observation_space(agent)
        assert list(space.keys()) == ["observation", "action_mask"]
        assert space["observation"] == gymnasium.spaces.Box(0, 255, (size,), np.uint8)
        assert env.action_space(agent) == gymnasium.spaces.Discrete(108)
        assert space.contains(env.observe(agent))


# Whole episodes.


@pytest.mark.parametrize(
    ("episode", "make"), [("game", gin_rummy_v0.env), ("match", gin_rummy_v0.raw_env)]
)
@EVERY
def test_all_that_is_told_follows_from_the_hands_and_the_sheet(
    name: str, episode: str, make: Callable[..., Any]
) -> None:
    """Whole games and matches: turns, payments, ends, infos and every entry of the observations,
    as hands are dealt and at random points."""
    rng = np.random.default_rng(1)
    beside = Beside(make(name, episode=episode, best_of=3), dealer=1)
    seen_after = -1
    while True:
        beside.check_state()
        if beside.over or seen_after < beside.hands_played or rng.random() < 0.1:
            seen_after = beside.hands_played
            beside.check_observations()
            json.dumps(beside.env.infos)
        if beside.over:
            break
        beside.step(choose(beside.env.observe(beside.env.agent_selection), rng, wild=0.05))
    assert beside.hands_played > 2
    assert beside.games_played in ({"game": (1,), "match": (2, 3)}[episode])


@pytest.mark.parametrize(
    ("name", "episode", "reward"),
    [(name, "match", "points") for name in PRESETS]
    + [(name, "match", "win") for name in ("hollywood", "cutthroat")]
    + [(name, "game", "win") for name in ("classic", "partnership")],
)
def test_rewards_sum_to_the_settlement_and_none_is_heard_of_twice_or_not_at_all(
    name: str, episode: str, reward: str
) -> None:
    env = gin_rummy_v0.env(name, reward, episode=episode, best_of=3)
    beside = Beside(env, seed=3)
    rng = np.random.default_rng(3)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    heard = dict.fromkeys(env.possible_agents, 0.0)
    ends = []
    for agent in env.agent_iter():
        told, reward_since, terminated, truncated, info = env.last()
        heard[agent] += reward_since
        assert not truncated
        assert terminated == beside.over
        if terminated:
            ends.append(agent)
            assert not told["action_mask"].any()
            assert info["score_sheet"]["winner"] is not None
            env.step(None)
            continue
        beside.step(choose(told, rng))
        assert list(env.rewards.values()) == beside.pays
        for each, reward_now in env.rewards.items():
            paid[each] += reward_now
        if not beside.over and reward == "win":
            assert not any(env.rewards.values())
    assert env.agents == []
    assert sorted(ends) == env.possible_agents
    assert heard == paid
    if reward == "points":
        expected = beside.of_players(beside.sheet.settled)
        assert sum(expected) == 0
        assert any(expected)
    else:
        games = beside.sheet.games_won
        lost = -1 / (len(games) - 1)
        expected = beside.of_players([1 if won == max(games) else lost for won in games])
        rows = {
            "cutthroat": [-0.5, -0.5, 1],
            "partnership": [-1, -1, 1, 1],
        }
        assert sorted(expected) == rows.get(name, [-1, 1])
    assert list(paid.values()) == pytest.approx(expected)


def test_hollywood_pays_a_win_once_for_each_column_that_it_is_entered_in() -> None:
    env = gin_rummy_v0.env("hollywood", episode="game")
    beside = Beside(env, seed=5)
    rng = np.random.default_rng(5)
    times = set()
    while not beside.over:
        before = beside.sheet.boxes
        hands = beside.hands_played
        beside.step(choose(env.observe(env.agent_selection), rng))
        if beside.hands_played > hands and not beside.over:
            result = env.infos["player_0"]["result"]
            after = beside.sheet.boxes
            columns = sum(map(sum, after)) - sum(map(sum, before))
            times.add(columns)
            won = columns * result["points"]
            expected = {} if result["winner"] is None else {f"player_{result['winner']}": won}
            assert {agent: paid for agent, paid in env.rewards.items() if paid > 0} == expected
    assert times >= {1, 2, 3}


@pytest.mark.parametrize("reward", ["points", "win"])
@SEATED
def test_a_hand_played_singly_pays_its_points_or_its_winner(name: str, reward: str) -> None:
    """Partnership: a round of two hands. Small decks, of which many hands are dead."""
    env = gin_rummy_v0.env(name, reward, **SMALL)
    rng = np.random.default_rng(2)
    paid_nothing = paid_something = 0
    for seed in range(25):
        beside = Beside(env, seed=seed, dealer=seed % env.unwrapped.rules.num_players)
        beside.check_state()
        heard = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            told, reward_since, terminated, _, info = env.last()
            heard[agent] += reward_since
            if terminated:
                assert "score_sheet" not in info
                env.step(None)
                continue
            assert info == {}
            beside.step(choose(told, rng, wild=0.5))
            beside.check_state()
            beside.check_observations()
        assert list(heard.values()) == beside.pays
        paid_something += any(beside.pays)
        kinds = {hand.infos["player_0"]["result"]["kind"] for hand in beside.singles}
        if kinds == {"dead"}:
            paid_nothing += 1
            assert not any(beside.pays)
    assert paid_something > 5
    assert paid_nothing > 1


@BOTH
@SEATED
def test_after_the_end_each_agent_leaves_with_none_and_with_nothing_else(
    make: Callable[..., Any], name: str
) -> None:
    env = make(name, episode="game", **SHORT)
    beside = Beside(env, seed=1)
    beside.play(np.random.default_rng(1))
    left = list(env.agents)
    while left:
        agent = env.agent_selection
        with pytest.raises(ValueError, match="the only valid action is None"):
            env.step(0)
        assert env.agents == left
        env.step(None)
        left.remove(agent)
        assert env.agents == left
    env.reset(seed=1)
    assert env.agents == env.possible_agents


# What they may know.


def hide_from_all(state: State, rng: np.random.Generator) -> State:
    """The same hand, of which all that is not public is dealt anew."""
    other = state.copy()
    hands, seen = [int(hand) for hand in state.hands[0]], int(state.seen[0])
    at, drawn, mover = int(state.stock_next[0]), int(state.drawn[0]), int(state.mover[0])
    hidden = [cards.to_ids(hand & ~seen) for hand in hands]
    mixed = rng.permutation([*hidden[0], *hidden[1], *state.deck[0, at:].tolist()]).tolist()
    for seat, (hand, unknown) in enumerate(zip(hands, hidden, strict=True)):
        new, mixed = mixed[: len(unknown)], mixed[len(unknown) :]
        other.hands[0, seat] = int(cards.from_ids(new)) | hand & seen
        if seat == mover and drawn in unknown:
            other.drawn[0] = new[0]
    other.deck[0, at:] = mixed
    return other


def with_hands(env: Any, hands: State) -> Any:
    """A copy of the environment in which these hands are in play."""
    twin = copy.deepcopy(env.unwrapped)
    twin._play.hands = hands
    twin._start_turn()
    return twin


def test_who_sits_out_is_never_on_move_and_sees_what_is_public() -> None:
    env = gin_rummy_v0.raw_env("cutthroat", episode="match", best_of=3)
    beside = Beside(env, seed=2, dealer=2)
    rng = np.random.default_rng(2)
    sat_out, changed = set(), 0
    while not beside.over:
        (out,) = {0, 1, 2} - set(beside.seats[0])
        sat_out.add(out)
        assert env.agent_selection != f"player_{out}"
        hands = hide_from_all(env._play.hands, rng)
        changed += (hands.hands != env._play.hands.hands).any()
        twin = with_hands(env, hands)
        one, other = (each.observe(f"player_{out}") for each in (env, twin))
        assert one["observation"].tolist() == other["observation"].tolist()
        assert not one["action_mask"].any()
        assert not other["action_mask"].any()
        held = ("hand", "drawn", "own_known", "own_discards", "deadwood_after")
        assert not any(part(one, name).any() for name in held)
        assert beside.sheet.dealer == out
        beside.step(choose(env.observe(env.agent_selection), rng, wild=0.1))
    assert sat_out == {0, 1, 2}
    assert changed > 100


@pytest.mark.parametrize("name", ["classic", "hollywood", "cutthroat"])
def test_in_a_game_a_player_is_told_nothing_of_what_he_cannot_see(name: str) -> None:
    env = gin_rummy_v0.raw_env(name, episode="game")
    beside = Beside(env, seed=4)
    rng = np.random.default_rng(4)
    changed = 0
    while not beside.over:
        for seat, player in enumerate(beside.seats[0]):
            agent = f"player_{player}"
            hands = hide_otherwise(env._play.hands, seat, rng)
            changed += (hands.hands != env._play.hands.hands).any()
            one, other = (each.observe(agent) for each in (env, with_hands(env, hands)))
            for key, told in one.items():
                assert told.tolist() == other[key].tolist()
        beside.step(choose(env.observe(env.agent_selection), rng, wild=0.1))
    assert changed > 100


def test_points_have_two_entries_with_the_low_byte_first_and_counts_stop_at_255() -> None:
    env = gin_rummy_v0.raw_env("hollywood", episode="game", target=10_000, game_bonus=777)
    env.reset(seed=1)
    sheet = env._play.match
    sheet.totals[0] = [[1000, 0], [0, 515], [9999, 256]]
    sheet.boxes[0] = [[254, 255], [256, 300], [1, 0]]
    sheet.rounds[0] = 600
    env._start_turn()
    told = env.observe("player_1")
    assert part(told, "opponent_total_1").tolist() == [1000 % 256, 1000 // 256]
    assert part(told, "own_total_2").tolist() == [3, 2]
    assert part(told, "opponent_total_3").tolist() == [9999 % 256, 9999 // 256]
    assert part(told, "own_total_3").tolist() == [0, 1]
    assert part(told, "target").tolist() == [10_000 % 256, 10_000 // 256]
    assert part(told, "game_bonus").tolist() == [777 % 256, 777 // 256]
    boxes = [number(told, f"{who}_boxes_{n}") for who in ("opponent", "own") for n in (1, 2, 3)]
    assert boxes == [254, 255, 1, 255, 255, 0]
    assert number(told, "rounds") == 255
    assert (number(told, "own_to_go"), number(told, "opponent_to_go")) == (255, 255)


def told_by_own_actions(
    env: Any, decks: list[list[int]], rounds: int, table: int, seed: int
) -> dict[tuple[str, int], set[str]]:
    """What the two of a table are told in the last of some rounds, by how many actions were
    played at it; the other table is played by the seed."""
    beside = Beside(env, decks=decks)
    rng = np.random.default_rng(1)
    while beside.hands_played < 2 * (rounds - 1):
        beside.step(choose(env.observe(env.agent_selection), rng))
    rngs = {table: np.random.default_rng(2), 1 - table: np.random.default_rng(seed)}
    own = [f"player_{player}" for player in beside.seats[table]]
    told: dict[tuple[str, int], set[str]] = {}
    count = 0
    while beside.hands_played < 2 * rounds:
        for agent in own:
            known = env.observe(agent)
            shown = [known["observation"].tobytes(), env.infos[agent]]
            if agent == env.agent_selection:
                shown.append(known["action_mask"].tobytes())
                told.setdefault((agent, -count - 1), set()).add(repr(shown))
            else:
                assert not known["action_mask"].any()
            told.setdefault((agent, count), set()).add(repr(shown[:2]))
        count += beside.table == table
        wild = 0.5 if beside.table != table else 0
        beside.step(choose(env.observe(env.agent_selection), rngs[beside.table], wild))
    return told


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("table", [0, 1])
def test_partners_hear_nothing_of_the_other_table_until_both_hands_have_ended(
    table: int, rounds: int
) -> None:
    rules = preset("partnership")
    for seed in range(3):
        decks = some_decks(rules, 50 + seed, 2 * rounds)
        env = gin_rummy_v0.raw_env(rules, episode="game")
        one = told_by_own_actions(env, decks, rounds, table, seed=3)
        # Each is told the same however often the other table has played meanwhile.
        assert all(len(shown) == 1 for shown in one.values())
        decks[2 * rounds - 1 - table] = whole_deck(seed, rules)
        other = told_by_own_actions(env, decks, rounds, table, seed=4)
        # How long the round went on after its own hand is all that it may learn.
        both = one.keys() & other.keys()
        assert len(both) > 10
        assert {key: one[key] for key in both} == {key: other[key] for key in both}


def test_tables_take_turns_one_action_each_and_the_first_is_player_0s() -> None:
    env = gin_rummy_v0.raw_env("partnership", episode="game")
    beside = Beside(env, seed=6, dealer=3)
    rng = np.random.default_rng(6)
    both_lasted, rounds = [], set()
    while not beside.over:
        table = {player: at for at, seats in enumerate(beside.seats) for player in seats}
        played: list[int] = []
        hands = beside.hands_played
        while beside.hands_played == hands:
            played.append(table[int(env.agent_selection[-1])])
            beside.step(choose(env.observe(env.agent_selection), rng))
        assert table[0] == 0
        short = min(played.count(0), played.count(1))
        assert played[: 2 * short] == [0, 1] * short
        assert len(set(played[2 * short :])) == 1
        both_lasted.append(short)
        rounds.add(tuple(sorted(table.items())))
        # Each is told of both hands now, his own and his partner's.
        for agent, info in env.infos.items():
            assert int(agent[-1]) in info["result"]["seats"]
            assert int(agent[-1]) not in info["partner_result"]["seats"]
    assert min(both_lasted) > 1
    assert len(rounds) == 2


@SEATED
def test_of_a_dead_hand_in_a_game_each_is_told_his_own_deadwood_alone(name: str) -> None:
    env = gin_rummy_v0.env(name, episode="game", **SMALL, target=500)
    rng = np.random.default_rng(3)
    beside = Beside(env, seed=3)
    dead = {"result": 0} | ({"partner_result": 0} if name == "partnership" else {})
    while min(dead.values()) < 9:
        places = [beside.place(player) for player in range(beside.players)]
        played = beside.hands_played
        beside.step(choose(env.observe(env.agent_selection), rng, wild=0.3))
        if beside.hands_played == played:
            continue
        if beside.over:
            beside = Beside(env, seed=sum(dead.values()))
            continue
        for agent, place in zip(env.agents, places, strict=True):
            info = dict(env.infos[agent])
            del info["score_sheet"]
            for key, result in info.items():
                if result["kind"] == "dead":
                    dead[key] += 1
                    deadwood: list[int | None] = [None, None]
                    if place is not None and key == "result":
                        deadwood[place[1]] = beside.last_deadwood[place]
                    expected = {
                        "kind": "dead",
                        "winner": None,
                        "points": 0,
                        "deadwood": deadwood,
                        "melds": [[], []],
                        "layoffs": [],
                    }
                    if name != "classic":
                        expected["seats"] = result["seats"]
                    assert result == expected


# Options.


@SEATED
def test_decks_are_those_of_the_first_hands_and_the_later_ones_stay_the_same(name: str) -> None:
    """Four decks, in partnership of two rounds; hands on them are checked to be dealt from them,
    and with one deck, or three, all others are what they are without."""
    rules = preset(name)
    given = some_decks(rules, 7, 4)

    def played_from(**options: Any) -> list[list[int]]:
        env = gin_rummy_v0.raw_env(rules, episode="game", target=1000)
        env.reset(seed=9, options=options)
        rng, decks = np.random.default_rng(1), []
        for _ in range(6):
            decks += env._play.hands.deck.tolist()
            to_the_next_hand(env, rng)
        return decks

    plain = played_from()
    assert len({tuple(deck) for deck in plain}) == len(plain)
    assert played_from(deck=given[0]) == given[:1] + plain[1:]
    assert played_from(decks=given[:3], dealer=1) == given[:3] + plain[3:]
    assert played_from(decks=[]) == plain
    assert played_from(dealer=0) == plain
    env = gin_rummy_v0.raw_env(rules, episode="game")
    beside = Beside(env, decks=given)
    while beside.hands_played < 4 and not beside.over:
        beside.check_observations()
        beside.step(choose(env.observe(env.agent_selection), np.random.default_rng(1)))
    assert beside.hands_played >= 4


def test_decks_are_forgotten_at_the_next_reset() -> None:
    env = gin_rummy_v0.raw_env("classic", episode="game")
    given = some_decks(env.rules, 8, 30)
    env.reset(seed=1, options={"decks": given})
    env.reset()
    to_the_next_hand(env, np.random.default_rng(1))
    assert env._play.hands.deck[0].tolist() not in given


@pytest.mark.parametrize("episode", EPISODES)
@SEATED
def test_the_dealer_is_a_player(name: str, episode: str) -> None:
    env = gin_rummy_v0.env(name, episode=episode)
    players = len(env.possible_agents)
    for dealer in range(players):
        env.reset(seed=1, options={"dealer": np.int64(dealer)})
        known = {agent: env.observe(agent) for agent in env.agents}
        deal = [agent for agent in env.agents if part(known[agent], "is_dealer")[0]]
        if name == "cutthroat":
            # He sits out, and to his left is who acts first.
            assert env.agent_selection == f"player_{(dealer + 1) % 3}"
            assert deal == [f"player_{(dealer + 2) % 3}"]
            assert not part(known[f"player_{dealer}"], "hand").any()
        elif name == "partnership":
            assert env.agent_selection == f"player_{1 - dealer % 2}"
            assert deal == [f"player_{dealer % 2}", f"player_{dealer % 2 + 2}"]
        else:
            assert env.agent_selection == f"player_{1 - dealer}"
            assert deal == [f"player_{dealer}"]
        if episode != "hand":
            sheet = env.infos["player_0"]["score_sheet"]
            assert sheet["dealer"] == dealer % env.unwrapped.rules.num_sides


def test_the_cut_gives_every_player_the_first_deal() -> None:
    for name, players in {"classic": 2, "cutthroat": 3, "partnership": 2}.items():
        env = gin_rummy_v0.env(name, episode="game")
        dealers = []
        for seed in range(30):
            env.reset(seed=seed)
            dealers.append(env.infos["player_0"]["score_sheet"]["dealer"])
        assert set(dealers) == set(range(players))
    env = gin_rummy_v0.env("cutthroat", episode="game", first_dealer=2)
    for _ in range(5):
        env.reset()
        assert env.agent_selection == "player_0"


DECK = whole_deck(1, Rules())
NAMES = [cards.name(card) for card in DECK]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deck": DECK, "decks": [DECK]}, "'deck' is the first of 'decks': give one of the two"),
        ({"deck": DECK[:-1]}, f"deck: 51 cards, and the deck has 52; missing: {NAMES[-1]}$"),
        ({"decks": [DECK, DECK[1:]]}, f"decks: 2: 51 cards.*missing: {NAMES[0]}$"),
        ({"decks": [DECK, DECK, [*NAMES, "7d"]]}, "decks: 3: 7d is there twice"),
        ({"decks": [DECK, "As 7x"]}, "decks: 2: '7x' is not a card"),
        ({"decks": " ".join(NAMES)}, "decks: "),
        ({"decks": [5]}, "decks: 1: "),
        ({"decks": 5}, "decks: "),
        ({"decks": None}, "decks: "),
        ({"dealer": 4}, "dealer=4: must be a player's number, 0 to 3"),
        ({"dealer": -1}, "dealer=-1: must be a player's number, 0 to 3"),
        ({"dealer": 1.0}, "dealer=1.0: must be a player's number, 0 to 3"),
        ({"dealer": "cut"}, "dealer='cut': must be a player's number, 0 to 3"),
        ({"dealers": 1}, "'dealers' is unknown; there are deck, decks, dealer"),
    ],
)
@BOTH
def test_a_wrong_option_is_named_and_the_episode_goes_on(
    make: Callable[..., Any], options: Any, message: str
) -> None:
    env = make("partnership", episode="game")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    to_the_next_hand(env, rng)
    env.step(choose(env.observe(env.agent_selection), rng))
    twin = copy.deepcopy(env)
    with pytest.raises(ValueError, match=f"options: {message}"):
        env.reset(seed=2, options=options)
    go_on_alike(env, twin, wild=0, most=7)


# Reset, seeds, copies.


def go_on_alike(one: Any, other: Any, wild: float = 0.1, most: int = 100_000) -> int:
    """Play both alike; all that they tell must be the same. How many hands ended."""
    rngs = [np.random.default_rng(7), np.random.default_rng(7)]
    hands, infos = 0, one.infos
    for played in range(most):
        over = one.terminations[one.agent_selection]
        if over or played % 3 == 0:
            assert all_told(one.unwrapped) == all_told(other.unwrapped)
        if over:
            break
        for env, rng in zip((one, other), rngs, strict=True):
            env.step(choose(env.observe(env.agent_selection), rng, wild))
        hands += one.infos is not infos
        infos = one.infos
    return hands


@pytest.mark.parametrize("episode", EPISODES)
@SEATED
def test_a_reset_in_the_middle_leaves_nothing_behind(name: str, episode: str) -> None:
    """Within a first hand, within a later one, at the end, and half-way through the end."""
    rules = preset(name, **SHORT, best_of=3)
    env = gin_rummy_v0.env(rules, episode=episode)
    for stop in ("at once", "in a hand", "in a later hand", "at the end", "half-way out"):
        rng = np.random.default_rng(3)
        env.reset(seed=3, options={"decks": some_decks(rules, 1, 8), "dealer": 1})
        if stop == "in a hand":
            for _ in range(3):
                env.step(choose(env.observe(env.agent_selection), rng))
        if stop == "in a later hand":
            if episode != "hand":
                to_the_next_hand(env, rng)
            env.step(choose(env.observe(env.agent_selection), rng))
        if stop in ("at the end", "half-way out"):
            while not env.terminations[env.agent_selection]:
                env.step(choose(env.observe(env.agent_selection), rng))
        if stop == "half-way out":
            env.step(None)
        env.reset(seed=5)
        fresh = gin_rummy_v0.env(rules, episode=episode)
        fresh.reset(seed=5)
        go_on_alike(env, fresh)


@pytest.mark.parametrize("episode", LONG)
@SEATED
def test_a_seed_is_a_whole_episode_and_without_one_the_generator_goes_on(
    name: str, episode: str
) -> None:
    one, other = (gin_rummy_v0.env(name, episode=episode, best_of=3, **SHORT) for _ in range(2))
    one.reset(seed=11)
    other.reset(seed=11)
    assert go_on_alike(one, other) > 2
    one.reset()
    other.reset()
    again = all_told(one.unwrapped)
    assert go_on_alike(one, other) > 2
    one.reset(seed=11)
    assert all_told(one.unwrapped)["observations"] != again["observations"]


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("episode", LONG)
@SEATED
@BOTH
def test_a_copy_in_the_middle_of_a_game_goes_on_as_the_first_one(
    make: Callable[..., Any], name: str, episode: str, copied: Callable[[Any], Any]
) -> None:
    env = make(name, episode=episode, best_of=3, render_mode="ansi", **SHORT)
    given = some_decks(env.unwrapped.rules, 2, 12)
    for actions_played in (9, 40):
        env.reset(seed=actions_played, options={"decks": given})
        rng = np.random.default_rng(1)
        for _ in range(actions_played):
            if not env.terminations[env.agent_selection]:
                env.step(choose(env.observe(env.agent_selection), rng))
        twin, third = copied(env), copied(env)
        assert twin.render() == env.render()
        before = all_told(third.unwrapped)
        go_on_alike(env, twin, most=60)
        assert all_told(third.unwrapped) == before
        # So is what the generator deals next.
        env.reset()
        twin.reset()
        assert all_told(twin.unwrapped) == all_told(env.unwrapped)


def test_an_environment_never_reset_is_pickled_with_its_arguments() -> None:
    env = gin_rummy_v0.env("cutthroat", "win", "ansi", "match", best_of=3)
    twin = pickle.loads(pickle.dumps(env))
    assert twin.unwrapped.rules == preset("cutthroat", best_of=3)
    assert (twin.unwrapped.reward, twin.unwrapped.episode) == ("win", "match")
    env.reset(seed=3)
    twin.reset(seed=3)
    assert twin.render() == env.render()


# Illegal actions.


@pytest.mark.parametrize("reward", ["points", "win"])
@SEATED
def test_an_illegal_action_ends_a_game_and_takes_away_nothing_that_was_paid(
    name: str, reward: str
) -> None:
    for hands in (0, 1, 3):
        env = gin_rummy_v0.env(name, reward, episode="match", best_of=9)
        beside = Beside(env, seed=hands)
        rng = np.random.default_rng(hands)
        heard = dict.fromkeys(env.agents, 0.0)
        paid = dict.fromkeys(env.agents, 0.0)
        offender = None
        for agent in env.agent_iter():
            told, reward_since, terminated, truncated, info = env.last()
            heard[agent] += reward_since
            assert terminated == truncated == (offender is not None)
            if terminated:
                assert not told["action_mask"].any()
                assert info == beside.infos[int(agent[-1])]
                env.step(None)
            elif beside.hands_played >= hands * len(beside.seats):
                offender = agent
                env.step(int(told["action_mask"].argmin()))
                assert list(env.rewards.values()) == [-float(a == offender) for a in env.agents]
            else:
                beside.step(choose(told, rng))
                for each, now in env.rewards.items():
                    paid[each] += now
        assert offender is not None
        paid[offender] -= 1
        assert heard == paid
        env.reset(seed=1)
        to_the_next_hand(env, rng)
        assert not any(env.terminations.values())


@SEATED
def test_without_wrappers_an_illegal_action_in_a_game_changes_nothing(name: str) -> None:
    env = gin_rummy_v0.raw_env(name, episode="game")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    to_the_next_hand(env, rng)
    for _ in range(5):
        before = all_told(env)
        for action in (int(env.last()[0]["action_mask"].argmin()), 108, None, "stock"):
            with pytest.raises(ValueError, match=f"{env.agent_selection} cannot play .*; legal: "):
                env.step(action)
        assert all_told(env) == before
        env.step(choose(env.observe(env.agent_selection), rng))


# Text.


@pytest.mark.parametrize("name", ["hollywood", *SEATINGS])
def test_ansi_shows_every_table_and_the_score_sheet(name: str) -> None:
    env = gin_rummy_v0.env(name, episode="match", render_mode="ansi", best_of=3)
    beside = Beside(env, seed=8)
    rng = np.random.default_rng(8)
    while not beside.over:
        ended = beside.hands_played
        beside.step(choose(env.observe(env.agent_selection), rng))
        if beside.hands_played == ended and rng.random() < 0.95:
            continue
        blocks = env.render().split("\n\n")
        assert len(blocks) == len(beside.seats) + 1
        for block, seats in zip(blocks, beside.seats, strict=False):
            assert all(f"player_{player}" in block for player in seats)
            assert "Stock: " in block
        sheet = blocks[-1].splitlines()
        assert sheet[0].startswith(f"Score, to {env.unwrapped.rules.target}")
        rows = [line for line in sheet if line.startswith("player_") and line[-1] != "."]
        sides = len(beside.sheet.games_won)
        assert len(rows) == sides
        for side, row in enumerate(rows):
            figures = [int(word) for word in row.split() if word.lstrip("-").isdigit()]
            columns = zip(beside.sheet.totals, beside.sheet.boxes, strict=True)
            expected = [each[side] for pair in columns for each in pair]
            assert figures[: len(expected)] == expected
            assert figures[len(expected)] == beside.sheet.games_won[side]
    assert "wins the match" in sheet[-1] or "win the match" in sheet[-1]


@SEATED
def test_ansi_shows_no_score_sheet_of_a_single_hand(name: str) -> None:
    env = gin_rummy_v0.env(name, render_mode="ansi")
    env.reset(seed=1)
    blocks = env.render().split("\n\n")
    assert len(blocks) == {"partnership": 2}.get(name, 1)
    assert "Score" not in env.render()


# At random.

FIELDS = {
    "seating": st.sampled_from(["heads_up", "cutthroat", "partnership"]),
    "score_sheet": st.sampled_from(["single", "hollywood"]),
    "target": st.one_of(st.integers(1, 120), st.sampled_from([300, 1000])),
    "game_bonus": st.sampled_from([0, 100, 1000]),
    "shutout_bonus": st.sampled_from([0, 100]),
    "box_bonus": st.sampled_from([0, 20, 300]),
    "partners_bonus": st.sampled_from([0, 25]),
    "undercut_bonus": st.sampled_from([0, 25]),
    "gin_bonus": st.sampled_from([0, 25, 200]),
    "big_gin_bonus": st.sampled_from([None, 31]),
    "next_dealer": st.sampled_from(["loser", "alternate"]),
    "dead_hand_dealer": st.sampled_from(["same", "alternate"]),
    "best_of": st.sampled_from([1, 3, 5]),
    "tie": st.sampled_from(["undercut", "draw"]),
    "last_discard": st.sampled_from(["dead", "may_knock"]),
    "first_upcard": st.sampled_from(["offer", "open"]),
}


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    fields=st.fixed_dictionaries(FIELDS),
    episode=st.sampled_from(LONG),
    reward=st.sampled_from(["points", "win"]),
    wild=st.sampled_from([0, 0.1, 0.4]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_game_goes_on_as_the_reference_says(
    fields: dict[str, Any], episode: str, reward: str, wild: float, seed: int
) -> None:
    if fields["seating"] != "heads_up":
        fields["score_sheet"] = "single"
    if fields["seating"] != "partnership":
        del fields["partners_bonus"]
    rules = Rules(**{**SHORT, **fields})
    env = gin_rummy_v0.raw_env(rules, reward, episode=episode)
    beside = Beside(env, seed=seed, dealer=seed % rules.num_players)
    rng = np.random.default_rng(seed)
    while not beside.over and beside.hands_played < 30:
        beside.check_state()
        if rng.random() < 0.2:
            beside.check_observations()
        beside.step(choose(env.observe(env.agent_selection), rng, wild))
    beside.check_state()
    beside.check_observations()
