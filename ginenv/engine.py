"""One hand of Gin Rummy on B lanes at once.

All chance is in the deal: rules, dealer, deck and actions determine a hand. Functions work in
place on a :class:`State`, never raise on data and never look at a lane that has ended; the
single-game edges check what they pass in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ginenv import actions, cards, melds, scoring
from ginenv.actions import Legal
from ginenv.lanes import Lanes, columns
from ginenv.rules import Rules

OFFER, DEALER_OFFER, MUST_DRAW, DRAW, LAST_OFFER, DISCARD, LAST_DISCARD, OVER = range(8)
"""Phases, in the order of their codes. The non-dealer, then the dealer may take the first upcard;
after two passes the non-dealer must draw from the stock; an ordinary turn draws and discards; the
last discard may be offered, and what is taken then must end the hand."""

PHASES = (
    "offer",
    "dealer offer",
    "must draw",
    "draw",
    "last offer",
    "discard",
    "last discard",
    "over",
)

_OTHERS = np.array(
    [
        actions.OTHER_TAKE | actions.OTHER_PASS,
        actions.OTHER_TAKE | actions.OTHER_PASS,
        actions.OTHER_STOCK,
        actions.OTHER_STOCK | actions.OTHER_TAKE,
        actions.OTHER_PASS,
        0,
        0,
        0,
    ],
    dtype=np.uint8,
)
DISCARDING = np.array([0, 0, 0, 0, 0, 1, 1, 0], dtype=np.bool_)
_DISCARD_KIND, _STOCK_KIND, _TAKE_KIND, _PASS_KIND, _KNOCK_KIND, _NO_KIND = range(6)
_ACTION_KIND = np.array(
    [_DISCARD_KIND] * 52
    + [_KNOCK_KIND] * 52
    + [_STOCK_KIND, _TAKE_KIND, _PASS_KIND, _KNOCK_KIND, _NO_KIND],
    dtype=np.uint8,
)
_KIND_IF_OVER = np.array([0, 0, 0, 0, 0, 0, 0, _NO_KIND], dtype=np.uint8)
"""By phase. Greater than any action's kind where the hand is over."""
# Constants are arrays without axes: numpy takes them up faster than its scalars.
_POINTS_MOST = np.array(10, dtype=np.uint8)
_ONE = np.array(1, dtype=np.intp)
_ONE_TURN = np.array(1, dtype=np.uint8)
_BYTE = np.array(8, dtype=np.uint32)
_CARD_BITS = np.array(8, dtype=np.uint64)
NO_RECENT = np.uint32(0xFFFFFFFF)
NO_ACTION = actions.NUM_ACTIONS
"""For :func:`step` alone: this lane waits."""


@dataclass(slots=True)
class State(Lanes):
    """B hands in play, a structure of arrays; D cards in the deck.

    What a player may see of it is for :mod:`ginenv.observation` alone to say.
    """

    rules: Rules
    deck: NDArray[np.uint8]
    """Card ids in deal order, [B, D]."""
    dealer: NDArray[np.uint8]
    """Seat 0 or 1, [B]."""
    mover: NDArray[np.intp]
    """The seat on move, [B]; after a knock, gin, big gin or forfeit the one that ended the hand."""
    phase: NDArray[np.uint8]
    """[B]."""
    hands: NDArray[np.uint64]
    """Card sets by seat, [B, 2]."""
    seen: NDArray[np.uint64]
    """All cards that have ever lain face up, [B]. Those in a hand were taken from the pile."""
    discards: NDArray[np.uint64]
    """All cards that each seat has discarded face up, [B, 2]."""
    refused: NDArray[np.uint64]
    """All cards that each seat could have taken from the pile and did not, [B, 2]."""
    recent: NDArray[np.uint32]
    """The last four discards of each seat, a byte each, the newest lowest, [B, 2]."""
    pile: NDArray[np.uint8]
    """The face-up pile from the bottom up, [B, stock at the deal + 1]."""
    pile_size: NDArray[np.intp]
    """[B]."""
    top: NDArray[np.uint8]
    """The top card of the pile, NO_CARD if it is empty, [B]."""
    drawn: NDArray[np.uint8]
    """The card drawn this turn, NO_CARD before the draw, [B]."""
    stock_next: NDArray[np.intp]
    """Where in the deck the next card of the stock is, [B]."""
    turn: NDArray[np.uint8]
    """Face-up discards so far, [B]."""
    knock_limit: NDArray[np.uint8]
    """Most deadwood to knock with in this hand, [B]."""
    thrown: NDArray[np.uint8]
    """The knock's face-down discard, NO_CARD if there is none, [B]."""
    kind: NDArray[np.uint8]
    """How the hand ended, a code of ``scoring.KINDS``, [B]."""
    winner: NDArray[np.int8]
    """Seat, or -1 for nobody, [B]."""
    points: NDArray[np.int16]
    """What the winner scores, [B]."""
    deadwood: NDArray[np.uint8]
    """Each seat's after a knock, gin or big gin, the defender's after lay-offs, or after a forfeit,
    [B, 2]. Of a dead hand only :func:`result` counts it."""

    def __len__(self) -> int:
        return len(self.phase)

    @property
    def over(self) -> NDArray[np.bool_]:
        """Which hands have ended, bool [B]."""
        over: NDArray[np.bool_] = self.phase == OVER
        return over

    @property
    def stock_left(self) -> NDArray[np.intp]:
        """Cards left in the stock, [B]."""
        left: NDArray[np.intp] = self.deck.shape[1] - self.stock_next
        return left


