"""What a player may see: the only place that decides it.

:func:`view` picks from a :class:`ginenv.engine.State` what a seat knows; everything that a policy
is given (:func:`encode`, the agents, the environments) comes from a :class:`View`. What a seat
knows: its own hand, all that has lain face up and who threw, took or left it, the number of cards
in the stock, the rules, and in a game the score sheet. It never sees the other hand, the stock's
order, or what the other drew. Who sits out (cutthroat) knows what is public.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ginenv import cards, engine, match, melds
from ginenv.engine import State
from ginenv.match import Match
from ginenv.rules import Rules

LAYOUT_VERSION = "ginenv-observation/1"
"""Changes whenever LAYOUT does: a policy is good for one layout only."""

GAME_LAYOUT_VERSION = "ginenv-game-observation/1"
"""The same of GAME_LAYOUT."""

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

SCORE = np.dtype(
    [
        *((f"{whose}_total_{n}", "<u2") for whose in ("own", "opponent") for n in (1, 2, 3)),
        ("third_total", "<u2"),
        *((name, "<u2") for name in ("target", "game_bonus", "shutout_bonus", "box_bonus")),
        ("partners_bonus", "<u2"),
        *((f"{whose}_to_go", "u1") for whose in ("own", "opponent", "third")),
        *((f"{whose}_games", "u1") for whose in ("own", "opponent", "third")),
        ("games_to_win", "u1"),
        ("rounds", "u1"),
        *((f"{whose}_boxes_{n}", "u1") for whose in ("own", "opponent") for n in (1, 2, 3)),
        ("third_boxes", "u1"),
        *((f"column_open_{n}", "u1") for n in (1, 2, 3)),
        *((name, "u1") for name in ("in_game", "hollywood", "cutthroat", "partnership")),
        *((name, "u1") for name in ("dealer_alternates", "dead_hand_dealer_alternates")),
    ]
)
"""The entries of the score: one, where what is greater than 255 reads 255, or two, of which the
second counts 256. The digits are columns of the sheet."""


def _places(widths: Iterable[tuple[str, int]], start: int) -> dict[str, slice]:
    layout = {}
    for name, width in widths:
        layout[name] = slice(start, start + width)
        start += width
    return layout


LAYOUT = _places(
    (
        *((name, cards.NUM_CARDS) for name in BIT_PLANES),
        *((name, 1) for name in FLAGS),
        ("deadwood_after", cards.NUM_CARDS),
        *((name, 1) for name in SCALARS),
    ),
    0,
)
"""Where each part of a hand's observation is, by name; docs/OBSERVATION.md says what each means."""

SIZE = LAYOUT[SCALARS[-1]].stop

GAME_LAYOUT = LAYOUT | _places(((name, SCORE[name].itemsize) for name in SCORE.names or ()), SIZE)
"""The same of an observation in a game: the hand's, then the score's."""

GAME_SIZE = SIZE + SCORE.itemsize

_WORD = 64
_FIRST_FLAG = LAYOUT[FLAGS[0]].start
_FIRST_SCALAR = LAYOUT[SCALARS[0]].start
_DEADWOOD_AFTER = LAYOUT["deadwood_after"]
_LANE_BITS = ("to_move", "is_dealer", "drawn_from_pile", "upcard_doubles")


def _lane_flags() -> NDArray[np.uint64]:
    """FLAGS that differ between lanes, by phase + 8 x the four of _LANE_BITS: uint64 [128]."""
    table = np.zeros(128, dtype=np.uint64)
    for index in range(128):
        phase, bits = index % 8, index // 8
        names = [name for n, name in enumerate(_LANE_BITS) if bits >> n & 1]
        table[index] = sum(1 << FLAGS.index(name) for name in names)
        if phase != engine.OVER:
            table[index] |= np.uint64(1 << phase)
    return table


_LANE_FLAGS = _lane_flags()
_BIG_GIN, _SPADE_KNOCK, _TIE, _LAST_DISCARD, _OPEN = (
    1 << FLAGS.index(name)
    for name in (
        "big_gin_played",
        "spade_knock_doubles",
        "tie_draws",
        "last_discard_may_knock",
        "upcard_open",
    )
)
_PACKED_OR_NONE = cards.pack(cards.BIT_OR_NONE)
_SHIFTS = [np.array(n, dtype=np.uint64) for n in range(_WORD)]
# The same tables for one lane, in Python's numbers.
_ONE_PACKED_OR_NONE = _PACKED_OR_NONE.tolist()
_ONE_LANE_FLAGS = _LANE_FLAGS.tolist()


