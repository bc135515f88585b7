"""Recorded games: they come back as they were written, they re-run to what they say, and a damaged
line is one error that names it. The table of text shows a seat only what that seat knows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ginenv import actions, cards, engine, melds, replay
from ginenv.board import board
from ginenv.rules import PRESETS, Rules, preset

PLAYABLE = [name for name in PRESETS if preset(name).seating == "heads_up"]
MIXTURES = {
    "doubles": Rules(spade_upcard_doubles=True, spade_knock_doubles=True, tie="draw"),
    "fiftieth card": Rules(last_discard="may_knock", knock_limit=0, big_gin_bonus=50),
    "small deck": Rules(num_ranks=5, num_suits=3, hand_size=4, stock_floor=0),
    "no bonus": Rules(gin_bonus=0, undercut_bonus=0, first_upcard="open", turn_limit=30),
}
SETS_OF_RULES = {**{name: preset(name) for name in PLAYABLE}, **MIXTURES}


@cache
def play(rules: Rules, seed: int) -> replay.Hand:
    """A whole hand: discards with some sense, so that hands end in every way."""
    rng = np.random.default_rng(seed)
    deck, dealer = engine.shuffle(rules, rng, 1), int(rng.integers(2))
    state = engine.deal(rules, deck, np.array([dealer]))
    waits, played = rng.random() < 0.5, []
    while not state.over[0]:
        legal = np.flatnonzero(actions.mask(engine.legal(state))[0]).tolist()
        closing = [a for a in legal if actions.KNOCK <= a < actions.STOCK or a == actions.BIG_GIN]
        open_ones = [a for a in legal if a not in closing]
        if closing and (not open_ones or not waits or rng.random() < 0.2):
            chosen = int(rng.choice(closing))
        elif open_ones[0] < actions.KNOCK:
            hand = state.hands[:, state.mover[0]]
            left = melds.deadwood_after_discard(hand)[0]
            chosen = min(open_ones, key=lambda card: (left[card], rng.random()))
        else:
            chosen = int(rng.choice(open_ones))
        engine.step(state, np.array([chosen]))
        played.append(chosen)
    return replay.Hand(dealer, tuple(deck[0].tolist()), tuple(played))


@cache
def good() -> str:
    """A record, as text, of a hand that ended with a knock, an undercut or gin."""
    seed = 0
    while True:
        made = replay.record(preset("classic"), ["one", "two"], [play(preset("classic"), seed)])
        if made["hands"][0]["result"]["winner"] is not None:
            return json.dumps(made)
        seed += 1


# Round trips.


@pytest.mark.parametrize("name", SETS_OF_RULES)
def test_records_come_back_as_written_and_re_run(name: str, tmp_path: Path) -> None:
    rules = SETS_OF_RULES[name]
    hands = [play(rules, seed) for seed in range(12)]
    made = [replay.record(rules, ["expert", "random"], [hand], seed=3) for hand in hands]
    path = tmp_path / "games.jsonl"
    replay.write(path, made)
    again = list(replay.read(path))
    assert again == made
    assert [replay.parse(record) for record in again] == [(rules, [hand]) for hand in hands]


def test_random_hands_end_in_every_way_that_is_recorded() -> None:
    kinds = {
        replay.outcome(rules, play(rules, seed))["kind"]
        for rules in SETS_OF_RULES.values()
        for seed in range(10)
    }
    assert kinds >= {"knock", "gin", "undercut", "dead"}


def test_the_record_has_the_keys_and_words_of_its_format() -> None:
    made = json.loads(good())
    assert list(made) == ["format", "rules", "players", "hands", "final"]
    assert made["format"] == "ginenv-game/1"
    assert made["rules"] == preset("classic").to_dict()
    assert made["final"] is None
    (hand,) = made["hands"]
    assert list(hand) == ["dealer", "deck", "actions", "result", "scores"]
    assert len(hand["deck"].split()) == 52
    assert all(actions.parse(word) >= 0 for word in hand["actions"].split(", "))
    assert hand["scores"][hand["result"]["winner"]] == hand["result"]["points"]


def test_a_first_win_on_the_three_column_sheet_is_in_the_first_column() -> None:
    rules = preset("hollywood")
    hands = (play(rules, seed) for seed in range(100))
    made = next(
        entry
        for hand in hands
        if (entry := replay.record(rules, ["a", "b"], [hand])["hands"][0])["result"]["points"]
    )
    first = [0, 0]
    first[made["result"]["winner"]] = made["result"]["points"]
    assert made["scores"] == [first, [0, 0], [0, 0]]


def test_unknown_keys_and_a_policy_are_kept(tmp_path: Path) -> None:
    made = json.loads(good())
    made["date"] = "2024-05-01"
    played = len(made["hands"][0]["actions"].split(","))
    made["hands"][0]["policy"] = [{"top": [["pass", 0.7]], "value": 3.2}] + [None] * (played - 1)
    made["hands"][0]["result"]["remark"] = "x"
    replay.write(tmp_path / "games.jsonl", [made])
    assert list(replay.read(tmp_path / "games.jsonl")) == [made]


def test_a_record_cannot_be_made_of_an_unfinished_hand() -> None:
    hand = play(Rules(), 1)
    cut = replay.Hand(hand.dealer, hand.deck, hand.actions[:-1])
    with pytest.raises(replay.ReplayError, match=r"stop after \d+, before the hand"):
        replay.record(Rules(), ["a", "b"], [cut])


# Files.


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    replay.write(path, [json.loads(good())])
    before = path.read_bytes()

    def breaks() -> Any:
        yield json.loads(good())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay.write(path, breaks())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["games.jsonl"]


def change_hand(**fields: Any) -> Callable[[str], str]:
    def change(line: str) -> str:
        made = json.loads(line)
        made["hands"][0].update(fields)
        return json.dumps(made)

    return change


def change_game(**fields: Any) -> Callable[[str], str]:
    return lambda line: json.dumps({**json.loads(line), **fields})


def change_rules(**fields: Any) -> Callable[[str], str]:
    def change(line: str) -> str:
        made = json.loads(line)
        return json.dumps({**made, "rules": {**made["rules"], **fields}})

    return change


def change_deck(change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    def on_line(line: str) -> str:
        deck = json.loads(line)["hands"][0]["deck"].split()
        return change_hand(deck=" ".join(change(deck)))(line)

    return on_line


def change_actions(change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    def on_line(line: str) -> str:
        words = json.loads(line)["hands"][0]["actions"].split(", ")
        return change_hand(actions=", ".join(change(words)))(line)

    return on_line


def change_result(**fields: Any) -> Callable[[str], str]:
    def change(line: str) -> str:
        result = json.loads(line)["hands"][0]["result"]
        return change_hand(result={**result, **fields})(line)

    return change


def drop(key: str) -> Callable[[str], str]:
    return lambda line: json.dumps({k: v for k, v in json.loads(line).items() if k != key})


def drop_in_hand(key: str) -> Callable[[str], str]:
    def change(line: str) -> str:
        made = json.loads(line)
        del made["hands"][0][key]
        return json.dumps(made)

    return change


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "cut off": (lambda line: line[: len(line) // 2], "not a line of JSON"),
    "nested too deep": (lambda line: "[" * 100_000, "not a line of JSON"),
    "a number too long": (lambda line: "9" * 5_000, "not a line of JSON"),
    "not an object": (lambda line: "[1, 2]", "not a JSON object"),
    "hand not an object": (change_game(hands=[3]), "hand 1: not a JSON object"),
    "format missing": (drop("format"), "'format' is missing"),
    "final missing": (drop("final"), "'final' is missing"),
    "format of another kind": (
        change_game(format="ginenv-game/9"),
        "format 'ginenv-game/9': this version reads 'ginenv-game/1'",
    ),
    "rules of no kind": (change_game(rules=[]), "rules: .* is not of the kind dict"),
    "unknown rule": (change_rules(knok_limit=9), "rules: knok_limit: there is no such rule"),
    "rule out of range": (change_rules(knock_limit=11), "rules: knock_limit=11: must be 0 to 10"),
    "one player": (change_game(players=["one"]), "players .* must be 2 names"),
    "player without a name": (change_game(players=["one", 2]), "players .* must be 2 names"),
    "no hand": (change_game(hands=[]), "hands: there is none"),
    "a final score": (change_game(final=[1, 2]), r"final: recorded \[1, 2\].* re-runs to None"),
    "deck missing": (drop_in_hand("deck"), "hand 1: 'deck' is missing"),
    "dealer who is none": (change_hand(dealer=2), "hand 1: dealer 2: must be 0 or 1"),
    "dealer not a number": (change_hand(dealer=True), "dealer: True is not of the kind int"),
    "short deck": (change_deck(lambda deck: deck[:-1]), "hand 1: deck: 51 cards.*52; missing: "),
    "no card": (change_deck(lambda deck: ["1h", *deck[1:]]), "hand 1: deck: '1h' is not a card"),
    "card twice": (change_deck(lambda deck: [deck[1], *deck[1:]]), "hand 1: deck: .. is there twi"),
    "another deck's card": (
        lambda line: change_rules(num_ranks=6, num_suits=4, hand_size=5)(line),
        "hand 1: deck: 7c .*: not in a deck of 6 ranks and 4 suits",
    ),
    "unparsable action": (
        change_actions(lambda words: ["fold", *words[1:]]),
        "hand 1: action 1: 'fold' is not an action",
    ),
    "no such card to discard": (
        change_actions(lambda words: [*words[:-1], "discard 1h"]),
        r"hand 1: action \d+: '1h' is not a card",
    ),
    "illegal action": (
        change_actions(lambda words: ["stock", *words]),
        "hand 1: action 1, 'stock': not legal; legal: take, pass",
    ),
    "goes on": (
        change_actions(lambda words: [*words, "stock"]),
        r"hand 1: action \d+, 'stock': goes on after the hand has ended",
    ),
    "stops before": (
        change_actions(lambda words: words[:-1]),
        r"hand 1: the actions stop after \d+, before the hand has ended",
    ),
    "no action": (change_hand(actions=""), "the actions stop after 0, before"),
    "other points": (change_result(points=999), "result, points: recorded 999, .* re-runs to"),
    "other kind": (change_result(kind="forfeit"), "result, kind: recorded 'forfeit'"),
    "other melds": (change_result(melds=[[], []]), "result, melds: recorded"),
    "empty result": (change_hand(result={}), "result, kind: recorded 'missing'"),
    "other scores": (change_hand(scores=[1, 2]), r"hand 1: scores: recorded \[1, 2\]"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_line_is_one_error_with_file_and_line(damage: str, tmp_path: Path) -> None:
    change, message = DAMAGES[damage]
    path = tmp_path / "games.jsonl"
    path.write_text(f"{good()}\n\n{change(good())}\n{good()}\n", encoding="utf-8")
    records = replay.read(path)
    next(records)
    with pytest.raises(replay.ReplayError) as raised:
        next(records)
    where, text = str(raised.value)[: len(str(path)) + 4], str(raised.value)[len(str(path)) + 4 :]
    assert where == f"{path}:3: "
    assert re.search(message, text), text


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(b'{"format": "\xff"}\n')
    with pytest.raises(replay.ReplayError, match=r"games.jsonl:1: not a line of JSON: 'utf-8'"):
        list(replay.read(path))


# The command.


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ginenv.replay", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=Path(__file__).parent.parent,
        check=False,
    )


def test_the_command_counts_what_it_re_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(f"{good()}\n{good()}\n", encoding="utf-8")
    assert replay.main([str(path), "--show", "0"]) == 0
    assert capsys.readouterr().out == "2 games, 2 hands: re-run to the same result\n"
    assert replay.main([str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Hand 1: ")
    assert shown.endswith("\n2 games, 2 hands: re-run to the same result\n")


def test_the_command_shows_a_game_move_by_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(good(), encoding="utf-8")
    assert replay.main([str(path), "--show", "1"]) == 0
    text = capsys.readouterr().out
    words = json.loads(good())["hands"][0]["actions"].split(", ")
    shown = re.findall(r"^(\d+)\. (?:one|two): (.*)$", text, re.MULTILINE)
    assert shown == [(str(number), word) for number, word in enumerate(words, start=1)]
    assert text.startswith("Hand 1: one against two\n")
    assert text.endswith("1 game, 1 hand: re-run to the same result\n")


def test_a_name_cannot_write_to_the_terminal_as_it_likes() -> None:
    made = json.loads(good())
    made["players"] = ["\x1b[2J", "two\nlines"]
    text = "\n".join(replay.show(made))
    assert "\x1b" not in text
    assert "two\\nlines" in text


def test_errors_of_the_command_are_one_line_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(good() + "\n" + change_rules(**{"a\nb": 1})(good()), encoding="utf-8")
    one = tmp_path / "one.jsonl"
    one.write_text(good(), encoding="utf-8")
    for arguments, message in (
        ([str(path)], "games.jsonl:2: rules: a b: there is no such rule"),
        ([str(tmp_path / "none.jsonl")], "none.jsonl: No such file"),
        ([str(tmp_path)], f"{tmp_path}: Is a directory"),
        ([str(one), "--show", "2"], "--show 2: .*one.jsonl has 1 game"),
        ([str(one), "--show", "-1"], "--show -1: "),
    ):
        assert replay.main(arguments) == 2
        captured = capsys.readouterr()
        assert re.search(message, captured.err), captured.err
        assert captured.err.count("\n") == 1


def test_the_command_as_a_process(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("{\n", encoding="utf-8")
    broken = command(str(path))
    assert (broken.returncode, broken.stdout) == (2, "")
    assert broken.stderr.startswith(f"{path}:1: not a line of JSON")
    assert broken.stderr.count("\n") == 1
    path.write_text(good(), encoding="utf-8")
    fine = command(str(path))
    assert (fine.returncode, fine.stderr) == (0, "")


# The table.


def unknown_cards(state: engine.State, seat: int) -> set[str]:
    """The names of cards that a seat has not seen and does not hold."""
    known = state.seen[0] | state.hands[0, seat] | state.discards[0, seat]
    return set(cards.format(cards.deck_set(13, 4) & ~known).split())


CARD = re.compile(r"\b[A2-9TJQK][cdhs]\b")


@pytest.mark.parametrize("name", PLAYABLE)
def test_a_seats_table_shows_no_card_that_it_cannot_know(name: str) -> None:
    rules = preset(name)
    for seed in range(4):
        for state in replay.rerun(rules, play(rules, seed)):
            if state.over[0] and state.winner[0] >= 0:
                continue  # both hands have been laid down
            for seat in (0, 1):
                shown = set(CARD.findall(board(state, seat)))
                assert not shown & unknown_cards(state, seat)
                assert shown >= set(cards.format(state.hands[0, seat]).split())
                assert shown >= set(cards.format(state.seen[0]).split())
                assert "face down" in board(state, seat)


def test_the_open_table_shows_both_hands_and_the_pile() -> None:
    for state in replay.rerun(Rules(), play(Rules(), 3)):
        shown = CARD.findall(board(state).rsplit("\n", 1)[0])
        held = [cards.format(hand).split() for hand in state.hands[0]]
        pile = [cards.name(card) for card in state.pile[0, : state.pile_size[0]]]
        assert sorted(shown) == sorted([*held[0], *held[1], *pile])


def test_the_table_of_a_turn_reads_like_this() -> None:
    rules = Rules()
    first = "4c As 5c 2s 6c 3s 9c 4s 9d Kh 9h Kd Jc 2h 2d 7c Ks Qc 7h 8d 7s"
    rest = [cards.name(c) for c in range(52) if cards.name(c) not in first.split()]
    deck = replay.check_deck(rules, [*first.split(), *rest])
    state = engine.deal(rules, deck[None], np.array([1]))
    engine.step(state, np.array([actions.parse("take")]))
    engine.step(state, np.array([actions.parse("discard Ks")]))
    engine.step(state, np.array([actions.parse("stock")]))
    assert board(state, 0, names=("ann", "bob")) == "\n".join(
        [
            "ann: deadwood 26",
            "    4c 5c 6c | 9c 9d 9h | deadwood Jc 2d 7h 7s",
            "bob (dealer): 11 cards",
            "    11 face down",
            "Pile: Ks on top",
            "Stock: 30 cards",
            "Knock limit: 10",
            "bob has drawn, and discards or ends the hand.",
        ]
    )
    assert board(state, 1, names=("ann", "bob")) == "\n".join(
        [
            "ann: 10 cards",
            "    7s, 9 face down",
            "bob (dealer): deadwood 48",
            "    As 2s 3s 4s | deadwood Ac 7c Qc 8d Kd 2h Kh",
            "Pile: Ks on top",
            "Stock: 30 cards",
            "Knock limit: 10",
            "bob has drawn the Ac, and discards or ends the hand.",
        ]
    )


@pytest.mark.parametrize("name", [*PLAYABLE, *MIXTURES])
def test_the_last_line_says_who_scored_what_and_why(name: str) -> None:
    rules = SETS_OF_RULES[name]
    for seed in range(25):
        hand = play(rules, seed)
        *_, state = replay.rerun(rules, hand)
        result = engine.result(state, 0)
        text = board(state, names=("ann", "bob"))
        last = text.rsplit("\n", 1)[1]
        if result["winner"] is None:
            assert last.endswith("nobody scores.")
            continue
        winner, points, why = re.fullmatch(r"(\w+) scores (\d+): ([^,]+, .*)\.", last).groups()
        assert winner == ("ann", "bob")[result["winner"]]
        assert int(points) == result["points"]
        kind, arithmetic = why.split(", ", 1)
        assert kind.replace(" ", "_") == result["kind"]
        plain = re.sub(r"for the( upcard)? \w\w( on the pile)?", "", arithmetic).replace("x", "*")
        assert eval(plain) == result["points"], last
        for card in result["layoffs"]:
            assert card in text.split("laid off ")[1].split("\n")[0].split()
        for shown in result["melds"][0] + result["melds"][1]:
            assert shown in text


@pytest.mark.parametrize("seat", [2, -1, "0"])
def test_the_table_of_no_seat_is_an_error(seat: Any) -> None:
    state = next(replay.rerun(Rules(), play(Rules(), 1)))
    with pytest.raises(ValueError, match="must be None, 0 or 1"):
        board(state, seat)
