"""Hands -> games -> matches on B lanes: score sheets, who deals, who sits where.

No rule of a hand is in here: :func:`enter` is told who won which hand with how many points. A
*side* is what has a total: a player heads up and in cutthroat, a pair in partnership; player ``p``
is of side ``p % S``. S sides, C columns of the sheet (3 in Hollywood, else 1), T tables (2 in
partnership, else 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ginenv.lanes import Lanes
from ginenv.rules import Rules

NOBODY = -1

Ints = NDArray[np.intp]

_TABLES = np.array([[[0, 1], [2, 3]], [[0, 3], [2, 1]]], dtype=np.intp)
"""Partnership: players by parity of the round, table and seat. Seat 0 is of side 0."""
# Constants are arrays without axes: numpy takes them up faster than its scalars.
_ONE = np.array(1, dtype=np.intp)


@dataclass(slots=True)
class Match(Lanes):
    """B matches, each with the sheet of the game in play."""

    rules: Rules
    totals: NDArray[np.int32]
    """Points entered, [B, C, S]."""
    boxes: NDArray[np.int32]
    """Hands (partnership: rounds) entered as won, [B, C, S]."""
    closed_by: NDArray[np.int8]
    """The side that reached the target in the column, NOBODY while it is open, [B, C]."""
    dealer: NDArray[np.intp]
    """Who deals the hand in play, or the next: a side, [B]."""
    rounds: NDArray[np.int32]
    """Hands (partnership: rounds of two) played in this game, dead ones too, [B]."""
    winner: NDArray[np.int8]
    """The side that has won the game on the sheet, NOBODY while it is played, [B]."""
    games_won: NDArray[np.int16]
    """[B, S]."""
    settled: NDArray[np.int32]
    """Settlements of the match's games that have ended, summed, [B, S]."""

    def __len__(self) -> int:
        return len(self.dealer)

    @property
    def over(self) -> NDArray[np.bool_]:
        """Which matches have ended, bool [B]."""
        over: NDArray[np.bool_] = self.games_won.max(axis=1) >= self.rules.games_to_win
        return over


def cut(rules: Rules, generator: np.random.Generator, lanes: int) -> Ints:
    """Players who deal first, [lanes]: as ``first_dealer`` says."""
    players = generator.integers(0, rules.num_players, lanes)
    return players if rules.first_dealer == "cut" else np.full_like(players, rules.first_dealer)


def start(rules: Rules, dealers: NDArray[np.integer[Any]]) -> Match:
    """Matches before their first hand; ``dealers``: players [B]."""
    lanes, sides = len(dealers), rules.num_sides
    sheet = (lanes, rules.num_columns, sides)
    return Match(
        rules=rules,
        totals=np.zeros(sheet, np.int32),
        boxes=np.zeros(sheet, np.int32),
        closed_by=np.full(sheet[:2], NOBODY, np.int8),
        dealer=np.asarray(dealers, dtype=np.intp) % sides,
        rounds=np.zeros(lanes, np.int32),
        winner=np.full(lanes, NOBODY, np.int8),
        games_won=np.zeros((lanes, sides), np.int16),
        settled=np.zeros((lanes, sides), np.int32),
    )


def seats(match: Match) -> Ints:
    """The players at seats 0 and 1 of each table in the hand in play, or the next: [B, T, 2].

    Cutthroat: the dealer sits out; seat 0 is to his left and acts first. Partnership: tables
    swap with every round, and every game begins with 0 v 1 and 2 v 3.
    """
    if match.rules.seating == "cutthroat":
        left = match.dealer[:, None] + np.array([1, 2])
        there: Ints = (left % 3)[:, None, :]
        return there
    if match.rules.seating == "partnership":
        return _TABLES[match.rounds % 2]
    return np.broadcast_to(_TABLES[0, :1], (len(match), 1, 2))


def dealer_seats(match: Match) -> Ints:
    """Which seat deals (acts second) at each table, [B, T]."""
    if match.rules.seating == "cutthroat":
        return np.ones((len(match), 1), dtype=np.intp)
    return match.dealer[:, None].repeat(match.rules.num_tables, axis=1)


