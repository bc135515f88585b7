"""Whole games recorded: what was played comes back and re-runs to the same finals, of every preset;
a game that does not fit together is one error that names hand and field; the score sheet reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from agents.simple import Simple
from ginenv import board, engine, match, play, replay
from ginenv.play import Play
from ginenv.rules import PRESETS, Rules, preset

DOCS = (Path(__file__).parent.parent / "docs" / "REPLAYS.md").read_text(encoding="utf-8")
NAMES = ("ann", "bob", "cid", "dora")
LANES = 2
CHANGED = {
    "low target": Rules(target=1),
    "draws": Rules(tie="draw", dead_hand_dealer="alternate", turn_limit=12),
    "best of three": Rules(best_of=3, next_dealer="alternate"),
    "low round": preset("partnership", target=20, partners_bonus=0, next_dealer="alternate"),
    "three and a limit": preset("cutthroat", turn_limit=14, dead_hand_dealer="alternate"),
}
SETS_OF_RULES = {**{name: preset(name) for name in PRESETS}, **CHANGED}


class Games(NamedTuple):
    """Games that have been played to their end."""

    play: Play
    hands: list[list[replay.Hand]]
    """Of each lane."""
    scores: list[list[list[Any]]]
    """Totals by player as they stood when each hand had ended, of each lane."""

    def finals(self, lane: int) -> list[int]:
        rules = self.play.rules
        finals: list[int] = match.by_player(rules, match.finals(self.play.match))[lane].tolist()
        return finals


@cache
def games(name: str) -> Games:
    """A few games of these rules, played by an agent."""
    rules, agent, rng = SETS_OF_RULES[name], Simple(), np.random.default_rng(5)
    tables = rules.num_tables

    def decks(count: int) -> np.ndarray:
        return engine.shuffle(rules, rng, count * tables).reshape(count, tables, -1)

    playing = play.start(rules, "game", decks(LANES), match.cut(rules, rng, LANES))
    hands: list[list[replay.Hand]] = [[] for _ in range(LANES)]
    scores: list[list[list[Any]]] = [[] for _ in range(LANES)]
    taken: list[list[list[int]]] = [[[] for _ in range(tables)] for _ in range(LANES)]
    before = [match.sheet(playing.match, lane)["totals"] for lane in range(LANES)]
    while not playing.over.all():
        on = (~playing.over).nonzero()[0]
        part = play.hands_on_move(playing, on)
        chosen = np.zeros(LANES, dtype=np.intp)
        chosen[on] = agent.act(play.view(playing, part, on), engine.legal(part), rng)
        for lane in on:
            taken[lane][playing.table[lane]].append(int(chosen[lane]))
        ended = play.step(playing, chosen).lanes
        for lane in ended:
            hands[lane] += replay.hands_of(playing, lane, taken[lane])
            after = match.sheet(playing.match, lane)["totals"]
            scores[lane] += [before[lane]] * (tables - 1) + [after]
            before[lane] = after
            taken[lane] = [[] for _ in range(tables)]
        going_on = ended[~playing.over[ended]]
        if len(going_on):
            play.deal(playing, going_on, decks(len(going_on)), rng)
    return Games(playing, hands, scores)


def recorded(name: str, lane: int = 0, **extra: Any) -> dict[str, Any]:
    rules = SETS_OF_RULES[name]
    hands = games(name).hands[lane]
    return replay.record(rules, NAMES[: rules.num_players], hands, game=True, **extra)


@cache
def text_of(name: str) -> str:
    return json.dumps(recorded(name))


def good(name: str) -> dict[str, Any]:
    """A record of one's own of a game with these rules."""
    made: dict[str, Any] = json.loads(text_of(name))
    return made


# Round trips.


@pytest.mark.parametrize("name", SETS_OF_RULES)
def test_games_come_back_as_written_and_re_run_to_the_same_finals(
    name: str, tmp_path: Path
) -> None:
    rules, played = SETS_OF_RULES[name], games(name)
    made = [recorded(name, lane, seed=5, match=["m", lane]) for lane in range(LANES)]
    replay.write(tmp_path / "games.jsonl", made)
    again = list(replay.read(tmp_path / "games.jsonl"))
    assert again == made
    for lane, record in enumerate(again):
        assert replay.parse(record) == (rules, played.hands[lane])
        assert record["final"] == played.finals(lane)
        assert [hand["scores"] for hand in record["hands"]] == played.scores[lane]
        assert record["match"] == ["m", lane]


