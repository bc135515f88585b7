"""A record position by position, as plain data for the tab, pictures and tables.

Everything is found by re-running the record through the engine: whoever shows it needs no rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ginenv import actions, board, cards, engine, match, melds
from ginenv.engine import State
from ginenv.records import Hand, parse
from ginenv.replay import Game, is_single, rerun, shown_names
from ginenv.rules import Rules

_RULES = ("target", "seating", "score_sheet", "gin_bonus", "undercut_bonus", "hand_size")


def expand(made: dict[str, Any]) -> dict[str, Any]:
    """All that there is to see of a record that has been checked.

    ``players``; ``single``: whether it is a hand by itself; ``rules``: the few that are shown;
    ``hands``: see below; ``final`` and ``won``: each player's final total and who has won, or null.

    Of each hand ``seats``, ``dealer``, ``upcard``, ``limit``, ``result``, ``ending`` in words, the
    ``sheet`` after it (:func:`ginenv.match.sheet`) and ``frames``, the positions.
    """
    rules, hands = parse(made)
    names = shown_names(made["players"])
    game = Game(rules, hands[0])
    shown = [_hand(rules, game, hand, names) for hand in hands]
    last = shown[-1]["sheet"]
    return {
        "players": names,
        "single": is_single(rules, made),
        "rules": {name: getattr(rules, name) for name in _RULES},
        "hands": shown,
        "final": last["final"],
        "won": last["winner"],
    }


def _hand(rules: Rules, game: Game, hand: Hand, players: list[str]) -> dict[str, Any]:
    """A hand, entered on the game's sheet."""
    seats = list(hand.seats or (0, 1))
    frames, mover = [], 0
    for at, state in enumerate(rerun(rules, hand)):
        frame = position(state)
        # After the last action comes at most a forfeit.
        word = [*map(actions.format, hand.actions[at - 1 : at]), "forfeit"][0] if at else None
        frame["last"] = word and _done(word, mover, state)
        frame["thought"] = _thought(hand, at)
        frames.append(frame)
        mover = int(state.mover[0])
    result = engine.result(state, 0)
    _lay_down(frames[-1], result, mover)
    game.enter(result)
    return {
        "seats": seats,
        "dealer": hand.dealer,
        "upcard": cards.name(hand.deck[2 * rules.hand_size]),
        "limit": int(state.knock_limit[0]),
        "frames": frames,
        "result": result,
        "ending": board.ending(state, result, [players[seat] for seat in seats]),
        "sheet": match.sheet(game.sheet, 0),
    }


def _thought(hand: Hand, at: int) -> dict[str, Any] | None:
    """What the player on move thought in this position, with the action that he chose."""
    thought = hand.policy[at] if hand.policy and at < len(hand.actions) else None
    return thought and {**thought, "chosen": actions.format(hand.actions[at])}


def _done(word: str, seat: int, state: State) -> dict[str, Any]:
    """The action that led to a position: who, what, and the card that it moved."""
    what, _, card = word.partition(" ")
    if what in ("stock", "take"):
        card = cards.name(int(state.drawn[0]))
    return {"seat": seat, "what": what, "card": card or None}


def position(state: State) -> dict[str, Any]:
    """A position (a state of one lane): ``hands`` by seat, ``mover`` (null at the end), ``drawn``,
    ``pile`` from the bottom up, ``stock``: cards left."""
    drawn = int(state.drawn[0])
    pile = state.pile[0, : state.pile_size[0]].tolist()
    return {
        "hands": [_held(state, seat) for seat in (0, 1)],
        "mover": None if state.over[0] else int(state.mover[0]),
        "phase": engine.PHASES[int(state.phase[0])],
        "drawn": None if drawn == cards.NO_CARD else cards.name(drawn),
        "pile": [cards.name(card) for card in pile],
        "stock": int(state.stock_left[0]),
    }


def _held(state: State, seat: int) -> dict[str, Any]:
    """A hand of 10 or 11 cards at its best.

    ``least``: the deadwood that remains, with 11 cards after the best discard; ``known``: cards
    that the other player has seen it take.
    """
    hand = state.hands[:1, seat]
    sets, runs = melds.best_arrangement(hand)
    left = hand & ~(sets | runs)
    count = len(cards.to_ids(hand[0]))
    least = cards.points(left)
    if count > state.rules.hand_size:
        least = np.minimum(least, melds.deadwood_after_discard(hand).min(axis=1))
    return {
        "melds": [_by_suit(meld) for meld in melds.split(int(sets[0]), int(runs[0]))],
        "rest": _by_rank(int(left[0])),
        "points": int(cards.points(left)[0]),
        "least": int(least[0]),
        "known": _by_rank(int(state.seen[0] & hand[0])),
    }


def _lay_down(frame: dict[str, Any], result: dict[str, Any], ended_by: int) -> None:
    """Show both hands as they were laid down; of dead and forfeited hands nothing is."""
    if result["kind"] in ("dead", "forfeit"):
        return
    for seat, held in enumerate(frame["hands"]):
        laid_off = [] if seat == ended_by else result["layoffs"]
        every = [*(card for meld in held["melds"] for card in meld), *held["rest"]]
        shown = [meld.split() for meld in result["melds"][seat]]
        used = {*laid_off, *(card for meld in shown for card in meld)}
        rest = cards.parse([card for card in every if card not in used])
        held |= {"melds": shown, "rest": _by_rank(int(rest)), "laid_off": laid_off}
        held |= dict.fromkeys(("points", "least"), result["deadwood"][seat])
        held["laid_down"] = True


def _by_suit(card_set: int) -> list[str]:
    return cards.format(card_set).split()


def _by_rank(card_set: int) -> list[str]:
    ids = sorted(cards.to_ids(card_set), key=lambda card: (card % cards.NUM_RANKS, card))
    return [cards.name(card) for card in ids]
