"""Hands, games or matches in play on B lanes: the engine below, the score sheets above.

An episode is one hand (partnership: one round), one game or one match. :func:`step` plays the
seats on move and folds ended hands into the sheets; :func:`deal` goes on from there. There is no
other place where a hand's end meets a sheet: environments, arena and replays all come here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ginenv import engine, match, observation
from ginenv.engine import State
from ginenv.match import Match
from ginenv.observation import Standing, View
from ginenv.rules import Rules

EPISODES = ("hand", "game", "match")


@dataclass(slots=True)
class Play:
    """B episodes in play; T tables each (partnership 2, else 1)."""

    rules: Rules
    episode: str
    """One of EPISODES."""
    hands: State
    """Table ``t`` of episode ``b`` is its lane ``b * T + t``."""
    match: Match
    seats: NDArray[np.intp]
    """The players at seats 0 and 1 of each table, [B, T, 2]."""
    table: NDArray[np.intp]
    """Whose table is on move, [B]."""
    paid: NDArray[np.int64]
    """Points paid so far to each player in this episode, [B, P]."""
    waits: NDArray[np.bool_]
    """The hands have ended and the next ones are not dealt yet, or there are none, [B]."""
    over: NDArray[np.bool_]
    """The episode has ended, [B]."""

    def __len__(self) -> int:
        return len(self.over)

    @property
    def on_move(self) -> NDArray[np.intp]:
        """Lanes of ``hands`` that are on move, [B]."""
        lanes = np.arange(len(self.over))
        return lanes if self.rules.num_tables == 1 else lanes * 2 + self.table

    @property
    def mover(self) -> NDArray[np.intp]:
        """The player on move, [B]; of no meaning where a hand has ended."""
        seat = self.hands.mover
        if self.rules.seating == "heads_up":
            return seat
        return self.seats[np.arange(len(self)), self.table, seat[self.on_move]]


class Ended(NamedTuple):
    """Episodes whose hands (partnership: both hands of the round) ended in a step."""

    lanes: NDArray[np.intp]
    """[N]."""
    payoffs: NDArray[np.int64]
    """Points that this pays each player, [N, P]; they sum to 0."""


_NO_LANES = np.zeros(0, dtype=np.intp)


def start(rules: Rules, episode: str, decks: NDArray[np.uint8], dealers: NDArray[Any]) -> Play:
    """Episodes with their first hands dealt.

    ``decks``: uint8 [B, T, D] in deal order; ``dealers``: players [B] who deal first. As
    everywhere in the rules, a player who deals in cutthroat sits out.
    """
    sheets = match.start(rules, dealers)
    lanes = len(sheets)
    return Play(
        rules=rules,
        episode=episode,
        hands=_deal(sheets, decks),
        match=sheets,
        seats=match.seats(sheets),
        table=np.zeros(lanes, np.intp),
        paid=np.zeros((lanes, rules.num_players), np.int64),
        waits=np.zeros(lanes, np.bool_),
        over=np.zeros(lanes, np.bool_),
    )


def _deal(sheets: Match, decks: NDArray[np.uint8]) -> State:
    size = decks.shape[-1]
    return engine.deal(
        sheets.rules, decks.reshape(-1, size), match.dealer_seats(sheets).reshape(-1)
    )


def restart(
    play: Play, lanes: NDArray[np.intp], decks: NDArray[np.uint8], dealers: NDArray[Any]
) -> None:
    """Begin new episodes on these lanes, decks [N, T, D] and players who deal first [N]."""
    play.match.put(lanes, match.start(play.rules, dealers))
    play.paid[lanes] = 0
    play.over[lanes] = False
    _deal_lanes(play, lanes, decks)


def deal(
    play: Play, lanes: NDArray[np.intp], decks: NDArray[np.uint8], generator: np.random.Generator
) -> None:
    """Deal the next hands of lanes that wait and are not over, decks [N, T, D].

    After a game it begins the match's next; ``generator`` is used as in ``match.next_game``.
    """
    if play.episode == "match":
        ended = lanes[play.match.winner[lanes] != match.NOBODY]
        if len(ended):
            match.next_game(play.match, ended, generator)
    _deal_lanes(play, lanes, decks)


def _deal_lanes(play: Play, lanes: NDArray[np.intp], decks: NDArray[np.uint8]) -> None:
    sheets, at = play.match, lanes
    if len(lanes) < len(play):
        sheets = sheets.take(lanes)
    if play.rules.num_tables == 2:
        at = (lanes[:, None] * 2 + np.array([0, 1])).reshape(-1)
    play.hands.put(at, _deal(sheets, decks))
    if play.rules.seating != "heads_up":
        play.seats[lanes] = match.seats(sheets)
    play.table[lanes] = 0
    play.waits[lanes] = False


def step(play: Play, chosen: NDArray[np.integer[Any]]) -> Ended:
    """Play one legal action for the player on move of each episode, ints [B], in place.

    Lanes that wait or are over are left alone. What has ended is entered on the sheets; the ended
    hands stay to be looked at until :func:`deal` or :func:`restart`.
    """
    hands = play.hands
    if play.rules.num_tables == 1:
        engine.step(hands, chosen)
        fresh = hands.phase == engine.OVER
    else:
        fresh = _step_tables(play, chosen)
    lanes = (fresh & ~play.waits).nonzero()[0]
    if not len(lanes):
        return Ended(_NO_LANES, play.paid[:0])
    play.waits[lanes] = True
    return Ended(lanes, _enter(play, lanes))


def _step_tables(play: Play, chosen: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Step the table on move; tables take turns until both hands have ended: which have, [B]."""
    every = np.full(len(play.hands), engine.NO_ACTION)
    every[play.on_move] = chosen
    engine.step(play.hands, every)
    over = play.hands.over.reshape(-1, 2)
    other = 1 - play.table
    there = np.arange(len(play))
    play.table[:] = np.where(over[there, other], play.table, other)
    return over[:, 0] & over[:, 1]