def enter(
    match: Match, lanes: Ints, winners: NDArray[np.integer[Any]], points: NDArray[np.integer[Any]]
) -> NDArray[np.int32]:
    """Enter what hands of these lanes [N] have brought, in place.

    ``winners``: the seat that won at each table, NOBODY for a hand without a winner, [N, T];
    ``points``: what he scored, [N, T]. Returns the points entered for each side, over all columns,
    [N, S]. Ends games and else sets who deals next. A win worth 0 points is entered and has its
    box all the same.
    """
    sides = match.rules.num_sides
    side, loser, amount = _won(match, lanes, winners, points)
    match.rounds[lanes] += 1
    entered = np.zeros((len(lanes), sides), np.int32)
    won = (side >= 0).nonzero()[0]
    at, by, amount = lanes[won], side[won], amount[won]
    _set_dealer(match, lanes, won, loser)
    if match.rules.num_columns == 1:
        cell = at * sides + by
        totals, boxes = match.totals.reshape(-1), match.boxes.reshape(-1)
        total = totals[cell] + amount
        totals[cell] = total
        boxes[cell] += 1
        entered.reshape(-1)[won * sides + by] = amount
        ends = (total >= match.rules.target).nonzero()[0]
        match.closed_by[at[ends], 0] = by[ends]
    else:
        into = _open_columns(match, at, by)
        match.totals[at, :, by] += into * amount[:, None]
        match.boxes[at, :, by] += into
        entered[won, by] = into.sum(axis=1) * amount
        closed = into & (match.totals[at, :, by] >= match.rules.target)
        match.closed_by[at] = np.where(closed, by[:, None], match.closed_by[at])
        ends = (match.closed_by[at] != NOBODY).all(axis=1).nonzero()[0]
    if len(ends):
        _end_game(match, at[ends])
    return entered


def _won(
    match: Match, lanes: Ints, winners: NDArray[np.integer[Any]], points: NDArray[np.integer[Any]]
) -> tuple[Ints, Ints, Ints]:
    """The side that won the hand or round (or NOBODY), the one that lost it, what is entered."""
    if match.rules.seating == "partnership":
        return _won_rounds(match.rules, winners, points)
    seat = winners[:, 0].astype(np.intp)
    amount = points[:, 0].astype(np.intp)
    if match.rules.seating == "heads_up":
        return seat, _ONE - seat, amount
    dealer = match.dealer[lanes]
    winner = np.where(seat < 0, NOBODY, (dealer + 1 + seat) % 3)
    return winner, (dealer + 2 - seat) % 3, amount


def _won_rounds(
    rules: Rules, winners: NDArray[np.integer[Any]], points: NDArray[np.integer[Any]]
) -> tuple[Ints, Ints, Ints]:
    """Partnership: both hands of a round together. If both were won by one side, though they be
    worth nothing, the round is that side's."""
    signs = np.array([1, -1, 0])[winners]  # NOBODY takes the last
    net = (signs * points).sum(axis=1)
    swept = signs[:, 0] * (signs[:, 0] == signs[:, 1])  # by whom both hands were won
    net = net + swept * rules.partners_bonus
    lead = np.where(net != 0, net, swept)
    side = np.select([lead > 0, lead < 0], [0, 1], NOBODY)
    return side, 1 - side, abs(net)


def _set_dealer(match: Match, lanes: Ints, won: Ints, loser: Ints) -> None:
    """Who deals after these hands, of which the ``won`` have a winner."""
    rules = match.rules
    dealer = match.dealer[lanes]
    left = (dealer + _ONE) % rules.num_sides
    following = left if rules.dead_hand_dealer == "alternate" else dealer
    following[won] = (left if rules.next_dealer == "alternate" else loser)[won]
    match.dealer[lanes] = following


def _open_columns(match: Match, lanes: Ints, by: Ints) -> NDArray[np.bool_]:
    """Hollywood: columns in which a win of these sides is entered, bool [N, C].

    Every open one in which the side has won before, and the first open one in which it has not.
    """
    is_open = match.closed_by[lanes] == NOBODY
    fresh = is_open & (match.boxes[lanes, :, by] == 0)
    first = fresh & (fresh.cumsum(axis=1) == 1)
    into: NDArray[np.bool_] = is_open & ~fresh | first
    return into