@dataclass(slots=True)
class Standing:
    """The score as one player of each of B games sees it; C columns of the sheet.

    By side first: his own, then the one that he plays this hand against, then, in cutthroat, the
    third: who sits out, or for that one himself the player on the second seat.
    """

    rules: Rules
    games_to_win: int
    """Games that win the episode."""
    totals: NDArray[np.int32]
    """[2 or 3, C, B]."""
    boxes: NDArray[np.int32]
    """[2 or 3, C, B]."""
    column_open: NDArray[np.bool_]
    """[C, B]."""
    games: NDArray[np.int16]
    """Games won, [2 or 3, B]."""
    rounds: NDArray[np.int32]
    """Hands (partnership: rounds) of this game before the one in play, [B]."""

    @property
    def to_go(self) -> NDArray[np.int32]:
        """Points that each side lacks in the first open column, [2 or 3, B]."""
        totals = self.totals[:, 0]
        if len(self.column_open) > 1:
            lanes = np.arange(len(self.rounds))
            totals = self.totals[:, self.column_open.argmax(axis=0), lanes]
        left: NDArray[np.int32] = self.rules.target - totals
        return left


def standing(sheets: Match, sides: NDArray[np.intp], games_to_win: int) -> Standing:
    """The score of B sheets; ``sides`` [2 or 3, B]: whose comes first, second and third."""
    lanes, columns, count = sheets.totals.shape
    at = np.arange(lanes) * count + sides
    cells = at[:, None] + np.arange(lanes) * ((columns - 1) * count)
    if columns > 1:
        cells = cells + (np.arange(columns) * count)[:, None]
    return Standing(
        rules=sheets.rules,
        games_to_win=games_to_win,
        totals=sheets.totals.reshape(-1).take(cells),
        boxes=sheets.boxes.reshape(-1).take(cells),
        column_open=(sheets.closed_by == match.NOBODY).T,
        games=sheets.games_won.reshape(-1).take(at),
        rounds=sheets.rounds,
    )


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
    opponent_unknown: NDArray[np.uint8]
    """Cards in the other hand that were never seen, [B]."""
    stock_left: NDArray[np.intp]
    """Cards in the stock, [B]."""
    turn: NDArray[np.uint8]
    """Discards so far by both, [B]."""
    knock_limit: NDArray[np.uint8]
    """[B]."""
    upcard_doubles: NDArray[np.bool_]
    """Whether the first upcard doubles what the hand scores, [B]."""
    game: Standing | None = None
    """The score; None of a hand that is played singly."""

    def __len__(self) -> int:
        return len(self.phase)

    def item(self) -> Any:
        """The only lane's values as Python's numbers, under the same names."""
        columns = (getattr(self, name).item() for name in _COLUMNS)
        return View(self.rules, *columns)

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
        return cards.BIT_OR_NONE.take(self.drawn)

    @property
    def upcard_set(self) -> NDArray[np.uint64]:
        """``upcard`` as a card set."""
        return cards.BIT_OR_NONE.take(self.upcard)


_COLUMNS = tuple(field.name for field in dataclasses.fields(View))[1:-1]


def view(state: State, seats: NDArray[np.intp] | None = None, game: Standing | None = None) -> View:
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
    others = hands[other]
    # A hand can only hold what has lain face up if it was taken from the pile.
    opponent_known = state.seen & others
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
        opponent_known=opponent_known,
        own_discards=discards[own],
        opponent_discards=discards[other],
        opponent_refused=state.refused.reshape(-1)[other],
        opponent_recent=state.recent.reshape(-1)[other],
        opponent_unknown=np.bitwise_count(others ^ opponent_known),
        stock_left=state.stock_left,
        turn=state.turn,
        knock_limit=state.knock_limit,
        upcard_doubles=engine.upcard_doubles(state, lanes),
        game=game,
    )


def known_result(result: dict[str, Any], seat: int | None) -> dict[str, Any]:
    """The result of an ended hand as a seat (None: somebody else) may know it.

    Of a dead hand, and of one that was forfeited, nothing is laid down: each knows his own
    deadwood, the other's is None.
    """
    if result["kind"] not in ("dead", "forfeit"):
        return result
    deadwood = [points if at == seat else None for at, points in enumerate(result["deadwood"])]
    return {**result, "deadwood": deadwood}


