"""What a player may see: the only place that decides it.

:func:`view` picks from a :class:`ginenv.engine.State` what a seat knows; everything that a policy
is given (:func:`encode`, the agents, the environments) comes from a :class:`View`. What a seat
knows: its own hand, all that has lain face up and who threw, took or left it, the number of cards
in the stock, the rules. It never sees the other hand, the stock's order, or what the other drew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ginenv import cards, engine, melds
from ginenv.engine import State
from ginenv.rules import Rules

LAYOUT_VERSION = "ginenv-observation/1"
"""Changes whenever LAYOUT does: a policy is good for one layout only."""

BIT_PLANES = (
    "hand",
    "drawn",
    "upcard",
    "buried",
    "opponent_known",
    "own_known",
    "own_discards",
    "opponent_discards",
    "opponent_refused",
    "opponent_last_discard",
    "opponent_second_last_discard",
    "opponent_third_last_discard",
)
"""Card planes of 52 entries 0 or 1, by card id."""

FLAGS = (
    *("phase_" + phase.replace(" ", "_") for phase in engine.PHASES[: engine.OVER]),
    "to_move",
    "is_dealer",
    "upcard_doubles",
    "drawn_from_pile",
    "big_gin_played",
    "spade_knock_doubles",
    "tie_draws",
    "last_discard_may_knock",
    "upcard_open",
)
"""Single entries 0 or 1."""

SCALARS = (
    "stock_left",
    "draws_left",
    "turn",
    "turns_left",
    "deadwood",
    "knock_limit",
    "pile_size",
    "opponent_unknown",
    "gin_bonus",
    "undercut_bonus",
    "big_gin_bonus",
    "stock_floor",
)
"""Single numbers; what is greater than 255 reads 255."""


def _layout() -> dict[str, slice]:
    widths = (
        *((name, cards.NUM_CARDS) for name in BIT_PLANES),
        *((name, 1) for name in FLAGS),
        ("deadwood_after", cards.NUM_CARDS),
        *((name, 1) for name in SCALARS),
    )
    layout, start = {}, 0
    for name, width in widths:
        layout[name] = slice(start, start + width)
        start += width
    return layout


LAYOUT = _layout()
"""Where each part of an observation is, by name; docs/OBSERVATION.md says what each means."""

SIZE = LAYOUT[SCALARS[-1]].stop

_WORD = 64
_FIRST_FLAG = LAYOUT[FLAGS[0]].start
_FIRST_SCALAR = LAYOUT[SCALARS[0]].start
_PHASE_FLAGS = np.array([1 << p for p in range(engine.OVER)] + [0], dtype=np.uint64)
_SET_OR_NONE = np.append(cards.BIT, np.zeros(256 - cards.NUM_CARDS, dtype=np.uint64))
_PACKED_OR_NONE = cards.pack(_SET_OR_NONE)
_SHIFTS = [np.array(n, dtype=np.uint64) for n in range(_WORD)]


@dataclass(slots=True)
class View:
    """What one seat of each of B hands knows. Card sets are uint64 [B]."""

    rules: Rules
    seat: NDArray[np.intp]
    """Whose view it is, 0 or 1, [B]."""
    to_move: NDArray[np.bool_]
    """Whether it is this seat's move, [B]."""
    phase: NDArray[np.uint8]
    """:mod:`ginenv.engine`'s phase, [B]."""
    is_dealer: NDArray[np.bool_]
    """[B]."""
    hand: NDArray[np.uint64]
    """His own cards."""
    drawn: NDArray[np.uint8]
    """The id of the card that he drew or took this turn, NO_CARD when he has not, [B]."""
    upcard: NDArray[np.uint8]
    """The id of the pile's top card, NO_CARD if there is none, [B]."""
    seen: NDArray[np.uint64]
    """All cards that have ever lain face up."""
    opponent_known: NDArray[np.uint64]
    """Cards in the other hand that were seen to be taken."""
    own_discards: NDArray[np.uint64]
    """All that he has discarded this hand."""
    opponent_discards: NDArray[np.uint64]
    """All that the other has discarded this hand."""
    opponent_refused: NDArray[np.uint64]
    """Cards that the other could have taken and did not."""
    opponent_recent: NDArray[np.uint32]
    """The other's last four discards as card ids, a byte each, the newest lowest; 255 for none."""
    stock_left: NDArray[np.intp]
    """Cards in the stock, [B]."""
    turn: NDArray[np.uint8]
    """Discards so far by both, [B]."""
    knock_limit: NDArray[np.uint8]
    """[B]."""
    upcard_factor: NDArray[np.int16]
    """2 where the first upcard doubles the hand, else 1, [B]."""

    def __len__(self) -> int:
        return len(self.phase)

    @property
    def pile(self) -> NDArray[np.uint64]:
        """The face-up pile, its top included."""
        return self.seen & ~(self.hand | self.opponent_known)

    @property
    def own_known(self) -> NDArray[np.uint64]:
        """Cards in his own hand that the other saw him take."""
        return self.seen & self.hand

    @property
    def drawn_set(self) -> NDArray[np.uint64]:
        """``drawn`` as a card set."""
        return _SET_OR_NONE.take(self.drawn)

    @property
    def upcard_set(self) -> NDArray[np.uint64]:
        """``upcard`` as a card set."""
        return _SET_OR_NONE.take(self.upcard)