def _end_game(match: Match, lanes: Ints) -> None:
    """Settle games whose columns have all closed."""
    sides = np.arange(match.rules.num_sides)
    closed = (match.closed_by[lanes][:, :, None] == sides).sum(axis=1)
    winner = closed.argmax(axis=1)
    match.winner[lanes] = winner
    match.games_won[lanes, winner] += 1
    match.settled[lanes] += _settle(match, lanes)


def _parts(match: Match, lanes: Ints) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """By column and side, [N, C, S]: totals with boxes; who closed it; the bonus for winning
    against each side."""
    rules = match.rules
    totals = match.totals[lanes]
    worth = totals + match.boxes[lanes] * rules.box_bonus
    closer = match.closed_by[lanes][:, :, None] == np.arange(rules.num_sides)
    bonus = rules.game_bonus + np.where(totals == 0, rules.shutout_bonus, 0)
    return worth, closer, bonus


def _settle(match: Match, lanes: Ints) -> NDArray[np.int64]:
    """What each side gets of each closed column: its closer settles with every other side."""
    worth, closer, bonus = _parts(match, lanes)
    best = (worth * closer).sum(axis=2, keepdims=True)
    owed = np.where(closer | ~closer.any(axis=2, keepdims=True), 0, best + bonus - worth)
    gains: NDArray[np.int64] = (closer * owed.sum(axis=2, keepdims=True) - owed).sum(axis=1)
    return gains


def settlement(match: Match) -> NDArray[np.int64]:
    """What each side gets of the game on the sheet, [B, S]; 0 while it is played."""
    lanes = np.arange(len(match))
    return np.where(match.winner[:, None] == NOBODY, 0, _settle(match, lanes))


def finals(match: Match) -> NDArray[np.int64]:
    """Each side's total with its boxes, the winner's with game and shutout bonus, [B, S].

    Hollywood: the sum of the columns. Cutthroat: one shutout bonus for each loser without a point.
    """
    worth, closer, bonus = _parts(match, np.arange(len(match)))
    rules = match.rules
    shutouts = ((bonus - rules.game_bonus) * ~closer).sum(axis=2, keepdims=True)
    final: NDArray[np.int64] = (worth + closer * (rules.game_bonus + shutouts)).sum(axis=1)
    return final


def by_player(rules: Rules, of_sides: NDArray[Any]) -> NDArray[Any]:
    """What belongs to sides [..., S], as belonging to players [..., P]."""
    return np.concatenate([of_sides] * (rules.num_players // rules.num_sides), axis=-1)


def sheet(match: Match, lane: int) -> dict[str, Any]:
    """The score sheet as plain numbers, by player.

    ``totals`` and ``boxes``: [P], in Hollywood [3][P]; ``dealer``: who deals next, a player (the
    first of the side's), None once the game is over; ``games_won`` [P]; ``winner``: the game's,
    None while it is played; ``final`` [P]: as :func:`finals`, None likewise.
    """
    rules, winner = match.rules, int(match.winner[lane])
    one = match.take(np.array([lane]))
    columns = slice(None) if rules.score_sheet == "hollywood" else 0
    over = winner != NOBODY
    return {
        "totals": by_player(rules, one.totals[0, columns]).tolist(),
        "boxes": by_player(rules, one.boxes[0, columns]).tolist(),
        "dealer": None if over else int(match.dealer[lane]),
        "games_won": by_player(rules, one.games_won[0]).tolist(),
        "winner": winner if over else None,
        "final": by_player(rules, finals(one)[0]).tolist() if over else None,
    }


def next_game(match: Match, lanes: Ints, generator: np.random.Generator) -> None:
    """A new sheet for lanes whose game has ended, in place; the loser deals.

    Of three, who is last in points; between two of them a cut, the only use of ``generator``.
    """
    sides = match.rules.num_sides
    loser = 1 - match.winner[lanes].astype(np.intp)
    if sides == 3:
        totals = match.totals[lanes, 0]
        last = totals == totals.min(axis=1, keepdims=True)
        loser = (last * generator.permuted(np.tile([1, 2, 3], (len(lanes), 1)), axis=1)).argmax(1)
    fresh = start(match.rules, loser)
    fresh.games_won, fresh.settled = match.games_won[lanes], match.settled[lanes]
    match.put(lanes, fresh)
