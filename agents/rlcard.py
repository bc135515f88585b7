"""RLCard's novice rule agent for gin rummy as a player of our rules, one lane at a time.

It goes gin or knocks, with any card, as soon as it may; it throws a card that leaves the least
deadwood, ties at random; it draws at random, and so it takes or passes the first upcard. What it
may knock with is RLCard's list: loose cards of an arrangement whose others are within the limit. It
knows of no big gin, and goes gin instead.

Needs ``pip install rlcard``.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import UnknownAgentError
from agents.random import choose
from ginenv import actions, cards, engine
from ginenv.actions import Legal
from ginenv.observation import View
from ginenv.rules import Rules

_SUITS = "shdc"
_THEIRS = [_SUITS.index(cards.name(card)[1]) * 13 + card % 13 for card in range(52)]
"""Our card ids as RLCard's."""
_OURS = {theirs: card for card, theirs in enumerate(_THEIRS)}
_GAME = "rlcard.games.gin_rummy"


def load(rules: Rules) -> RLCard:
    """The agent. Raises UnknownAgentError where it is not installed, or can't play these rules."""
    if rules.deck_size < cards.NUM_CARDS or rules.hand_size != 10:
        raise UnknownAgentError("rlcard: plays with ten cards each of a whole deck only")
    try:
        return RLCard()
    except ImportError:
        raise UnknownAgentError(
            "rlcard: RLCard is not installed here: pip install rlcard"
        ) from None


class RLCard:
    """Knocks at once, throws well, draws at random. Raises ImportError where RLCard is missing."""

    def __init__(self) -> None:
        models = importlib.import_module("rlcard.models.gin_rummy_rule_models")
        self._agent = models.GinRummyNoviceRuleAgent()
        self._events = importlib.import_module(f"{_GAME}.utils.action_event")
        self._utils = importlib.import_module(f"{_GAME}.utils.utils")
        self._judge = importlib.import_module(f"{_GAME}.judge")

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """See :class:`agents.Agent`."""
        chosen = np.empty(len(view), dtype=np.intp)
        throws = engine.DISCARDING.take(view.phase)
        before = np.random.get_state()  # noqa: NPY002 - the only source of chance that it uses
        np.random.seed(int(generator.integers(1 << 32)))  # noqa: NPY002
        try:
            for lane in range(len(view)):
                chosen[lane] = (self._throw if throws[lane] else self._draw)(view, legal, lane)
        finally:
            np.random.set_state(before)  # noqa: NPY002
        words = actions.words(legal)
        astray = (~actions.contains(words, chosen)).nonzero()[0]
        chosen[astray] = choose(words[astray], generator)
        return chosen

    def _draw(self, view: View, legal: Legal, lane: int) -> int:
        events, others = self._events, legal.others[lane]
        can_pass = others & actions.OTHER_PASS
        offered = {events.draw_card_action_id: actions.PASS if can_pass else actions.STOCK}
        if others & actions.OTHER_TAKE:
            offered[events.pick_up_discard_action_id] = actions.TAKE
        return offered[self._step(int(view.hand[lane]), list(offered))]

    def _throw(self, view: View, legal: Legal, lane: int) -> int:
        events, hand = self._events, int(view.hand[lane])
        eleven = [self._utils.get_card(_THEIRS[card]) for card in cards.to_ids(hand)]
        limit = int(view.knock_limit[lane])
        knocks, gins = (
            [_OURS[self._utils.get_card_id(card)] for card in found]
            for found in self._judge.get_going_out_cards(eleven, limit)
        )
        knockable = set(cards.to_ids(legal.knocks[lane]))
        gins, knocks = ([c for c in sorted(found) if c in knockable] for found in (gins, knocks))
        if gins:
            offered = {events.gin_action_id: actions.KNOCK + gins[0]}
        else:
            offered = {
                events.knock_action_id + _THEIRS[card]: actions.KNOCK + card for card in knocks
            } | {
                events.discard_action_id + _THEIRS[card]: actions.DISCARD + card
                for card in cards.to_ids(legal.discards[lane])
            }
        if not offered:
            return actions.PASS  # not legal: it has to knock, and its list leaves all knocks out
        return offered[self._step(hand, list(offered))]

    def _step(self, hand: int, offered: list[int]) -> int:
        plane = np.zeros(cards.NUM_CARDS, dtype=np.intp)
        plane[[_THEIRS[card] for card in cards.to_ids(hand)]] = 1
        state: dict[str, Any] = {"obs": [plane], "legal_actions": offered}
        return int(self._agent.step(state))