def onlooker_view(state: State, game: Standing | None) -> View:
    """What is public of hands that the viewer sits out of: no cards of his own, and of the two
    hands together what was seen to be taken."""
    lanes = len(state)
    none, nothing = np.zeros(lanes, np.bool_), np.zeros(lanes, np.uint64)
    hands = state.hands[:, 0] | state.hands[:, 1]
    no_card = np.full(lanes, cards.NO_CARD, np.uint8)
    return View(
        rules=state.rules,
        seat=np.full(lanes, -1, np.intp),
        to_move=none,
        phase=state.phase,
        is_dealer=none,
        hand=nothing,
        drawn=no_card,
        upcard=state.top,
        seen=state.seen,
        opponent_known=state.seen & hands,
        own_discards=nothing,
        opponent_discards=state.discards[:, 0] | state.discards[:, 1],
        opponent_refused=state.refused[:, 0] | state.refused[:, 1],
        opponent_recent=np.full(lanes, engine.NO_RECENT),
        opponent_unknown=np.bitwise_count(hands & ~state.seen),
        stock_left=state.stock_left,
        turn=state.turn,
        knock_limit=state.knock_limit,
        upcard_doubles=engine.upcard_doubles(state, np.arange(lanes)),
        game=game,
    )


def encode(known: View) -> NDArray[np.uint8]:
    """The view of a hand as numbers, uint8 [B, SIZE], laid out as LAYOUT says."""
    return _encode_one(known, SIZE) if len(known) == 1 else _encode(known, SIZE)


