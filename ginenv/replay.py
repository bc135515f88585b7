"""Recorded games: write them, read them, re-run them through the engine, show them as text.

A record is one line of JSON (``ginenv-game/1``, docs/REPLAYS.md). Rules, dealer, deck and actions
determine all else; result and scores are there to read, and to check the re-run against. This
version records hands played singly: one hand in a record, ``final`` null.

``python -m ginenv.replay FILE`` checks every line of a file and prints its first game move by move,
or with ``--show N`` its N-th.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ginenv import actions, cards, engine
from ginenv import rules as rules_module
from ginenv.board import board
from ginenv.engine import State
from ginenv.files import whole_file
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


def legal_words(state: State) -> list[str]:
    """The legal actions of a hand (a state of one lane) in words."""
    mask = actions.mask(engine.legal(state))[0]
    return [actions.format(action) for action in np.flatnonzero(mask).tolist()]


# Records.


def record(
    rules: Rules, players: Sequence[str], hands: Iterable[Hand], **extra: Any
) -> dict[str, Any]:
    """The record of a game, results and scores found by playing the hands again.

    ``extra``: further keys, such as ``seed`` or ``date``. Raises ReplayError for what
    :func:`check` would not accept.
    """
    entries = [_entry(rules, hand) for hand in hands]
    made = {
        "format": FORMAT,
        "rules": rules.to_dict(),
        "players": list(players),
        "hands": entries,
        "final": None,
        **extra,
    }
    parse(made)
    return made


def _entry(rules: Rules, hand: Hand) -> dict[str, Any]:
    result = outcome(rules, hand)
    return {
        "dealer": hand.dealer,
        "deck": " ".join(cards.name(card) for card in hand.deck),
        "actions": ", ".join(actions.format(action) for action in hand.actions),
        "result": result,
        "scores": _scores(rules, result),
    }


def _scores(rules: Rules, result: dict[str, Any]) -> list[Any]:
    """The totals after the first hand of a game."""
    totals = [0, 0]
    if result["winner"] is not None:
        totals[result["winner"]] = result["points"]
    # On the three-column sheet a first win is entered in the first column only.
    return [totals, [0, 0], [0, 0]] if rules.score_sheet == "hollywood" else totals


def rerun(rules: Rules, hand: Hand) -> Iterator[State]:
    """The positions of a hand, as dealt and after each action: one State, stepped in place.

    Raises ReplayError at an action that is not legal, that comes after the end, and where the
    actions stop before the end.
    """
    state = engine.deal(rules, np.array([hand.deck], np.uint8), np.array([hand.dealer]))
    yield state
    for number, action in enumerate(hand.actions, start=1):
        where = f"action {number}, {actions.format(action)!r}"
        if state.over[0]:
            raise ReplayError(f"{where}: goes on after the hand has ended")
        if not actions.mask(engine.legal(state))[0, action]:
            raise ReplayError(f"{where}: not legal; legal: {', '.join(legal_words(state))}")
        engine.step(state, np.array([action]))
        yield state
    if not state.over[0]:
        raise ReplayError(f"the actions stop after {len(hand.actions)}, before the hand has ended")


def outcome(rules: Rules, hand: Hand) -> dict[str, Any]:
    """The result of a hand that is re-run to its end. Raises ReplayError as :func:`rerun` does."""
    *_, state = rerun(rules, hand)
    return engine.result(state, 0)


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
    if rules.seating != "heads_up" or len(made["hands"]) != 1 or made["final"] is not None:
        raise ReplayError(
            f"seating {rules.seating!r}, {len(made['hands'])} hands, final {made['final']!r}: "
            "this version records only single hands of two players, with final null"
        )
    players = made["players"]
    if len(players) != rules.num_players or not all(type(name) is str for name in players):
        raise ReplayError(f"players {players!r}: must be {rules.num_players} names")
    hands = []
    for number, entry in enumerate(made["hands"], start=1):
        try:
            hands.append(_parse_hand(rules, entry))
        except ValueError as error:
            raise ReplayError(f"hand {number}: {error}") from None
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
    return Hand(entry["dealer"], tuple(deck.tolist()), tuple(played))


def _check_keys(found: Any, kinds: Mapping[str, type | None]) -> None:
    """Raise ReplayError unless these keys are there, each of its kind (None: of any)."""
    if type(found) is not dict:
        raise ReplayError("not a JSON object")
    for key, kind in kinds.items():
        if key not in found:
            raise ReplayError(f"{key!r} is missing")
        if kind is not None and type(found[key]) is not kind:
            raise ReplayError(f"{key}: {found[key]!r} is not of the kind {kind.__name__}")


def check(made: Any) -> None:
    """Re-run all that a record holds. Raises ReplayError that names the first difference."""
    rules, hands = parse(made)
    for number, (hand, entry) in enumerate(zip(hands, made["hands"], strict=True), start=1):
        try:
            result = outcome(rules, hand)
            for key, value in result.items():
                _same(f"result, {key}", entry["result"].get(key, "missing"), value)
            _same("scores", entry["scores"], _scores(rules, result))
        except ReplayError as error:
            raise ReplayError(f"hand {number}: {error}") from None


def _same(where: str, written: Any, again: Any) -> None:
    # As text: to Python True is 1 and 14.0 is 14.
    if json.dumps(written) != json.dumps(again):
        raise ReplayError(f"{where}: recorded {written!r}, and the hand re-runs to {again!r}")


# Files.


def write(path: str | os.PathLike[str], records: Iterable[dict[str, Any]]) -> None:
    """Write a file of records, one a line. The file appears whole or not at all."""
    with whole_file(path) as file:
        for made in records:
            file.write((json.dumps(made, allow_nan=False) + "\n").encode())


def read(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The records of a file one by one, each checked by re-running it; empty lines are skipped.

    Raises ReplayError that begins with file and line number, and OSError.
    """
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                made = _decode(line)
                check(made)
            except ReplayError as error:
                raise ReplayError(f"{os.fspath(path)}:{number}: {error}") from None
            yield made


