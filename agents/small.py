"""A small deck's hand of Gin Rummy, written out whole through the engine.

There is no second set of rules: every node is a lane of :class:`ginenv.engine.State`, and a level
is one :func:`ginenv.engine.step`. What a player knows is all that he has noticed since the deal
(perfect recall); an agent is asked at the :class:`~ginenv.observation.View` that he has of it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import Agent, probabilities
from agents.tree import Level, Strategy, Tree
from ginenv import actions, cards, engine, observation
from ginenv.actions import Legal
from ginenv.engine import State
from ginenv.observation import View
from ginenv.rules import Rules

MOST_NODES = 8_000_000
"""About 2.5 GB while they are made."""
MOST_DEALS = 500_000
_OWN_DRAW = actions.NUM_ACTIONS
_CODES = _OWN_DRAW + cards.NUM_CARDS
"""What a player can notice of an action: the action, or which card he drew himself."""
_AT_ONCE = 16_384
"""Information sets at which an agent is asked together."""


class TooBigError(ValueError):
    """A deck, or a turn limit, whose tree cannot be written out."""


@dataclass(slots=True)
class SmallGame:
    """The tree of a hand, and for each of its S information sets what the player knows there."""

    rules: Rules
    tree: Tree
    """Player 0 is the non-dealer, player 1 the dealer; payoffs in points."""
    view: View
    """[S]."""
    legal: Legal
    """[S]."""
    actions: NDArray[np.uint8]
    """The action of each choice, [C]."""

    def strategy(self, agent: Agent) -> Strategy:
        """How likely the agent makes each choice, [C].

        Raises NoProbabilitiesError for an agent that cannot say it.
        """
        sets = np.arange(len(self.view))
        parts = [
            probabilities(agent, take(self.view, some), self.legal.take(some))
            for some in np.split(sets, range(_AT_ONCE, len(sets), _AT_ONCE))
        ]
        return np.concatenate(parts)[self.tree.set_of, self.actions].astype(np.float64)


_COLUMNS = tuple(f.name for f in dataclasses.fields(View) if f.name not in ("rules", "game"))


def take(view: View, lanes: NDArray[np.intp]) -> View:
    """Some lanes of a view of single hands."""
    columns: dict[str, Any] = {name: getattr(view, name)[lanes] for name in _COLUMNS}
    return View(view.rules, **columns)


def _join(views: Sequence[View]) -> View:
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(view, name) for view in views]) for name in _COLUMNS
    }
    return View(views[0].rules, **columns)


def deals(rules: Rules) -> NDArray[np.uint8]:
    """Every deal that differs in who knows what: decks in deal order, uint8 [N, D].

    Hands are dealt in the order of their cards, and what can't be drawn within ``turn_limit`` lies
    below in that order: another order of the same changes nothing. All are equally likely.
    """
    deck = cards.to_ids(cards.deck_set(rules.num_ranks, rules.num_suits))
    size, left = rules.hand_size, len(deck) - 2 * rules.hand_size
    seen = min(left, 1 + rules.turn_limit)  # the upcard and what may be drawn
    count = math.comb(len(deck), size) * math.comb(len(deck) - size, size) * math.perm(left, seen)
    if count > MOST_DEALS:
        raise TooBigError(
            f"num_ranks={rules.num_ranks}, num_suits={rules.num_suits}, hand_size={size}: "
            f"{_about(count)} deals, and no more than {MOST_DEALS:,} can be written out"
        )
    every = []
    for first in itertools.combinations(deck, size):
        others = [card for card in deck if card not in first]
        for second in itertools.combinations(others, size):
            rest = [card for card in others if card not in second]
            hands = [card for pair in zip(first, second, strict=True) for card in pair]
            for top in itertools.permutations(rest, seen):
                every.append([*hands, *top, *(card for card in rest if card not in top)])
    return np.array(every, dtype=np.uint8)


def _about(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"about 10^{len(str(count)) - 1}"


def build(
    rules: Rules, dealer: int = 1, watch: Callable[[State], None] = lambda state: None
) -> SmallGame:
    """The tree of one hand.

    Seats are alike but for who deals, and no view tells an agent its seat's number otherwise: one
    tree, best responses to be had by the non-dealer and by the dealer, is all there is to know
    where the deal is cut. ``watch`` is shown the state of each level.

    Raises TooBigError.
    """
    decks = deals(rules)
    state = engine.deal(rules, decks, np.full(len(decks), dealer))
    probabilities = np.full(len(state), 1 / len(state))
    # What each player has noticed so far, as a number: [2, N].
    seen = [_numbered(state.hands[:, seat], state.top) for seat in (0, 1)]
    maker = _Maker(rules)
    while len(state):
        watch(state)
        state, seen = maker.level(state, seen)
    return maker.finish(probabilities)


def _numbered(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
    """The same number for rows that are alike in all columns, from 0: [N]."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return number.astype(np.int64)