@pytest.mark.parametrize("name", ["classic", "hollywood", "cutthroat", "partnership"])
def test_a_game_may_be_cut_short_after_any_hand(name: str) -> None:
    rules, hands = SETS_OF_RULES[name], games(name).hands[0]
    whole = good(name)
    for count in {1, 2, len(hands) // 2, len(hands) - 1}:
        made = replay.record(rules, NAMES[: rules.num_players], hands[:count], game=True)
        replay.check(made)
        assert made["final"] is None
        assert made["hands"] == whole["hands"][:count]


def test_a_games_first_hand_is_recorded_like_a_hand_played_singly() -> None:
    for name in SETS_OF_RULES:
        rules, hands = SETS_OF_RULES[name], games(name).hands[0][: SETS_OF_RULES[name].num_tables]
        players = NAMES[: rules.num_players]
        single = replay.record(rules, players, hands)
        replay.check(single)
        assert single["final"] is None
        assert single["hands"] == replay.record(rules, players, hands, game=True)["hands"]


def test_of_a_single_hand_that_reaches_the_target_final_is_null_and_of_a_game_it_is_not() -> None:
    rules, hand = Rules(target=1), next(h for h in games("low target").hands if len(h) == 1)
    single = replay.record(rules, ["a", "b"], hand)
    game = replay.record(rules, ["a", "b"], hand, game=True)
    assert single["final"] is None
    assert game["final"] is not None
    for made in (single, game):
        replay.check(made)


def test_several_hands_are_recorded_only_as_a_game() -> None:
    hands = games("classic").hands[0]
    for count in (0, 2):
        with pytest.raises(replay.ReplayError, match=rf"{count} hands.*game=True"):
            replay.record(Rules(), ["a", "b"], hands[:count])
    with pytest.raises(replay.ReplayError, match="hands: there is none"):
        replay.record(Rules(), ["a", "b"], [], game=True)


def test_a_later_game_of_a_match_is_a_record_like_any_other() -> None:
    # Who dealt it first follows from the game before, which is not in this record.
    made = good("best of three")
    made["match"] = ["final", 1]
    replay.check(made)
    text = list(replay.show(made))[-1]
    assert "wins the game." in text
    assert "games" not in text


# The shapes of the documentation.


def test_a_heads_up_record_has_no_seats() -> None:
    made = good("classic")
    assert all("seats" not in hand for hand in made["hands"])
    totals = [0, 0]
    for hand in made["hands"]:
        if hand["result"]["winner"] is not None:
            totals[hand["result"]["winner"]] += hand["result"]["points"]
        assert hand["scores"] == totals
    assert max(totals) >= 100


def test_hollywood_scores_are_three_columns_and_its_final_their_sum() -> None:
    for lane in range(LANES):
        made = recorded("hollywood", lane)
        wins: list[list[list[int]]] = [[[], []] for _ in range(3)]
        for hand in made["hands"]:
            side, points = hand["result"]["winner"], hand["result"]["points"]
            if side is not None:
                still_open = [column for column in wins if max(map(sum, column)) < 100]
                fresh = [column for column in still_open if not column[side]]
                for column in still_open:
                    if column[side] or column is fresh[0]:
                        column[side].append(points)
            assert hand["scores"] == [[sum(own) for own in column] for column in wins]
        final = [0, 0]
        for column in wins:
            totals = [sum(own) for own in column]
            for side, own in enumerate(column):
                final[side] += sum(own) + 20 * len(own)
                if totals[side] >= 100:
                    final[side] += 100 if totals[1 - side] else 200
        assert made["final"] == final


def test_cutthroat_records_say_who_sits_and_the_dealer_sits_out() -> None:
    for lane in range(LANES):
        made = recorded("cutthroat", lane)
        totals, loser = [0, 0, 0], None
        for hand in made["hands"]:
            out = 3 - sum(hand["seats"])
            assert hand["seats"] == [(out + 1) % 3, (out + 2) % 3]
            assert hand["dealer"] == 1
            assert loser in (None, out)
            winner = hand["result"]["winner"]
            loser = out if winner is None else hand["seats"][1 - winner]
            if winner is not None:
                totals[hand["seats"][winner]] += hand["result"]["points"]
            assert hand["scores"] == totals
        assert len(made["final"]) == 3


def test_partnership_records_have_two_hands_a_round_and_scores_change_with_the_second() -> None:
    for lane in range(LANES):
        made = recorded("partnership", lane)
        before = [0, 0, 0, 0]
        seated = [hand["seats"] for hand in made["hands"]]
        rounds = len(seated) // 2
        assert seated == ([[0, 1], [2, 3], [0, 3], [2, 1]] * rounds)[: 2 * rounds]
        for first, second in zip(made["hands"][::2], made["hands"][1::2], strict=True):
            assert first["dealer"] == second["dealer"]
            assert first["scores"] == before
            net = 0
            for result in (first["result"], second["result"]):
                if result["winner"] is not None:
                    net += result["points"] * (1 - 2 * result["winner"])
            won = [hand["result"]["winner"] for hand in (first, second)]
            net += 25 * (won == [0, 0]) - 25 * (won == [1, 1])
            side = 0 if net > 0 else 1
            before = [score + abs(net) * (p % 2 == side) for p, score in enumerate(before)]
            assert second["scores"] == before
        assert made["final"][:2] == made["final"][2:]


def test_the_example_in_the_documentation_is_a_record() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL)
    made = json.loads(example)
    replay.check(made)
    rules, hands = replay.parse(made)
    assert replay.record(rules, made["players"], hands, game=True) == made
    assert made["rules"] == rules.to_dict()
    assert made["final"] is not None


