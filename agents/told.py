"""What each seat is told of a hand as it is played, for agents that follow hands from the deal on.

A :class:`~ginenv.observation.View` is what a seat knows at one point. Here is how it came to know
it, in the words of recorded games. Like the observation, this tells a seat nothing that a player
could not see at the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from agents import Agent
from ginenv import actions, cards, engine, observation
from ginenv import play as playing
from ginenv.actions import Legal
from ginenv.engine import State
from ginenv.observation import Standing, View
from ginenv.play import Play

FORFEIT = -1
"""Instead of an action: the hand is given up."""
SIDES = ("own", "opponent", "third")


@dataclass(slots=True, eq=False)
class Told:
    """One hand as one seat is told it. It grows while the hand is played."""

    chair: int
    """Hands of different chairs may share a deck, or be of partners: who plays one of them should
    know nothing of the others."""
    seat: int
    """0 or 1."""
    dealer: int
    """The seat that deals."""
    limit: int
    """The knock limit."""
    upcard: str
    hand: str
    """The seat's cards as dealt."""
    score: dict[str, Any] | None
    """The score before the hand, see :func:`score`; None of a hand that is played singly."""
    events: list[str] = field(default_factory=list)
    """What was done, by ``you`` or by ``other``: ``"you stock 5h"``, ``"other stock"``."""


@runtime_checkable
class Asked(Agent, Protocol):
    """An agent that is told hands from the deal on. The arena calls these instead of ``act``."""

    def ask(self, view: View, legal: Legal, hands: Sequence[Told]) -> NDArray[np.intp]:
        """A legal action for each of B hands, ints [B]; anything else forfeits the hand."""
        ...

    def ended(self, hands: Sequence[Told], results: Sequence[dict[str, Any]]) -> None:
        """Hands have ended, with these results as the seats may know them."""
        ...

    def close(self) -> None:
        """No more hands: what comes after this shares no memory with what went before."""
        ...


class Telling:
    """What both seats of every hand in play have been told."""

    def __init__(self, play: Play, plays: int) -> None:
        self.plays = plays
        """Episodes with the same decks; they lie side by side."""
        self.hands: list[tuple[Told, Told]] = [()] * len(play.hands)  # type: ignore[list-item]
        """By lane of the engine and by seat."""
        self.deal(play, np.arange(len(play)))

    def deal(self, play: Play, lanes: NDArray[np.intp]) -> None:
        """The hands of these episodes have been dealt."""
        for table in range(play.rules.num_tables):
            pairs = zip(*(self._dealt(play, lanes, table, seat) for seat in (0, 1)), strict=True)
            for lane, pair in zip(lanes.tolist(), pairs, strict=True):
                self.hands[lane * play.rules.num_tables + table] = pair

    def _dealt(self, play: Play, lanes: NDArray[np.intp], table: int, seat: int) -> Iterator[Told]:
        """What these episodes' hands look like to a seat as dealt."""
        rules = play.rules
        at = lanes * rules.num_tables + table
        players = play.seats[lanes, table, seat]
        standing = playing.standing(play, players, lanes)
        columns = (
            lanes % self.plays * rules.num_players + players,
            play.hands.dealer[at],
            play.hands.knock_limit[at],
            play.hands.deck[at, : 2 * rules.hand_size + 1],
        )
        for row, (chair, dealer, limit, deck) in enumerate(_rows(*columns)):
            yield Told(
                chair=chair,
                seat=seat,
                dealer=dealer,
                limit=limit,
                upcard=cards.name(deck[-1]),
                hand=cards.format(cards.from_ids(deck[int(seat == dealer) : -1 : 2])),
                score=None if standing is None else score(standing, row),
            )

    def add(self, state: State, at: NDArray[np.intp], chosen: NDArray[np.intp]) -> None:
        """Actions, or FORFEIT, that are about to be played on these lanes [N] of the engine."""
        next_card = np.minimum(state.stock_next[at], state.deck.shape[1] - 1)
        columns = (at, state.mover[at], chosen, state.top[at], state.deck[at, next_card])
        for lane, mover, action, top, card in _rows(*columns):
            own, others = _words(action, top, card)
            self.hands[lane][mover].events.append(f"you {own}")
            self.hands[lane][1 - mover].events.append(f"other {others}")


def _rows(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Arrays side by side, as Python's numbers."""
    return zip(*(column.tolist() for column in columns), strict=True)


def score(standing: Standing, lane: int) -> dict[str, Any]:
    """The score of one lane as plain numbers; in lists there is an entry for each column."""
    made: dict[str, Any] = {
        "games_to_win": standing.games_to_win,
        "rounds": int(standing.rounds[lane]),
        "open": standing.column_open[:, lane].tolist(),
    }
    for side, whose in enumerate(SIDES[: len(standing.totals)]):
        made[whose] = {
            "totals": standing.totals[side, :, lane].tolist(),
            "boxes": standing.boxes[side, :, lane].tolist(),
            "games": int(standing.games[side, lane]),
        }
    return made


def _words(action: int, top: int, card: int) -> tuple[str, str]:
    """An action as its player and as the other is told it; ``card``: the stock's next."""
    if action == FORFEIT:
        return "forfeit", "forfeit"
    words = actions.format(action)
    if action == actions.STOCK:
        return f"{words} {cards.name(card)}", words
    if action == actions.TAKE:
        words += f" {cards.name(top)}"  # for the convenience of those who keep no pile
    if actions.KNOCK <= action < actions.STOCK:
        return words, "knock"  # its discard lies face down
    return words, words


def result(state: State, lane: int, seat: int) -> dict[str, Any]:
    """The result of an ended hand as this seat may know it."""
    return observation.known_result(engine.result(state, lane), seat)
