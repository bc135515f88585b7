"""OpenSpiel's SimpleGinRummyBot as a player of our rules, one lane at a time.

The bot looks at nothing but its hand, the upcard and the knock limit, so it is asked about a fresh
hand of OpenSpiel's that begins with these; the cards that it does not hold are dealt in any order.
Where our rules differ from OpenSpiel's:

* It would throw back the card that it has just taken. Then it throws, or knocks with, the card that
  leaves the least deadwood among those that are legal.
* Of the last discard (``last_discard="may_knock"``) it takes all that it may.
* It knows of no big gin, and goes gin instead.

Needs ``pip install open_spiel``.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import UnknownAgentError
from ginenv import actions, cards, engine, melds
from ginenv.actions import Legal
from ginenv.observation import View
from ginenv.rules import Rules

_SUITS = "scdh"
_THEIRS = [_SUITS.index(cards.name(card)[1]) * 13 + card % 13 for card in range(52)]
"""Our card ids as OpenSpiel's."""
_OURS = {theirs: card for card, theirs in enumerate(_THEIRS)}


def load(rules: Rules) -> OpenSpiel:
    """The bot. Raises UnknownAgentError where it is not installed, or can't play these rules."""
    if rules.deck_size < cards.NUM_CARDS or rules.hand_size != 10:
        raise UnknownAgentError("openspiel: plays with ten cards each of a whole deck only")
    try:
        return OpenSpiel(importlib.import_module("pyspiel"))
    except ImportError:
        raise UnknownAgentError(
            "openspiel: OpenSpiel is not installed here: pip install open_spiel"
        ) from None


class OpenSpiel:
    """Draws what it melds, throws its highest loose card, knocks at once."""

    def __init__(self, pyspiel: Any) -> None:
        self._pyspiel, self._spiel = pyspiel, pyspiel.gin_rummy
        self._undealt: dict[int, Any] = {}
        """Hands before the deal, by knock limit."""
        parameters = pyspiel.load_game("gin_rummy").get_parameters()
        self._bot = pyspiel.make_simple_gin_rummy_bot(parameters, 0)

    def act(self, view: View, legal: Legal, generator: np.random.Generator) -> NDArray[np.intp]:
        """See :class:`agents.Agent`."""
        chosen = np.empty(len(view), dtype=np.intp)
        throws = engine.DISCARDING.take(view.phase)
        for lane in range(len(view)):
            chosen[lane] = (self._throw if throws[lane] else self._draw)(view, legal, lane)
        astray = (~actions.contains(actions.words(legal), chosen)).nonzero()[0]
        if len(astray):
            chosen[astray] = _best(view.hand[astray], legal.take(astray))
        return chosen

    def _draw(self, view: View, legal: Legal, lane: int) -> int:
        """The first upcard, every other upcard and the last discard."""
        if view.phase[lane] == engine.LAST_OFFER:
            takes = legal.others[lane] & actions.OTHER_TAKE != 0
        else:
            hand, upcard = cards.to_ids(view.hand[lane]), int(view.upcard[lane])
            takes = False
            if legal.others[lane] & actions.OTHER_TAKE:
                state = self._dealt(int(view.knock_limit[lane]), hand, upcard)
                takes = self._step(state) == self._spiel.DRAW_UPCARD_ACTION
        if takes:
            return actions.TAKE
        can_pass = legal.others[lane] & actions.OTHER_PASS
        return actions.PASS if can_pass else actions.STOCK

    def _throw(self, view: View, legal: Legal, lane: int) -> int:
        spiel, drawn = self._spiel, int(view.drawn[lane])
        hand = [card for card in cards.to_ids(view.hand[lane]) if card != drawn]
        state = self._dealt(int(view.knock_limit[lane]), hand, None, drawn)
        for action in (spiel.PASS_ACTION, spiel.PASS_ACTION, spiel.DRAW_STOCK_ACTION):
            state.apply_action(action)
        state.apply_action(_THEIRS[drawn])
        action = self._step(state)
        if action != spiel.KNOCK_ACTION:
            return actions.DISCARD + _OURS[action]
        state.apply_action(action)
        return actions.KNOCK + _OURS[self._bot.step(state)]

    def _dealt(self, limit: int, hand: list[int], upcard: int | None, drawn: int = -1) -> Any:
        """A hand of OpenSpiel's, of which the bot, who acts first, holds these cards."""
        if limit not in self._undealt:
            game = self._pyspiel.load_game("gin_rummy", {"knock_card": limit})
            self._undealt[limit] = game.new_initial_state()
        known = {*hand, upcard, drawn}
        others = [card for card in range(cards.NUM_CARDS) if card not in known]
        top = others[-1] if upcard is None else upcard
        state = self._undealt[limit].clone()
        for card in (*hand, *others[:10], top):
            state.apply_action(_THEIRS[card])
        return state

    def _step(self, state: Any) -> int:
        self._bot.restart()
        action: int = self._bot.step(state)
        return action


def _best(hands: NDArray[np.uint64], legal: Legal) -> NDArray[np.intp]:
    """Knocks, or else discards, that leave the least deadwood."""
    knocks = legal.knocks != 0
    after = melds.deadwood_after_discard(hands).astype(np.intp)
    after[cards.bits(np.where(knocks, legal.knocks, legal.discards)) == 0] = melds.NOT_HELD
    return after.argmin(axis=1) + np.where(knocks, actions.KNOCK, actions.DISCARD)