# Policies.


def test_policies_are_kept(tmp_path: Path) -> None:
    first, *others = games("classic").hands[0]
    thought = {"top": [["pass", 0.71], ["take", 1e-9], ["big-gin", 0]], "value": -3.2}
    policy = (thought, None, {"top": [], "value": 4}) + (None,) * (len(first.actions) - 3)
    hands = [replay.Hand(first.dealer, first.deck, first.actions, policy=policy), *others]
    made = replay.record(Rules(), ["a", "b"], hands, game=True)
    assert made["hands"][0]["policy"] == list(policy)
    assert "policy" not in made["hands"][1]
    replay.write(tmp_path / "games.jsonl", [made])
    (again,) = replay.read(tmp_path / "games.jsonl")
    assert again == made
    assert replay.parse(again) == (Rules(), hands)


THOUGHTS: dict[str, tuple[Any, str]] = {
    "of another kind": ("pass", "not a JSON object"),
    "without a value": ({"top": []}, "'value' is missing"),
    "without a choice": ({"value": 1}, "'top' is missing"),
    "top is no list": ({"top": {}, "value": 1}, "top: {} is not of the kind list"),
    "value is no number": ({"top": [], "value": "3"}, "value: '3' is not a number"),
    "value is endless": ({"top": [], "value": float("inf")}, "value: inf is not a number"),
    "an action alone": ({"top": ["pass"], "value": 1}, "top: 'pass' is not an action and its"),
    "three of a pair": ({"top": [["pass", 1, 1]], "value": 1}, "is not an action and its chance"),
    "number of an action": ({"top": [[106, 1]], "value": 1}, "is not an action and its chance"),
    "no action": ({"top": [["fold", 1]], "value": 1}, "'fold' is not an action"),
    "chance too great": ({"top": [["pass", 1.5]], "value": 1}, "pass: chance 1.5: must be 0 to 1"),
    "chance in words": ({"top": [["pass", "1"]], "value": 1}, "pass: chance '1': must be 0 to 1"),
    "chance true": ({"top": [["pass", True]], "value": 1}, "pass: chance True: must be 0 to 1"),
}


@pytest.mark.parametrize("name", THOUGHTS)
def test_a_damaged_policy_is_named(name: str) -> None:
    thought, message = THOUGHTS[name]
    made = good("classic")
    played = len(made["hands"][1]["actions"].split(","))
    made["hands"][1]["policy"] = [None, thought] + [None] * (played - 2)
    with pytest.raises(replay.ReplayError, match=f"hand 2: policy, action 2: .*{message}"):
        replay.check(made)