def _enter(play: Play, lanes: NDArray[np.intp]) -> NDArray[np.int64]:
    """Enter these lanes' ended hands: what each player is paid, [N, P]."""
    tables = play.rules.num_tables
    at = lanes[:, None] * tables + np.arange(tables)
    winners, points = play.hands.winner[at], play.hands.points[at]
    entered = match.enter(play.match, lanes, winners, points)
    if play.episode == "hand":
        play.over[lanes] = True
        payoffs = _pay_hand(play, lanes, winners, points, entered)
    else:
        payoffs = _pay_entered(play, lanes, entered)
    play.paid[lanes] += payoffs
    return payoffs


def _pay_entered(
    play: Play, lanes: NDArray[np.intp], entered: NDArray[np.int32]
) -> NDArray[np.int64]:
    """In games and matches each is paid what was entered for him less what was for each other;
    at the end, what is left to his settlement."""
    gains = play.rules.num_sides * entered.astype(np.int64) - entered.sum(axis=1, keepdims=True)
    payoffs = match.by_player(play.rules, gains)
    ends = play.match.over if play.episode == "match" else play.match.winner != match.NOBODY
    ended = ends[lanes].nonzero()[0]
    if len(ended):
        at = lanes[ended]
        play.over[at] = True
        payoffs[ended] = match.by_player(play.rules, play.match.settled[at]) - play.paid[at]
    return payoffs


def _pay_hand(
    play: Play,
    lanes: NDArray[np.intp],
    winners: NDArray[np.int8],
    points: NDArray[np.int16],
    entered: NDArray[np.int32],
) -> NDArray[np.int64]:
    """A hand played singly pays its points; in cutthroat who sits out has no part in it."""
    if play.rules.seating != "cutthroat":
        gains = 2 * entered - entered.sum(axis=1, keepdims=True)
        return match.by_player(play.rules, gains).astype(np.int64)
    payoffs = np.zeros((len(lanes), 3), np.int64)
    sign = np.array([[1, -1], [-1, 1], [0, 0]])  # by winner; NOBODY takes the last
    np.put_along_axis(
        payoffs, play.seats[lanes, 0], sign[winners[:, 0]] * points.astype(np.int64), axis=1
    )
    return payoffs


def standing(
    play: Play, players: NDArray[np.intp], lanes: NDArray[np.intp] | None = None
) -> Standing | None:
    """The score as these players see it, [B]; None of hands that are played singly.

    ``lanes``: only these episodes, with players [N].
    """
    if play.episode == "hand":
        return None
    rules = play.rules
    sheets = play.match if lanes is None else play.match.take(lanes)
    own = players % rules.num_sides
    sides = np.stack([own, 1 - own])
    if rules.seating == "cutthroat":
        # The others in order of their seats, then who sits out; he himself comes first.
        table = play.seats[:, 0] if lanes is None else play.seats[lanes, 0]
        order = np.concatenate([table, 3 - table.sum(axis=1, keepdims=True)], axis=1)
        others = order[order != own[:, None]].reshape(-1, 2)
        sides = np.stack([own, *others.T])
    games = rules.games_to_win if play.episode == "match" else 1
    return observation.standing(sheets, sides, games)


def hands_on_move(play: Play, lanes: NDArray[np.intp] | None = None) -> State:
    """The hands of the seats on move, [B], or of these episodes [N]; maybe not a copy."""
    if lanes is None:
        return play.hands if play.rules.num_tables == 1 else play.hands.take(play.on_move)
    return play.hands.take(play.on_move[lanes])


def view(play: Play, hands: State, lanes: NDArray[np.intp] | None = None) -> View:
    """What the players on move know; ``hands`` of :func:`hands_on_move` for the same lanes."""
    movers = play.mover if lanes is None else play.mover[lanes]
    return observation.view(hands, game=standing(play, movers, lanes))


def winners(play: Play) -> NDArray[np.int8]:
    """The side that has won each episode, [B]; NOBODY while it is played, and of a dead hand.

    A match is won by who has won enough games, a game as its sheet says, a hand (partnership: a
    round) by who has a box for it.
    """
    if play.episode == "match":
        best: NDArray[np.int8] = play.match.games_won.argmax(axis=1).astype(np.int8)
        return np.where(play.match.over, best, np.int8(match.NOBODY))
    if play.episode == "game":
        return play.match.winner
    boxes = play.match.boxes[:, 0]
    by_box: NDArray[np.int8] = boxes.argmax(axis=1).astype(np.int8)
    return np.where(boxes.any(axis=1), by_box, np.int8(match.NOBODY))


def win_payoffs(play: Play) -> NDArray[np.float64]:
    """1 to the winner of each episode, and to the others what sums to 0, [B, P]; else 0."""
    rules = play.rules
    won = winners(play)[:, None]
    others = -1 / (rules.num_sides - 1)
    gains = np.where(np.arange(rules.num_sides) == won, 1.0, others)
    if play.episode == "hand" and rules.seating == "cutthroat":
        # Who sits out has no part in the hand.
        gains[gains < 0] = -1.0
        gains[np.arange(len(play)), 3 - play.seats[:, 0].sum(axis=1)] = 0.0
    paid: NDArray[np.float64] = match.by_player(rules, np.where(won < 0, 0.0, gains))
    return paid