def encode_game(known: View) -> NDArray[np.uint8]:
    """The same with the score, uint8 [B, GAME_SIZE], laid out as GAME_LAYOUT says.

    Of a hand that is played singly the score's entries are 0.
    """
    out = _encode_one(known, GAME_SIZE) if len(known) == 1 else _encode(known, GAME_SIZE)
    if known.game is not None:
        out.view(np.uint64)[:, SIZE // 8 :] = _score(known.game)
    return out


def _score(game: Standing) -> NDArray[np.uint64]:
    """The entries of SCORE, eight to a number: uint64 [B, 6]."""
    rules, (sides, columns, lanes) = game.rules, game.totals.shape
    blank = np.zeros((), SCORE)
    for name in ("target", "game_bonus", "shutout_bonus", "box_bonus", "partners_bonus"):
        blank[name] = getattr(rules, name)
    blank["in_game"] = 1
    blank["hollywood"] = rules.score_sheet == "hollywood"
    blank["cutthroat"] = rules.seating == "cutthroat"
    blank["partnership"] = rules.seating == "partnership"
    blank["dealer_alternates"] = rules.next_dealer == "alternate"
    blank["dead_hand_dealer_alternates"] = rules.dead_hand_dealer == "alternate"
    blank["games_to_win"] = game.games_to_win
    # Copied as numbers: records are copied one by one.
    words = np.frombuffer(blank.tobytes(), np.uint64)
    words = np.broadcast_to(words, (lanes, len(words))).copy()
    out = words.view(SCORE)[:, 0]
    out["rounds"] = np.minimum(game.rounds, 255)
    to_go = np.clip(game.to_go, 0, 255)
    for side, whose in enumerate(("own", "opponent", "third")[:sides]):
        out[f"{whose}_to_go"] = to_go[side]
        out[f"{whose}_games"] = game.games[side]
        for column in range(columns):
            number = "" if whose == "third" else f"_{column + 1}"
            out[f"{whose}_total{number}"] = game.totals[side, column]
            out[f"{whose}_boxes{number}"] = np.minimum(game.boxes[side, column], 255)
    for column in range(columns):
        out[f"column_open_{column + 1}"] = game.column_open[column]
    return words


def _encode(known: View, size: int) -> NDArray[np.uint8]:
    discarding = engine.DISCARDING.take(known.phase)
    throwing = discarding & known.to_move
    deadwood = np.empty(len(known), dtype=np.uint8)
    waits, throws = (~throwing).nonzero()[0], throwing.nonzero()[0]
    deadwood[waits] = melds.deadwood(known.hand[waits])
    deadwood[throws], after = melds.deadwood_and_after_discard(known.hand[throws])
    out = _bits(known, size)
    out[throws, _DEADWOOD_AFTER] = _one_more(after)
    rows = np.empty((len(SCALARS), len(known)), dtype=np.uint8)
    scalars = _scalars(known, deadwood, np.bitwise_count)
    for row, values in zip(rows, scalars, strict=True):
        row[:] = values
    out[:, _FIRST_SCALAR:SIZE] = rows.T
    return out


def _encode_one(known: View, size: int) -> NDArray[np.uint8]:
    """:func:`_encode` for one lane: a single game is twice as quick without arrays of one."""
    one = known.item()
    out = _one_lanes_bits(one, size)
    discarding = engine.DISCARDING.item(one.phase)
    if discarding and one.to_move:
        deadwood, after = melds.deadwood_and_after_discard(known.hand)
        out[:, _DEADWOOD_AFTER] = _one_more(after)
    else:
        deadwood = melds.deadwood(known.hand)
    out[0, _FIRST_SCALAR:SIZE] = _scalars(one, deadwood.item(), int.bit_count)
    return out


def _one_more(after: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """1 + deadwood, 0 for cards not held, in place."""
    after += np.uint8(1)
    after *= (after <= melds.NOT_HELD).view(np.uint8)
    return after


# What an entry means is written once, for arrays of lanes and for one lane's plain numbers alike.


def _planes(
    known: Any, recent: Any, pack: Callable[[Any], Any], packed_card: Callable[[Any], Any]
) -> Any:
    """BIT_PLANES in order, bit i for card id i; ``recent``: the other's last three discards."""
    hand, seen, opponent_known = pack(known.hand), pack(known.seen), pack(known.opponent_known)
    upcard = packed_card(known.upcard)
    return (
        hand,
        packed_card(known.drawn),
        upcard,
        seen & ~(hand | opponent_known | upcard),
        opponent_known,
        seen & hand,
        pack(known.own_discards),
        pack(known.opponent_discards),
        pack(known.opponent_refused),
        *(packed_card(card) for card in recent),
    )


def _lane_flags_index(phase: Any, to_move: Any, is_dealer: Any, doubles: Any, planes: Any) -> Any:
    """Where in _LANE_FLAGS a lane's flags are."""
    drawn_from_pile = planes[1] & planes[5] != 0  # the card drawn, among own cards known
    return phase + 8 * to_move + 16 * is_dealer + 32 * drawn_from_pile + 64 * doubles


def _fixed_flags(rules: Rules) -> int:
    """FLAGS that the rules alone decide, as bits."""
    return (
        _BIG_GIN * (rules.big_gin_bonus is not None)
        | _SPADE_KNOCK * rules.spade_knock_doubles
        | _TIE * (rules.tie == "draw")
        | _LAST_DISCARD * (rules.last_discard == "may_knock")
        | _OPEN * (rules.first_upcard == "open")
    )


def _scalars(known: Any, deadwood: Any, count: Callable[[Any], Any]) -> Any:
    """SCALARS in order."""
    rules = known.rules
    return (
        known.stock_left,
        known.stock_left - rules.stock_floor,
        known.turn,
        rules.turn_limit - known.turn,
        deadwood,
        known.knock_limit,
        count(known.pile),
        known.opponent_unknown,
        min(rules.gin_bonus, 255),
        min(rules.undercut_bonus, 255),
        min(rules.big_gin_bonus or 0, 255),
        rules.stock_floor,
    )


def _one_lanes_bits(one: Any, size: int) -> NDArray[np.uint8]:
    """BIT_PLANES and FLAGS, then zeros, of one lane: uint8 [1, size]."""
    recent = one.opponent_recent.to_bytes(4, "little")[:3]
    planes = _planes(one, recent, cards.pack_one, _ONE_PACKED_OR_NONE.__getitem__)
    index = _lane_flags_index(one.phase, one.to_move, one.is_dealer, one.upcard_doubles, planes)
    flags = _ONE_LANE_FLAGS[index] | _fixed_flags(one.rules)
    string = flags << _FIRST_FLAG
    for number, plane in enumerate(planes):
        string |= plane << number * cards.NUM_CARDS
    bits = np.frombuffer(string.to_bytes(size // 8, "little"), dtype=np.uint8)
    return np.unpackbits(bits, bitorder="little").reshape(1, size)


def _bits(known: View, size: int) -> NDArray[np.uint8]:
    """The same of many lanes, as one string of bits, which numpy unpacks in one go."""
    words = np.empty((-(-size // _WORD), len(known)), dtype=np.uint64)
    recent = known.opponent_recent.view(np.uint8)
    discards = (recent[nth::4] for nth in range(3))
    planes = _planes(known, discards, cards.pack, _PACKED_OR_NONE.take)
    to_move, is_dealer, doubles = (
        flag.view(np.uint8) for flag in (known.to_move, known.is_dealer, known.upcard_doubles)
    )
    index = _lane_flags_index(known.phase, to_move, is_dealer, doubles, planes)
    flags = _LANE_FLAGS.take(index) | np.uint64(_fixed_flags(known.rules))
    parts = [*((cards.NUM_CARDS, plane) for plane in planes), (len(FLAGS), flags)]
    end = 0
    for width, part in parts:
        column, start = divmod(end, _WORD)
        end += width
        word = words[column]
        if start:
            word |= part << _SHIFTS[start]
        else:
            word[:] = part
        if start + width > _WORD:
            np.right_shift(part, _SHIFTS[_WORD - start], out=words[column + 1])
    words[column + 1 :] = 0
    strings = np.ascontiguousarray(words.T).view(np.uint8)[:, : size // 8]
    return np.unpackbits(strings.reshape(-1), bitorder="little").reshape(-1, size)