@pytest.mark.parametrize("policy", [[], {}, "none", [None] * 500])
def test_a_policy_has_an_entry_for_each_action(policy: Any) -> None:
    made = good("classic")
    made["hands"][1]["policy"] = policy
    with pytest.raises(replay.ReplayError, match=r"hand 2: policy: .* each of the \d+ actions"):
        replay.check(made)


# Damage.

Change = Callable[[dict[str, Any]], None]


def in_hand(number: int, **fields: Any) -> Change:
    """Set fields of a hand, counted from 1."""
    return lambda made: made["hands"][number - 1].update(fields)


def in_rules(**fields: Any) -> Change:
    return lambda made: made["rules"].update(fields)


def in_game(**fields: Any) -> Change:
    return lambda made: made.update(fields)


def drop_hand(number: int) -> Change:
    return lambda made: made["hands"].pop(number - 1)


def repeat_last(made: dict[str, Any]) -> None:
    made["hands"] += made["hands"][-1:]


def cut_short(made: dict[str, Any]) -> None:
    made["hands"] = made["hands"][:2]


def swap(first: int) -> Change:
    """Exchange two hands that follow one another."""

    def change(made: dict[str, Any]) -> None:
        hands = made["hands"]
        hands[first - 1 : first + 1] = hands[first - 1 : first + 1][::-1]

    return change


def flip_dealer(number: int) -> Change:
    def change(made: dict[str, Any]) -> None:
        hand = made["hands"][number - 1]
        hand["dealer"] = 1 - hand["dealer"]

    return change


def flip_seats(number: int) -> Change:
    return lambda made: made["hands"][number - 1]["seats"].reverse()


def without_seats(made: dict[str, Any]) -> None:
    del made["hands"][0]["seats"]