def view(state: State, seats: NDArray[np.intp] | None = None) -> View:
    """What the given seats know, [B]; without seats, what the seats on move know."""
    mover = state.mover
    lanes = np.arange(len(mover))
    if seats is None:
        seat, to_move, drawn = mover, state.phase != engine.OVER, state.drawn
    else:
        seat = np.asarray(seats, dtype=np.intp)
        to_move = (seat == mover) & (state.phase != engine.OVER)
        drawn = np.where(to_move, state.drawn, np.uint8(cards.NO_CARD))
    own = lanes + lanes + seat
    other = own ^ 1
    hands, discards = state.hands.reshape(-1), state.discards.reshape(-1)
    return View(
        rules=state.rules,
        seat=seat,
        to_move=to_move,
        phase=state.phase,
        is_dealer=state.dealer == seat,
        hand=hands[own],
        drawn=drawn,
        upcard=state.top,
        seen=state.seen,
        # A hand can only hold what has lain face up if it was taken from the pile.
        opponent_known=state.seen & hands[other],
        own_discards=discards[own],
        opponent_discards=discards[other],
        opponent_refused=state.refused.reshape(-1)[other],
        opponent_recent=state.recent.reshape(-1)[other],
        stock_left=state.stock_left,
        turn=state.turn,
        knock_limit=state.knock_limit,
        upcard_factor=engine.upcard_factor(state, lanes),
    )


def encode(known: View) -> NDArray[np.uint8]:
    """The view as numbers, uint8 [B, SIZE], laid out as LAYOUT says."""
    # All that is 0 or 1 becomes one string of bits, which numpy unpacks faster than any copy.
    out = np.unpackbits(_bit_string(known).view(np.uint8), axis=None, bitorder="little")
    out = out.reshape(-1, SIZE)
    throws = (engine.DISCARDING.take(known.phase) & known.to_move).nonzero()[0]
    if len(throws):
        after = melds.deadwood_after_discard(known.hand[throws]) + np.uint8(1)
        after *= after <= melds.NOT_HELD
        out[throws, LAYOUT["deadwood_after"]] = after
    _write_scalars(known, out[:, _FIRST_SCALAR:])
    return out


def _bit_string(known: View) -> NDArray[np.uint64]:
    """BIT_PLANES and FLAGS bit by bit, then zeros up to SIZE bits: uint64 [B, SIZE / 64]."""
    out = np.empty((len(known), SIZE // _WORD), dtype=np.uint64)
    parts = [*((cards.NUM_CARDS, plane) for plane in _packed_planes(known))]
    parts.append((len(FLAGS), _flags(known)))
    word, filled, column = np.uint64(0), 0, 0
    for width, part in parts:
        word = part << _SHIFTS[filled] | word if filled else part
        filled += width
        if filled >= _WORD:
            out[:, column] = word
            column += 1
            filled -= _WORD
            word = part >> _SHIFTS[width - filled] if filled else np.uint64(0)
    out[:, column:] = 0
    return out


def _packed_planes(known: View) -> tuple[NDArray[np.uint64], ...]:
    """BIT_PLANES in order, bit i for card id i, uint64 [B] each."""
    hand, seen, opponent_known = (
        cards.pack(known.hand),
        cards.pack(known.seen),
        cards.pack(known.opponent_known),
    )
    upcard = _PACKED_OR_NONE.take(known.upcard)
    recent = known.opponent_recent.view(np.uint8)
    return (
        hand,
        _PACKED_OR_NONE.take(known.drawn),
        upcard,
        seen & ~(hand | opponent_known | upcard),
        opponent_known,
        seen & hand,
        cards.pack(known.own_discards),
        cards.pack(known.opponent_discards),
        cards.pack(known.opponent_refused),
        *(_PACKED_OR_NONE.take(recent[nth::4]) for nth in range(3)),
    )


def _flags(known: View) -> NDArray[np.uint64]:
    """FLAGS as bits from the lowest up, uint64 [B]."""
    rules = known.rules
    fixed = 0
    for name, value in (
        ("big_gin_played", rules.big_gin_bonus is not None),
        ("spade_knock_doubles", rules.spade_knock_doubles),
        ("tie_draws", rules.tie == "draw"),
        ("last_discard_may_knock", rules.last_discard == "may_knock"),
        ("upcard_open", rules.first_upcard == "open"),
    ):
        fixed |= value << FLAGS.index(name)
    flags = _PHASE_FLAGS.take(known.phase) | np.uint64(fixed)
    for name, values in (
        ("to_move", known.to_move),
        ("is_dealer", known.is_dealer),
        ("upcard_doubles", known.upcard_factor == 2),
        ("drawn_from_pile", (known.drawn_set & known.seen) != 0),
    ):
        flags |= values.astype(np.uint64) << _SHIFTS[FLAGS.index(name)]
    return flags


def _write_scalars(known: View, out: NDArray[np.uint8]) -> None:
    """SCALARS into the columns of ``out``, uint8 [B, len(SCALARS)]."""
    rules = known.rules
    others = np.bitwise_count(known.opponent_known)
    drawing = engine.DISCARDING.take(known.phase) & ~known.to_move
    pile = known.pile
    out[:, 0] = known.stock_left
    out[:, 1] = known.stock_left - rules.stock_floor
    out[:, 2] = known.turn
    out[:, 3] = np.uint8(rules.turn_limit) - known.turn
    out[:, 4] = melds.deadwood(known.hand)
    out[:, 5] = known.knock_limit
    out[:, 6] = np.bitwise_count(pile)
    out[:, 7] = np.uint8(rules.hand_size) + drawing - others
    bonuses = (rules.gin_bonus, rules.undercut_bonus, rules.big_gin_bonus or 0)
    out[:, 8:] = [*(min(bonus, 255) for bonus in bonuses), rules.stock_floor]