COLUMNS = columns(State)
"""Names of the arrays in a State."""


def shuffle(rules: Rules, generator: np.random.Generator, lanes: int) -> NDArray[np.uint8]:
    """Shuffled decks, uint8 [lanes, D]."""
    suits = np.arange(rules.num_suits, dtype=np.uint8)[:, None] * np.uint8(cards.NUM_RANKS)
    ids = suits + np.arange(rules.num_ranks, dtype=np.uint8)
    # Sorting cards by random numbers is three times as quick as generator.permuted. The lowest byte
    # holds the card; that the other 56 bits of two are alike happens once in 5e13 decks.
    keys: NDArray[np.uint64] = generator.integers(1 << 56, size=(lanes, ids.size), dtype=np.uint64)
    keys <<= _CARD_BITS
    keys |= ids.reshape(-1).astype(np.uint64)
    keys.sort(axis=1)
    return keys.astype(np.uint8)


def deal(rules: Rules, decks: NDArray[np.uint8], dealers: NDArray[np.integer[Any]]) -> State:
    """Deal B hands: decks uint8 [B, D] in deal order, dealers 0 or 1 [B]."""
    lanes = len(decks)
    size = rules.hand_size
    bits = cards.BIT[decks[:, : 2 * size]]
    by_turn = np.bitwise_or.reduce(bits.reshape(lanes, size, 2), axis=1)
    dealer = np.asarray(dealers, dtype=np.uint8)
    # The non-dealer has the first card and every second one after it.
    hands = np.where(dealer[:, None] == 1, by_turn, by_turn[:, ::-1])
    upcard = decks[:, 2 * size]
    limit = np.full(lanes, rules.knock_limit, dtype=np.uint8)
    if rules.oklahoma:
        points = cards.POINTS[upcard]
        limit = np.minimum(limit, np.where(points == 1, np.uint8(rules.oklahoma_ace), points))
    pile = np.full((lanes, rules.stock_size + 1), cards.NO_CARD, dtype=np.uint8)
    pile[:, 0] = upcard
    pair = (lanes, 2)

    def byte(value: int) -> NDArray[np.uint8]:
        return np.full(lanes, value, np.uint8)

    return State(
        rules=rules,
        deck=np.array(decks, dtype=np.uint8),
        dealer=dealer.copy(),
        mover=1 - dealer.astype(np.intp),
        phase=byte(OFFER if rules.first_upcard == "offer" else DRAW),
        hands=hands,
        seen=cards.BIT[upcard],
        discards=np.zeros(pair, np.uint64),
        refused=np.zeros(pair, np.uint64),
        recent=np.full(pair, NO_RECENT),
        pile=pile,
        pile_size=np.ones(lanes, np.intp),
        top=upcard.copy(),
        drawn=byte(cards.NO_CARD),
        stock_next=np.full(lanes, 2 * size + 1, np.intp),
        turn=byte(0),
        knock_limit=limit,
        thrown=byte(cards.NO_CARD),
        kind=byte(scoring.PLAYING),
        winner=np.full(lanes, -1, np.int8),
        points=np.zeros(lanes, np.int16),
        deadwood=np.zeros(pair, np.uint8),
    )