BY_RULES = r"recorded .*, and by the rules it is"
DAMAGES: dict[str, tuple[str, Change, str]] = {
    "no hand": ("classic", in_game(hands=[]), "hands: there is none"),
    "dealer": ("classic", flip_dealer(2), rf"hand 2: dealer: {BY_RULES} [01]"),
    "dealer in hollywood": ("hollywood", flip_dealer(3), rf"hand 3: dealer: {BY_RULES} [01]"),
    "dealer, three": ("cutthroat", flip_dealer(1), "hand 1: dealer: recorded 0, .* it is 1"),
    "dealer of one table": ("partnership", flip_dealer(2), rf"hand 2: dealer: {BY_RULES} [01]"),
    "dealer of no seat": ("cutthroat", in_hand(2, dealer=2), "hand 2: dealer 2: must be 0 or 1"),
    "first seats exchanged": ("cutthroat", flip_seats(1), rf"hand 1: seats: {BY_RULES} \[\d, \d\]"),
    "later seats exchanged": ("cutthroat", flip_seats(2), rf"hand 2: seats: {BY_RULES} \[\d, \d\]"),
    "tables not swapped": (
        "partnership",
        in_hand(3, seats=[0, 1]),
        r"hand 3: seats: recorded \[0, 1\], and by the rules it is \[0, 3\]",
    ),
    "tables of a round exchanged": ("partnership", swap(1), rf"hand 1: seats: {BY_RULES} \[0, 1\]"),
    "seats missing": ("partnership", without_seats, "hand 1: 'seats' is missing"),
    "seats heads up": ("classic", in_hand(2, seats=[0, 1]), "hand 2: seats: only games of three"),
    "seats of one": ("cutthroat", in_hand(2, seats=[1]), "hand 2: seats: .* players 0 to 2"),
    "a seat taken twice": (
        "cutthroat",
        in_hand(2, seats=[1, 1]),
        "hand 2: seats: .* players 0 to 2",
    ),
    "a fourth of three": (
        "cutthroat",
        in_hand(2, seats=[1, 3]),
        "hand 2: seats: .* players 0 to 2",
    ),
    "seats of true": ("cutthroat", in_hand(2, seats=[True, 0]), "hand 2: seats: .* players 0 to 2"),
    "seats of names": (
        "partnership",
        in_hand(2, seats=["a", "b"]),
        "hand 2: seats: .* players 0 to 3",
    ),
    "seats a number": (
        "partnership",
        in_hand(2, seats=1),
        "hand 2: seats: 1 is not of the kind list",
    ),
    "hand missing": ("classic", drop_hand(2), "hand [2-9]: (dealer|scores): recorded"),
    "round missing": ("partnership", drop_hand(2), rf"hand 2: seats: {BY_RULES} \[2, 3\]"),
    "hand twice": ("classic", repeat_last, r"hand \d+: comes after the end of the game"),
    "hand twice of four": ("partnership", repeat_last, r"hand \d+: comes after the end of the ga"),
    "scores": ("classic", in_hand(2, scores=[0, 0.5]), r"hand 2: scores: recorded \[0, 0.5\]"),
    "scores of one column": ("hollywood", in_hand(1, scores=[0, 0]), "hand 1: scores: recorded"),
    "scores of sides": ("partnership", in_hand(1, scores=[0, 0]), "hand 1: scores: .* to .0, 0, 0"),
    "result": ("classic", in_hand(2, result={}), "hand 2: result, kind: recorded 'missing'"),
    "final": ("classic", in_game(final=[1, 2]), r"final: recorded \[1, 2\], and the game re-runs"),
    "final of no kind": ("classic", in_game(final="ann"), "final: recorded 'ann', and the game"),
    "final missing": ("classic", lambda made: made.pop("final"), "'final' is missing"),
    "final null": ("classic", in_game(final=None), r"final: recorded None, .* re-runs to \[\d+, "),
    "final of sides": ("partnership", in_game(final=[1, 2]), r"final: .* to \[\d+, \d+, \d+, \d+"),
    "final too early": ("classic", cut_short, "final: recorded .*, and the game re-runs to None"),
    "higher target": ("classic", in_rules(target=999), "final: recorded .* re-runs to None"),
    "lower target": ("classic", in_rules(target=1), r"hand \d: comes after the end of the game"),
    "other boxes": ("hollywood", in_rules(box_bonus=0), "final: recorded"),
    "other sheet": ("classic", in_rules(score_sheet="hollywood"), "hand 1: scores: recorded"),
    "other seating": ("classic", in_rules(seating="cutthroat"), "players .*: must be 3 names"),
    "three of four": (
        "partnership",
        in_game(players=["a", "b", "c"]),
        "players .*: must be 4 names",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_game_that_does_not_fit_together_is_one_error_that_names_it(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, change, message = DAMAGES[damage]
    made = good(name)
    change(made)
    path = tmp_path / "games.jsonl"
    path.write_text(json.dumps(made), encoding="utf-8")
    assert replay.main([str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(rf"{re.escape(str(path))}:1: {message}.*\n", printed.err), printed.err


def test_a_record_cannot_be_made_of_hands_that_do_not_follow_one_another() -> None:
    hands = games("cutthroat").hands[0]
    with pytest.raises(replay.ReplayError, match="hand 2: seats: recorded"):
        replay.record(preset("cutthroat"), NAMES[:3], [hands[0], hands[0]], game=True)
    with pytest.raises(replay.ReplayError, match=r"hand \d+: comes after the end"):
        replay.record(preset("cutthroat"), NAMES[:3], [*hands, hands[-1]], game=True)


# What is shown.


@pytest.mark.parametrize("name", ["classic", "hollywood", "cutthroat", "partnership"])
def test_games_are_shown_with_the_names_of_who_plays_and_the_sheet_after_each_hand(
    name: str,
) -> None:
    made, rules = good(name), SETS_OF_RULES[name]
    blocks = list(replay.show(made))
    heads = [block.split("\n", 1)[0] for block in blocks]
    sheets = [block for block in blocks if block.startswith("Score, ")]
    assert len(sheets) == len(made["hands"]) // rules.num_tables
    at = 0
    for number, hand in enumerate(made["hands"], start=1):
        first, second = (NAMES[player] for player in hand.get("seats", [0, 1]))
        assert heads[at] == f"Hand {number}: {first} against {second}"
        words = hand["actions"].split(", ")
        for count, word in enumerate(words, start=1):
            played = re.fullmatch(rf"{count}\. (\w+): {word}", heads[at + count])
            assert played is not None
            assert played[1] in (first, second)
        non_dealer = (first, second)[1 - hand["dealer"]]
        assert heads[at + 1].startswith(f"1. {non_dealer}: ")
        assert f"{(first, second)[hand['dealer']]} (dealer): " in blocks[at]
        at += 1 + len(words)
        if number % rules.num_tables == 0:
            assert blocks[at].startswith("Score, ")
            at += 1
    assert at == len(blocks)
    final = board.score_sheet(games(name).play.match, 0, NAMES)
    assert sheets[-1].rstrip("\n") == final


def test_the_command_counts_games_and_hands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(f"{text_of('classic')}\n{text_of('partnership')}\n", encoding="utf-8")
    hands = len(good("classic")["hands"]) + len(good("partnership")["hands"])
    assert replay.main([str(path), "--show", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Hand 1: ann against bob\n")
    assert printed.endswith(f"\n2 games, {hands} hands: re-run to the same result\n")


def sheet_after(rules: Rules, dealer: int, *rounds: list[tuple[int, int]]) -> str:
    """The sheet's text after hands entered as (seat that won, points), one for each table."""
    sheets = match.start(rules, np.array([9 % rules.num_sides, dealer]))
    for tables in rounds:
        winners, points = np.array(tables).T[:, None]
        match.enter(sheets, np.array([1]), winners, points)
    return board.score_sheet(sheets, 1, NAMES)


def test_the_sheet_of_a_game_in_play_reads_like_this() -> None:
    assert sheet_after(Rules(), 0, [(1, 12)], [(0, 4)], [(1, 30)]) == "\n".join(
        [
            "Score, to 100",
            "     points  boxes",
            "ann       4      1",
            "bob      42      2",
            "ann deals.",
        ]
    )


def test_the_sheet_of_a_game_that_is_over_reads_like_this() -> None:
    # 120 + 2 x 20 + 100 = 260; 4 + 20 = 24; 260 - 24 = 236.
    assert sheet_after(Rules(best_of=3), 0, [(1, 60)], [(0, 4)], [(1, 60)]) == "\n".join(
        [
            "Score, to 100, best of 3 games",
            "     points  boxes  games  final  settlement",
            "ann       4      1      0     24        -236",
            "bob     120      2      1    260         236",
            "bob wins the game.",
        ]
    )


def test_the_sheet_of_hollywood_reads_like_this() -> None:
    assert sheet_after(preset("hollywood"), 0, [(0, 90)], [(1, 8)], [(0, 15)]) == "\n".join(
        [
            "Score, to 100",
            "           column 1  boxes  column 2  boxes  column 3  boxes",
            "ann             105      2        15      1         0      0",
            "bob               8      1         0      0         0      0",
            "closed by       ann",
            "bob deals.",
        ]
    )


def test_the_sheet_of_three_reads_like_this() -> None:
    # Player 0 deals and sits out; seat 1 is player 2, and player 1 deals next.
    assert sheet_after(preset("cutthroat"), 0, [(1, 30)]) == "\n".join(
        [
            "Score, to 100",
            "     points  boxes",
            "ann       0      0",
            "bob       0      0",
            "cid      30      1",
            "bob deals and sits out.",
        ]
    )


def test_the_sheet_of_pairs_reads_like_this() -> None:
    rules = preset("partnership", best_of=3)
    assert sheet_after(rules, 0, [(1, 30), (0, 10)]) == "\n".join(
        [
            "Score, to 125, best of 3 games",
            "            points  boxes  games",
            "ann & cid        0      0      0",
            "bob & dora      20      1      0",
            "ann & cid deal.",
        ]
    )
    # 65 + 65 + 25 = 155; 155 + 20 + 100 + 100 = 375 against nothing.
    assert sheet_after(rules, 0, [(1, 65), (1, 65)]).endswith("bob & dora win the game.")


def test_the_end_of_a_match_is_told() -> None:
    rules = Rules(best_of=3)
    sheets = match.start(rules, np.array([0]))
    for game in (1, 2):
        match.enter(sheets, np.array([0]), np.array([[1]]), np.array([[100]]))
        text = board.score_sheet(sheets, 0, NAMES)
        assert text.endswith(f"bob wins the {'game' if game == 1 else 'match'}.")
        if game == 1:
            match.next_game(sheets, np.array([0]), np.random.default_rng(0))
            assert board.score_sheet(sheets, 0, NAMES).endswith("ann deals.")