class _Maker:
    """Adds level after level."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.levels: list[Level] = []
        self.views: list[View] = []
        self.legal: list[Legal] = []
        self.set_player: list[NDArray[np.int8]] = []
        self.set_of: list[NDArray[np.int64]] = []
        self.actions: list[NDArray[np.uint8]] = []
        self.sets = self.choices = self.nodes = 0

    def level(
        self, state: State, seen: list[NDArray[np.int64]]
    ) -> tuple[State, list[NDArray[np.int64]]]:
        """Add the nodes of a state; the nodes that follow, and what is noticed there."""
        self.nodes += len(state)
        if self.nodes > MOST_NODES:
            raise TooBigError(
                f"turn_limit={self.rules.turn_limit}: the tree of these rules has more than "
                f"{MOST_NODES:,} nodes; choose fewer cards, or fewer turns"
            )
        words = actions.words(engine.legal(state))
        mask = actions.unpack(words).astype(np.bool_)
        parent, action = mask.nonzero()
        self.levels.append(
            Level(
                player=np.where(state.over, -1, state.mover).astype(np.int8),
                payoff=np.where(state.winner == 1, -1.0, 1.0) * state.points,
                parent=parent.astype(np.int32),
                choice=self._choices(state, seen, mask)[parent, action],
                chance=np.ones(len(parent)),
            )
        )
        after = state.take(parent)
        engine.step(after, action)
        return after, _notice(state.mover[parent], action, after, [s[parent] for s in seen])

    def _choices(
        self, state: State, seen: list[NDArray[np.int64]], mask: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Add this level's information sets; the choice that each node's action is, [N, 108]."""
        # A set is what its player has noticed; numbered over both players.
        noticed = np.where(state.mover == 0, seen[0], seen[1] + int(seen[0].max(initial=0)) + 1)
        open_ = (~state.over).nonzero()[0]
        _, first, set_at = np.unique(noticed[open_], return_index=True, return_inverse=True)
        some = open_[first]
        set_mask = mask[some]
        if not (set_mask[set_at] == mask[open_]).all():
            raise AssertionError("nodes of an information set differ in what is legal")
        set_of, set_action = set_mask.nonzero()
        places = np.full(set_mask.shape, -1, np.int32)
        places[set_of, set_action] = self.choices + np.arange(len(set_of))
        at = np.full(mask.shape, -1, np.int32)
        at[open_] = places[set_at]
        if len(some):
            self.views.append(observation.view(state.take(some)))
            self.legal.append(engine.legal(state.take(some)))
        self.set_player.append(state.mover[some].astype(np.int8))
        self.set_of.append(self.sets + set_of)
        self.actions.append(set_action.astype(np.uint8))
        self.sets += len(some)
        self.choices += len(set_of)
        return at

    def finish(self, probabilities: NDArray[np.float64]) -> SmallGame:
        """The whole of it."""
        tree = Tree(
            levels=self.levels,
            deals=probabilities,
            set_player=np.concatenate(self.set_player),
            set_of=np.concatenate(self.set_of).astype(np.int32),
        )
        legal = Legal(*(np.concatenate(parts) for parts in zip(*self.legal, strict=True)))
        return SmallGame(self.rules, tree, _join(self.views), legal, np.concatenate(self.actions))


def _notice(
    acted: NDArray[np.intp],
    action: NDArray[np.intp],
    after: State,
    seen: list[NDArray[np.int64]],
) -> list[NDArray[np.int64]]:
    """What each seat has noticed after an action: it, and who drew from the stock the card too."""
    drew = np.where(action == actions.STOCK, _OWN_DRAW + after.drawn.astype(np.int64), action)
    return [
        _numbered(seen[seat] * _CODES + np.where(acted == seat, drew, action)) for seat in (0, 1)
    ]