def legal(state: State) -> Legal:
    """The legal actions of the seats on move."""
    others = _OTHERS.take(state.phase)
    discards, knocks = np.zeros((2, len(others)), dtype=np.uint64)
    lanes = DISCARDING.take(state.phase).nonzero()[0]
    if len(lanes):
        hands = state.hands.reshape(-1)[_seat_index(lanes, state.mover[lanes])]
        # A drawn card that has lain face up was taken from the pile, and must stay.
        playable = hands ^ (cards.BIT_OR_NONE.take(state.drawn[lanes]) & state.seen[lanes])
        discards[lanes] = playable
        ends, big_gin = _endings(state, lanes, hands)
        knocks[lanes] = ends & playable
        if state.rules.big_gin_bonus is not None:
            others[lanes] = big_gin
    if state.rules.last_discard == "may_knock":
        discards[state.phase == LAST_DISCARD] = 0
        _offer_last_discard(state, others)
    return Legal(discards, knocks, others)


def _endings(
    state: State, lanes: NDArray[np.intp], hands: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Of hands with one card too many: cards whose discard allows a knock, and big gin."""
    limit = state.knock_limit[lanes]
    bound = melds.deadwood_bound(hands)
    knocks = np.zeros_like(hands)
    # A discard saves at most 10 points, so most hands need no look at each of their cards.
    near = (bound <= limit + _POINTS_MOST).nonzero()[0]
    if len(near):
        knocks[near] = melds.discards_within(hands[near], limit[near])
    big_gin = np.zeros(len(lanes), dtype=np.uint8)
    if state.rules.big_gin_bonus is not None:
        maybe = (bound == 0).nonzero()[0]
        big_gin[maybe[melds.deadwood(hands[maybe]) == 0]] = actions.OTHER_BIG_GIN
    return knocks, big_gin


def _offer_last_discard(state: State, others: NDArray[np.uint8]) -> None:
    """The last discard may be taken only if a knock, gin or big gin can follow."""
    lanes = (state.phase == LAST_OFFER).nonzero()[0]
    if len(lanes):
        top = cards.BIT[state.top[lanes]]
        hands = state.hands.reshape(-1)[_seat_index(lanes, state.mover[lanes])] | top
        ends, big_gin = _endings(state, lanes, hands)
        can_end = ((ends & ~top) != 0) | (big_gin != 0)
        others[lanes[can_end]] |= actions.OTHER_TAKE


def step(state: State, chosen: NDArray[np.integer[Any]]) -> None:
    """Play one legal action on each lane, ints [B], in place.

    Lanes that have ended, and lanes with NO_ACTION, are left alone.
    """
    chosen = np.asarray(chosen, dtype=np.intp)
    kinds = np.maximum(_ACTION_KIND[chosen], _KIND_IF_OVER.take(state.phase))
    for kind, play in _PLAYS:
        lanes = (kinds == kind).nonzero()[0]
        if len(lanes):
            play(state, lanes, _seat_index(lanes, state.mover[lanes]), chosen[lanes])


def _seat_index(lanes: NDArray[np.intp], seats: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the entries of these seats are in a [B, 2] column that is laid flat."""
    return lanes + lanes + seats


def _draw_stock(
    state: State, lanes: NDArray[np.intp], seats: NDArray[np.intp], chosen: NDArray[np.intp]
) -> None:
    _refuse(state, lanes, seats)
    at = state.stock_next[lanes]
    state.stock_next[lanes] = at + _ONE
    card = state.deck.reshape(-1)[lanes * state.deck.shape[1] + at]
    _hold(state, lanes, seats, card)


def _take_upcard(
    state: State, lanes: NDArray[np.intp], seats: NDArray[np.intp], chosen: NDArray[np.intp]
) -> None:
    card = state.top[lanes]
    last = lanes[state.phase[lanes] == LAST_OFFER]
    _hold(state, lanes, seats, card)
    state.phase[last] = LAST_DISCARD
    size = state.pile_size[lanes] - _ONE
    state.pile_size[lanes] = size
    # Under an empty pile this reads a card that is not meant, and np.where leaves it.
    below = state.pile.reshape(-1)[lanes * state.pile.shape[1] + size - _ONE]
    state.top[lanes] = np.where(size == 0, np.uint8(cards.NO_CARD), below)


def _hold(
    state: State, lanes: NDArray[np.intp], seats: NDArray[np.intp], card: NDArray[np.uint8]
) -> None:
    hands = state.hands.reshape(-1)
    hands[seats] = hands[seats] | cards.BIT.take(card)
    state.drawn[lanes] = card
    state.phase[lanes] = DISCARD


def _refuse(state: State, lanes: NDArray[np.intp], seats: NDArray[np.intp]) -> None:
    refused = state.refused.reshape(-1)
    refused[seats] = refused[seats] | cards.BIT.take(state.top[lanes])


def _pass(
    state: State, lanes: NDArray[np.intp], seats: NDArray[np.intp], chosen: NDArray[np.intp]
) -> None:
    _refuse(state, lanes, seats)
    phase = state.phase[lanes]
    _end_dead(state, lanes[phase == LAST_OFFER])
    first = lanes[phase != LAST_OFFER]
    state.phase[first] += np.uint8(1)  # OFFER, DEALER_OFFER, MUST_DRAW
    state.mover[first] ^= _ONE


def _discard(
    state: State, lanes: NDArray[np.intp], seats: NDArray[np.intp], chosen: NDArray[np.intp]
) -> None:
    bit = cards.BIT[chosen]
    hands, discards = state.hands.reshape(-1), state.discards.reshape(-1)
    hands[seats] = hands[seats] ^ bit
    discards[seats] = discards[seats] | bit
    state.seen[lanes] = state.seen[lanes] | bit
    recent = state.recent.reshape(-1)
    recent[seats] = (recent[seats] << _BYTE) | chosen.astype(np.uint32)
    size = state.pile_size[lanes]
    state.pile_size[lanes] = size + _ONE
    state.pile.reshape(-1)[lanes * state.pile.shape[1] + size] = chosen
    state.top[lanes] = chosen
    state.drawn[lanes] = cards.NO_CARD
    turn = state.turn[lanes] + _ONE_TURN
    state.turn[lanes] = turn
    state.mover[lanes] = state.mover[lanes] ^ _ONE
    state.phase[lanes] = DRAW
    rules = state.rules
    out_of_stock = state.stock_next[lanes] >= rules.deck_size - rules.stock_floor
    late = (out_of_stock | (turn >= rules.turn_limit)).nonzero()[0]
    if len(late):
        ended = turn[late] >= rules.turn_limit
        if rules.last_discard == "may_knock":
            state.phase[lanes[late[~ended]]] = LAST_OFFER
        else:
            ended[:] = True
        _end_dead(state, lanes[late[ended]])


def _end_dead(state: State, lanes: NDArray[np.intp]) -> None:
    state.phase[lanes] = OVER
    state.kind[lanes] = scoring.DEAD


def _knock(
    state: State, lanes: NDArray[np.intp], seats: NDArray[np.intp], chosen: NDArray[np.intp]
) -> None:
    """A knock, gin or big gin: the hand ends and is scored."""
    big_gin = chosen == actions.BIG_GIN
    card = np.where(big_gin, cards.NO_CARD, chosen - actions.KNOCK)
    state.hands.reshape(-1)[seats] &= ~cards.BIT_OR_NONE[card]
    state.thrown[lanes] = card
    state.drawn[lanes] = cards.NO_CARD
    state.phase[lanes] = OVER
    showdown = _lay_down(state, lanes)
    outcome = scoring.score(state.rules, showdown, big_gin, _doubling(state, lanes))
    knocker = state.mover[lanes]
    winner = np.where(outcome.knocker_wins, knocker, 1 - knocker).astype(np.int8)
    state.kind[lanes] = outcome.kind
    state.winner[lanes] = np.where(outcome.kind == scoring.TIE, np.int8(-1), winner)
    state.points[lanes] = outcome.points
    state.deadwood[lanes, knocker] = showdown.knocker_deadwood
    state.deadwood[lanes, 1 - knocker] = showdown.defender_deadwood


_PLAYS = tuple(
    (np.array(kind, dtype=np.uint8), play)
    for kind, play in (
        (_DISCARD_KIND, _discard),
        (_STOCK_KIND, _draw_stock),
        (_TAKE_KIND, _take_upcard),
        (_PASS_KIND, _pass),
        (_KNOCK_KIND, _knock),
    )
)


def forfeit(state: State, lanes: NDArray[np.intp]) -> None:
    """End these hands [N], in place: the seats on move have broken the rules of play and lose.

    Nothing is laid down. The other seat scores ``scoring.forfeit_points``.
    """
    lanes = lanes[state.phase[lanes] != OVER]
    loser = state.mover[lanes]
    deadwood = melds.deadwood(state.hands[lanes].reshape(-1)).reshape(-1, 2)
    state.phase[lanes] = OVER
    state.drawn[lanes] = cards.NO_CARD
    state.kind[lanes] = scoring.FORFEIT
    state.winner[lanes] = 1 - loser
    state.points[lanes] = scoring.forfeit_points(
        state.rules, deadwood[np.arange(len(lanes)), loser]
    )
    state.deadwood[lanes] = deadwood


def _lay_down(state: State, lanes: NDArray[np.intp]) -> scoring.Showdown:
    """Lay down the hands of lanes that a knock, gin or big gin has ended."""
    rules = state.rules
    knocker = state.mover[lanes]
    hands, defenders = state.hands[lanes, knocker], state.hands[lanes, 1 - knocker]
    pile = state.seen[lanes] & ~(hands | defenders)
    thrown = cards.BIT_OR_NONE.take(state.thrown[lanes])
    everything = cards.deck_set(rules.num_ranks, rules.num_suits)
    return scoring.lay_down(hands, defenders, everything & ~(hands | pile | thrown))


def _doubling(state: State, lanes: NDArray[np.intp]) -> NDArray[np.int16]:
    """What the score of hands ending now is multiplied by: 1, 2 or 4, int16 [N]."""
    factor = 1 + upcard_doubles(state, lanes).astype(np.int16)
    return factor << pile_doubles(state, lanes)


def upcard_doubles(state: State, lanes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the first upcard doubles what the hand scores, bool [N]."""
    if not state.rules.spade_upcard_doubles:
        return np.zeros(len(lanes), dtype=np.bool_)
    return _is_spade(state.deck[lanes, 2 * state.rules.hand_size])


def pile_doubles(state: State, lanes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the top of the face-up pile doubles what a knock scores now, bool [N]."""
    if not state.rules.spade_knock_doubles:
        return np.zeros(len(lanes), dtype=np.bool_)
    return _is_spade(state.top[lanes])


def _is_spade(card: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each card is a spade; NO_CARD is none."""
    spade: NDArray[np.bool_] = card // cards.NUM_RANKS == cards.SUITS.index("s")
    return spade


def result(state: State, lane: int) -> dict[str, Any]:
    """The ``result`` of an ended hand as recorded games hold it. Shows both hands.

    Raises ValueError while the hand is played.
    """
    kind = int(state.kind[lane])
    if kind == scoring.PLAYING:
        raise ValueError("the hand is not over")
    shown: list[list[str]] = [[], []]
    layoffs: list[str] = []
    deadwood = state.deadwood[lane]
    if kind == scoring.DEAD:
        deadwood = melds.deadwood(state.hands[lane])
    elif kind != scoring.FORFEIT:
        showdown = _lay_down(state, np.array([lane]))
        defence = showdown.defence
        knocker = int(state.mover[lane])
        for seat, sets, runs in (
            (knocker, showdown.knocker_sets, showdown.knocker_runs),
            (1 - knocker, defence.sets, defence.runs),
        ):
            shown[seat] = [cards.format(m) for m in melds.split(int(sets[0]), int(runs[0]))]
        layoffs = cards.format(defence.layoffs[0]).split()
    winner = int(state.winner[lane])
    return {
        "kind": scoring.KINDS[kind],
        "winner": None if winner < 0 else winner,
        "points": int(state.points[lane]),
        "deadwood": [int(points) for points in deadwood],
        "melds": shown,
        "layoffs": layoffs,
    }
