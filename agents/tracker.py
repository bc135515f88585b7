"""What a player at the table knows, followed from what he is told and nothing else.

For programs that speak ``ginenv-protocol/1`` and have no state to look at. The hand is played on in
the engine, with cards that he does not know in places that he can't see; when one of them shows up
elsewhere, it changes places with what lay there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.told import SIDES
from ginenv import actions, cards, engine, observation
from ginenv.engine import State
from ginenv.observation import Standing, View
from ginenv.rules import Rules

_ENDINGS = ("knock", "big-gin", "forfeit")
"""After these there is nothing more to know but the result, which is told."""


class Tracker:
    """One hand as one seat of it knows it."""

    def __init__(self, rules: Rules, told: dict[str, str]) -> None:
        """``told``: the words of the deal: seat, dealer, upcard, hand."""
        self.seat, dealer = int(told["seat"]), int(told["dealer"])
        upcard, size = cards.parse_card(told["upcard"]), rules.hand_size
        own = cards.parse_list(told["hand"]).tolist()
        whole = cards.deck_set(rules.num_ranks, rules.num_suits)
        rest = cards.to_ids(whole & ~cards.from_ids([*own, upcard]))
        hands = {self.seat: own, 1 - self.seat: rest[:size]}
        pairs = zip(hands[1 - dealer], hands[dealer], strict=True)
        deck = [*(card for pair in pairs for card in pair), upcard, *rest[size:]]
        self.state = engine.deal(rules, np.array([deck], np.uint8), np.array([dealer]))
        self.score: dict[str, Any] | None = None

    def hear(self, event: str) -> None:
        """``"you stock 5h"``, ``"other take 7s"``: what was done.

        Raises ValueError or IndexError for what is no such thing.
        """
        who, word, *rest = event.split()
        if word in _ENDINGS:
            return
        if who == "other" and word == "discard":
            self._give(cards.parse_card(rest[0]))
        if who == "you" and word == "stock":
            self._put_next(cards.parse_card(rest[0]))
        words = event.split()[1:3] if word == "discard" else [word]
        engine.step(self.state, np.array([actions.parse(" ".join(words))]))

    def _give(self, card: int) -> None:
        """Have the other hold a card that he shows; the stock gets one of those he may not have."""
        hands, other = self.state.hands[0], 1 - self.seat
        if not hands[other] & cards.BIT[card]:
            unseen = cards.to_ids(hands[other] & ~self.state.seen[0])[0]
            self.state.deck[0, self._place(card)] = unseen
            hands[other] ^= cards.BIT[card] | cards.BIT[unseen]

    def _put_next(self, card: int) -> None:
        """Have a card be the stock's next."""
        deck, at = self.state.deck[0], int(self.state.stock_next[0])
        following = int(deck[at])
        if self.state.hands[0, 1 - self.seat] & cards.BIT[card]:
            self.state.hands[0, 1 - self.seat] ^= cards.BIT[card] | cards.BIT[following]
        else:
            deck[self._place(card)] = following
        deck[at] = card

    def _place(self, card: int) -> int:
        """Where in the stock it is. Raises IndexError for a card that can't be there."""
        left = int(self.state.stock_next[0])
        return left + int(np.flatnonzero(self.state.deck[0, left:] == card)[0])


def view(hands: Sequence[Tracker]) -> View:
    """What the seats know: a lane for each hand, all of them of the same rules."""
    columns = (
        np.concatenate([getattr(hand.state, name) for hand in hands]) for name in engine.COLUMNS
    )
    seats = np.array([hand.seat for hand in hands])
    return observation.view(State(hands[0].state.rules, *columns), seats, _standing(hands))


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
        rules=hands[0].state.rules,
        games_to_win=scores[0]["games_to_win"],
        totals=table("totals", np.int32),
        boxes=table("boxes", np.int32),
        column_open=np.array([score["open"] for score in scores], np.bool_).T,
        games=table("games", np.int16),
        rounds=np.array([score["rounds"] for score in scores], np.int32),
    )