def _decode(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:  # bad UTF-8 and huge numbers among them
        raise ReplayError(f"not a line of JSON: {error}") from None


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON's")


def show(made: dict[str, Any]) -> Iterator[str]:
    """A checked record move by move, as blocks of text: the table as dealt, then each action."""
    rules, hands = parse(made)
    # A name is anybody's text: one that would upset a terminal is shown escaped.
    names = [name if name.isprintable() else ascii(name) for name in made["players"]]
    for number, hand in enumerate(hands, start=1):
        head = f"Hand {number}: {names[0]} against {names[1]}"
        mover = 0
        for at, state in enumerate(rerun(rules, hand)):
            if at:
                head = f"{at}. {names[mover]}: {actions.format(hand.actions[at - 1])}"
            yield f"{head}\n{board(state, names=names)}\n"
            mover = int(state.mover[0])


# The command.


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def run(path: str, shown: int | None) -> None:
    """Check a file; print game ``shown`` move by move (None: the first there is), and the count."""
    games = hands = 0
    chosen = None
    for games, made in enumerate(read(path), start=1):
        hands += len(made["hands"])
        if games == (1 if shown is None else shown):
            chosen = made
    if not games:
        raise ReplayError(f"{path}: no games in it")
    if shown is not None and not 0 <= shown <= games:
        raise ReplayError(f"--show {shown}: {path} has {_count(games, 'game')}")
    if chosen is not None:
        for text in show(chosen):
            print(text)
    print(f"{_count(games, 'game')}, {_count(hands, 'hand')}: re-run to the same result")


def _fail(message: str) -> int:
    print(" ".join(message.splitlines()), file=sys.stderr)
    return 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 2 after an error in one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m ginenv.replay", description=__doc__)
    parser.add_argument("file", help="recorded games, one a line")
    parser.add_argument(
        "--show", type=int, metavar="N", help="which game to print (default the first, 0 for none)"
    )
    chosen = parser.parse_args(arguments)
    try:
        run(chosen.file, chosen.show)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return _fail(f"{error.filename or 'standard output'}: {error.strerror}")
    except ValueError as error:
        return _fail(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
