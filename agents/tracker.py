"""What a player at the table knows, followed from what he is told and nothing else.

The same knowledge as :class:`ginenv.observation.View`, built without an engine: for programs that
speak ``ginenv-protocol/1`` and have no state to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.told import SIDES
from ginenv import cards, engine
from ginenv.observation import Standing, View
from ginenv.rules import Rules

_RECENT = 0xFFFFFFFF


class Tracker:
    """One hand as one seat of it knows it."""

    def __init__(self, rules: Rules, told: dict[str, str]) -> None:
        """``told``: the words of the deal: seat, dealer, limit, upcard, hand."""
        self.rules = rules
        self.seat, self.dealer = int(told["seat"]), int(told["dealer"])
        self.limit = int(told["limit"])
        self.hand = int(cards.parse(told["hand"]))
        upcard = cards.parse_card(told["upcard"])
        self.pile = [upcard]
        self.seen = _bit(upcard)
        spade = upcard // cards.NUM_RANKS == cards.SUITS.index("s")
        self.doubles = rules.spade_upcard_doubles and spade
        self.known = 0
        """Cards in the other hand that were seen to be taken."""
        self.others = rules.hand_size
        """How many cards the other holds."""
        self.discards = [0, 0]
        """By seat, as the next two."""
        self.refused = [0, 0]
        self.recent = [_RECENT, _RECENT]
        self.stock = rules.stock_size
        self.turn = 0
        self.mover = 1 - self.dealer
        self.phase = engine.OFFER if rules.first_upcard == "offer" else engine.DRAW
        self.drawn = cards.NO_CARD
        """The card that this seat has drawn this turn."""
        self.score: dict[str, Any] | None = None

    def hear(self, event: str) -> None:
        """``"you stock 5h"``, ``"other take 7s"``: what was done.

        Raises ValueError, KeyError or IndexError for what is no such thing.
        """
        who, word, *rest = event.split()
        self.mover = self.seat if who == "you" else 1 - self.seat
        card = cards.parse_card(rest[0]) if rest else cards.NO_CARD
        {
            "pass": self._pass,
            "stock": self._stock,
            "take": self._take,
            "discard": self._discard,
            "knock": self._end,
            "big-gin": self._end,
            "forfeit": self._end,
        }[word](card)

    def _pass(self, _: int) -> None:
        self._refuse()
        # OFFER, DEALER_OFFER, MUST_DRAW
        self.phase = engine.OVER if self.phase == engine.LAST_OFFER else self.phase + 1
        self.mover = 1 - self.mover

    def _stock(self, card: int) -> None:
        self._refuse()
        self.stock -= 1
        self._hold(card)

    def _take(self, card: int) -> None:
        last = self.phase == engine.LAST_OFFER
        self.pile.pop()
        self._hold(card)
        if self.mover != self.seat:
            self.known |= _bit(card)
        if last:
            self.phase = engine.LAST_DISCARD

    def _hold(self, card: int) -> None:
        self.phase = engine.DISCARD
        if self.mover == self.seat:
            self.hand |= _bit(card)
            self.drawn = card
        else:
            self.others += 1

    def _discard(self, card: int) -> None:
        if self.mover == self.seat:
            self.hand &= ~_bit(card)
            self.drawn = cards.NO_CARD
        else:
            self.known &= ~_bit(card)
            self.others -= 1
        self.discards[self.mover] |= _bit(card)
        self.recent[self.mover] = (self.recent[self.mover] << 8 | card) & _RECENT
        self.seen |= _bit(card)
        self.pile.append(card)
        self.turn += 1
        self.mover = 1 - self.mover
        self.phase = engine.DRAW
        if self.turn >= self.rules.turn_limit:
            self.phase = engine.OVER
        elif self.stock <= self.rules.stock_floor:
            offers = self.rules.last_discard == "may_knock"
            self.phase = engine.LAST_OFFER if offers else engine.OVER

    def _end(self, _: int) -> None:
        self.phase, self.drawn = engine.OVER, cards.NO_CARD

    def _refuse(self) -> None:
        self.refused[self.mover] |= _bit(self.pile[-1])


def _bit(card: int) -> int:
    return int(cards.BIT[card])


def view(hands: Sequence[Tracker]) -> View:
    """The same as arrays: a lane for each hand, all of them of the same rules."""

    def column(values: Sequence[Any], dtype: Any = np.uint64) -> NDArray[Any]:
        return np.array(values, dtype=dtype)

    return View(
        rules=hands[0].rules,
        seat=column([hand.seat for hand in hands], np.intp),
        to_move=column([h.mover == h.seat and h.phase != engine.OVER for h in hands], np.bool_),
        phase=column([hand.phase for hand in hands], np.uint8),
        is_dealer=column([hand.seat == hand.dealer for hand in hands], np.bool_),
        hand=column([hand.hand for hand in hands]),
        drawn=column([hand.drawn for hand in hands], np.uint8),
        upcard=column([(hand.pile or [cards.NO_CARD])[-1] for hand in hands], np.uint8),
        seen=column([hand.seen for hand in hands]),
        opponent_known=column([hand.known for hand in hands]),
        own_discards=column([hand.discards[hand.seat] for hand in hands]),
        opponent_discards=column([hand.discards[1 - hand.seat] for hand in hands]),
        opponent_refused=column([hand.refused[1 - hand.seat] for hand in hands]),
        opponent_recent=column([hand.recent[1 - hand.seat] for hand in hands], np.uint32),
        opponent_unknown=column([h.others - h.known.bit_count() for h in hands], np.uint8),
        stock_left=column([hand.stock for hand in hands], np.intp),
        turn=column([hand.turn for hand in hands], np.uint8),
        knock_limit=column([hand.limit for hand in hands], np.uint8),
        upcard_doubles=column([hand.doubles for hand in hands], np.bool_),
        game=_standing(hands),
    )


def _standing(hands: Sequence[Tracker]) -> Standing | None:
    scores = [hand.score for hand in hands if hand.score is not None]
    if len(scores) < len(hands):
        return None
    sides = [whose for whose in SIDES if whose in scores[0]]

    def table(name: str, dtype: Any) -> NDArray[Any]:
        """By side, then by what is in the list if there is one, then by lane."""
        rows = np.array([[score[whose][name] for whose in sides] for score in scores], dtype)
        return np.moveaxis(rows, 0, -1)

    return Standing(
        rules=hands[0].rules,
        games_to_win=scores[0]["games_to_win"],
        totals=table("totals", np.int32),
        boxes=table("boxes", np.int32),
        column_open=np.array([score["open"] for score in scores], np.bool_).T,
        games=table("games", np.int16),
        rounds=np.array([score["rounds"] for score in scores], np.int32),
    )
