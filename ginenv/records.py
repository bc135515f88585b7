"""The format of recorded games (``ginenv-game/1``, docs/REPLAYS.md): records to hands and back.

Nothing is played here: what a record says of results and scores is for :mod:`ginenv.replay` to
check.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ginenv import actions, cards
from ginenv import rules as rules_module
from ginenv.rules import Rules

FORMAT = "ginenv-game/1"


class ReplayError(ValueError):
    """A record that is damaged, or that does not re-run to what it says."""


@dataclass(frozen=True, slots=True)
class Hand:
    """One hand as it was played: with the rules, all that determines it."""

    dealer: int
    """Seat 0 or 1."""
    deck: tuple[int, ...]
    """Card ids of the whole deck in deal order."""
    actions: tuple[int, ...]
    """Action ids, 0..107."""
    seats: tuple[int, int] | None = None
    """Which players sit as seats 0 and 1; None heads up, where they are players 0 and 1."""
    policy: tuple[dict[str, Any] | None, ...] | None = None
    """Optional, for each action: what its player thought, as records have it, or None."""
    forfeited: bool = False
    """Whether the seat on move after the last action forfeited the hand."""


@contextmanager
def in_hand(number: int) -> Iterator[None]:
    """Name the hand in the errors of what is done here."""
    try:
        yield
    except ReplayError as error:
        raise ReplayError(f"hand {number}: {error}") from None


def check_deck(rules: Rules, deck: str | Iterable[str | int]) -> NDArray[np.uint8]:
    """A whole deck in deal order, uint8 [D], from text, names or ids.

    Raises ValueError that names the card that is unknown, there twice, missing or not of this
    deck.
    """
    ids = cards.parse_list(deck)
    held = cards.from_ids(ids.tolist())
    whole = cards.deck_set(rules.num_ranks, rules.num_suits)
    if held & ~whole:
        raise ValueError(
            f"{cards.format(held & ~whole)}: not in a deck of {rules.num_ranks} ranks and "
            f"{rules.num_suits} suits"
        )
    if held != whole:
        raise ValueError(
            f"{len(ids)} cards, and the deck has {rules.deck_size}; "
            f"missing: {cards.format(whole & ~held)}"
        )
    return ids


def entry_of(hand: Hand) -> dict[str, Any]:
    """What determines a hand, with room for what comes of it."""
    entry: dict[str, Any] = {"dealer": hand.dealer}
    if hand.seats is not None:
        entry["seats"] = list(hand.seats)
    entry["deck"] = " ".join(cards.name(card) for card in hand.deck)
    entry["actions"] = ", ".join(actions.format(action) for action in hand.actions)
    entry |= {"result": {}, "scores": []}
    if hand.policy is not None:
        entry["policy"] = list(hand.policy)
    return entry


def parse(made: Any) -> tuple[Rules, list[Hand]]:
    """The rules and hands of a record, not yet re-run. Unknown keys are left alone.

    Raises ReplayError that names what is damaged.
    """
    kinds = {"format": str, "rules": dict, "players": list, "hands": list, "final": None}
    _check_keys(made, kinds)
    if made["format"] != FORMAT:
        raise ReplayError(f"format {made['format']!r}: this version reads {FORMAT!r}")
    try:
        rules = rules_module.from_dict(made["rules"])
    except ValueError as error:
        raise ReplayError(f"rules: {error}") from None
    players = made["players"]
    if len(players) != rules.num_players or not all(type(name) is str for name in players):
        raise ReplayError(f"players {players!r}: must be {rules.num_players} names")
    if not made["hands"]:
        raise ReplayError("hands: there is none")
    hands = []
    for number, entry in enumerate(made["hands"], start=1):
        with in_hand(number):
            hands.append(_parse_hand(rules, entry))
    return rules, hands


def _parse_hand(rules: Rules, entry: Any) -> Hand:
    kinds = {"dealer": int, "deck": str, "actions": str, "result": dict, "scores": list}
    _check_keys(entry, kinds)
    if entry["dealer"] not in (0, 1):
        raise ReplayError(f"dealer {entry['dealer']}: must be 0 or 1")
    try:
        deck = check_deck(rules, entry["deck"])
    except ValueError as error:
        raise ReplayError(f"deck: {error}") from None
    played = []
    words = entry["actions"].split(",") if entry["actions"].strip() else []
    for number, word in enumerate(words, start=1):
        try:
            played.append(actions.parse(word))
        except ValueError as error:
            raise ReplayError(f"action {number}: {error}") from None
    seats = _parse_seats(rules, entry)
    policy = _parse_policy(entry.get("policy"), len(played))
    # The one thing that deck and actions do not tell.
    forfeited = entry["result"].get("kind") == "forfeit"
    return Hand(entry["dealer"], tuple(deck.tolist()), tuple(played), seats, policy, forfeited)


def _parse_seats(rules: Rules, entry: dict[str, Any]) -> tuple[int, int] | None:
    if rules.seating == "heads_up":
        if "seats" in entry:
            raise ReplayError("seats: only games of three or four players have them")
        return None
    _check_keys(entry, {"seats": list})
    seats = entry["seats"]
    players = [seat for seat in seats if type(seat) is int and 0 <= seat < rules.num_players]
    if len(seats) != 2 or len(set(players)) != 2:
        last = rules.num_players - 1
        raise ReplayError(f"seats: {seats!r}: must be two of the players 0 to {last}")
    return players[0], players[1]


def _parse_policy(policy: Any, played: int) -> tuple[dict[str, Any] | None, ...] | None:
    if policy is None:
        return None
    if type(policy) is not list or len(policy) != played:
        raise ReplayError(f"policy: must have an entry for each of the {played} actions")
    for number, thought in enumerate(policy, start=1):
        try:
            if thought is not None:
                _check_thought(thought)
        except ValueError as error:
            raise ReplayError(f"policy, action {number}: {error}") from None
    return tuple(policy)


def _check_thought(thought: Any) -> None:
    """Raise ValueError unless these are actions with their chances, and points or null."""
    _check_keys(thought, {"top": list, "value": None})
    if thought["value"] is not None and not _is_number(thought["value"]):
        raise ReplayError(f"value: {thought['value']!r} is not a number")
    for pair in thought["top"]:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str:
            raise ReplayError(f"top: {pair!r} is not an action and its chance")
        actions.parse(pair[0])
        if not _is_number(pair[1]) or not 0 <= pair[1] <= 1:
            raise ReplayError(f"top: {pair[0]}: chance {pair[1]!r}: must be 0 to 1")


def _check_keys(found: Any, kinds: Mapping[str, type | None]) -> None:
    """Raise ReplayError unless these keys are there, each of its kind (None: of any)."""
    if type(found) is not dict:
        raise ReplayError("not a JSON object")
    for key, kind in kinds.items():
        if key not in found:
            raise ReplayError(f"{key!r} is missing")
        if kind is not None and type(found[key]) is not kind:
            raise ReplayError(f"{key}: {found[key]!r} is not of the kind {kind.__name__}")


def _is_number(found: Any) -> bool:
    return type(found) in (int, float) and abs(found) < math.inf
