"""Card-level cases with right answers (cases.json), each dealt and played: in the engine, and in
the reference beside it. A case that is not fully understood fails; nothing is skipped in silence.

Another case file with the same kinds can be named in ``GINENV_CASES``.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from reference import ReferenceHand, card_id, ids, name, points

from ginenv import actions, cards, engine, melds
from ginenv.rules import Rules, preset

CASE_FILE = Path(os.environ.get("GINENV_CASES") or Path(__file__).with_name("cases.json"))
CASES = json.loads(CASE_FILE.read_text(encoding="utf-8"))["cases"]

KINDS = ("meld", "eleven", "knock", "score", "flow", "match")
# The match cases are scored in tests/test_match_cases.py. What a player may see is not of this
# file either.
ELSEWHERE = {"observe": "tests/test_observation.py"}


class EngineHand:
    """One lane of the engine with the reference's words, so that a case is played in either."""

    def __init__(self, rules: Rules, deck: Sequence[int], dealer: int) -> None:
        self.state = engine.deal(rules, np.array([deck], dtype=np.uint8), np.array([dealer]))

    @property
    def mover(self) -> int:
        return int(self.state.mover[0])

    @property
    def over(self) -> bool:
        return bool(self.state.over[0])

    @property
    def hands(self) -> list[set[int]]:
        return [set(cards.to_ids(hand)) for hand in self.state.hands[0]]

    def legal(self) -> set[str]:
        mask = actions.mask(engine.legal(self.state))[0]
        return {actions.format(int(action)) for action in np.flatnonzero(mask)}

    def step(self, word: str) -> None:
        assert word in self.legal(), f"{word!r} is not among {sorted(self.legal())}"
        engine.step(self.state, np.array([actions.parse(word)]))

    def result(self) -> dict[str, Any]:
        return engine.result(self.state, 0)


Player = type[EngineHand] | type[ReferenceHand]


def cases_of(*kinds: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] in kinds]


@pytest.fixture(params=[EngineHand, ReferenceHand], ids=["engine", "reference"])
def play(request: pytest.FixtureRequest) -> Player:
    return request.param


def read_rules(text: str) -> tuple[Rules, str | None]:
    """The rules that a case's ``rules`` line stands for, and the upcard if it names one."""
    changes: dict[str, Any] = {}
    start = re.match(r"preset (\w+)", text)
    oklahoma = re.match(r"oklahoma\b", text, re.IGNORECASE)
    assert start or oklahoma, f"rules not understood: {text!r}"
    base = start[1] if start else "classic"
    numbers = {
        "knock_limit": r"knock ?<= ?(\d+)",
        "gin_bonus": r"(?<!big )gin (\d+)",
        "undercut_bonus": r"undercut (\d+)",
        "big_gin_bonus": r"big gin (\d+)",
    }
    for field, pattern in numbers.items():
        if found := re.search(pattern, text):
            changes[field] = int(found[1])
    if "tie draw" in text:
        changes["tie"] = "draw"
    if oklahoma:
        changes["oklahoma"] = True
        changes["spade_upcard_doubles"] = bool(re.search("spade", text))
    upcard = re.search(r"upcard (\w\w)\b", text)
    limit = re.search(r"limit (\d+)", text)
    if oklahoma and limit and upcard and upcard[1].startswith("A"):
        changes["oklahoma_ace"] = int(limit[1])
    assert not ("gin-only ace" in text and changes.get("oklahoma_ace")), text
    return preset(base, **changes), upcard[1] if upcard else None


def make_deck(
    dealer: int, hands: Sequence[Iterable[int]], upcard: int, stock: Iterable[int] = ()
) -> list[int]:
    """A deck that deals these hands, this upcard and this top of the stock; the rest by id."""
    first, second = list(hands[1 - dealer]), list(hands[dealer])
    dealt = [card for pair in zip(first, second, strict=True) for card in pair]
    deck = [*dealt, upcard, *stock]
    assert len(set(deck)) == len(deck), f"{reference.names(deck)}: a card is there twice"
    return [*deck, *(card for card in range(52) if card not in deck)]


def unused(*groups: Iterable[int]) -> list[int]:
    taken = {card for group in groups for card in group}
    return [card for card in range(52) if card not in taken]


def play_eleven(
    play: Player,
    rules: Rules,
    eleven: list[int],
    *,
    keep: int | None = None,
    defender: list[int] | None = None,
    upcard: str | None = None,
    from_pile: int | None = None,
    empty_pile: bool = False,
) -> EngineHand | ReferenceHand:
    """A hand in which player 0 holds these eleven and is to throw or knock.

    ``keep`` is a card that must not be what was taken (it is to be thrown). The eleventh card
    is ``from_pile``, thrown by player 1, where that is given; else the upcard if it is one of
    the eleven or if the pile is to be empty; else a card of the stock.
    """
    up = card_id(upcard) if upcard else None
    if from_pile is not None and up not in (None, from_pile):
        # Player 1 draws the card and throws it: he has to be first after two passes.
        ten = [card for card in eleven if card != from_pile]
        other = defender or unused(eleven, [up])[:10]
        hand = play(rules, make_deck(0, [ten, other], up, [from_pile]), 0)
        words = ["pass", "pass", "stock", f"discard {name(from_pile)}", "take"]
    else:
        drawn = from_pile
        if drawn is None and up in eleven:
            drawn = up
        if drawn is None and up is None and empty_pile:
            drawn = next(card for card in eleven if card != keep)
        taken = drawn is not None
        if drawn is None:
            drawn = eleven[-1]
        ten = [card for card in eleven if card != drawn]
        if taken:
            up = drawn
        elif up is None:
            up = unused(eleven, defender or [])[-1]
        other = defender or unused(eleven, [up])[:10]
        deck = make_deck(1, [ten, other], up, [] if taken else [drawn])
        hand = play(rules, deck, 1)
        words = ["take"] if taken else ["pass", "pass", "stock"]
    for word in words:
        hand.step(word)
    assert hand.hands[0] == set(eleven)
    assert hand.mover == 0
    return hand


def throws(words: Iterable[str], verb: str) -> set[str]:
    """The cards of the words that begin with the verb."""
    return {word.split()[1] for word in words if word.startswith(f"{verb} ")}


def card_lists(lists: Iterable[str]) -> list[list[int]]:
    """Melds in any order of cards and melds, as lists of ids in RULES.md's order."""
    return sorted(sorted(ids(text)) for text in lists)


def card_set(text: str) -> set[int]:
    return set(ids(text))


def check_hand_keys(case: dict[str, Any], known: Iterable[str]) -> None:
    unknown = set(case["hands"]) - set(known)
    assert not unknown, f"{case['id']}: hands {sorted(unknown)} not understood"


def check_each(case: dict[str, Any], answers: dict[str, Any], **read: Callable[[Any], Any]) -> None:
    """Every expected key has an answer of ours, and it is the expected one (as ``read``)."""
    unknown = set(case["expected"]) - set(answers)
    assert not unknown, f"{case['id']}: expected {sorted(unknown)} not understood"
    expected = {
        key: read[key](value) if key in read else value for key, value in case["expected"].items()
    }
    assert {key: answers[key] for key in expected} == expected


def test_every_case_is_of_a_kind_that_is_understood() -> None:
    assert {case["kind"] for case in CASES} <= set(KINDS)
    assert len({case["id"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", cases_of("meld"))
def test_best_melds_of_ten(case: dict[str, Any], play: Player) -> None:
    check_hand_keys(case, ["hand"])
    ten = ids(case["hands"]["hand"])
    drawn, *_ = unused(ten)
    rules, _ = read_rules(case["rules"])
    hand = play_eleven(play, rules, [*ten, drawn])
    word = f"knock {name(drawn)}"
    can_knock = word in hand.legal()
    if play is EngineHand:
        after = melds.deadwood_after_discard(np.array([cards.from_ids([*ten, drawn])]))
        least = int(melds.deadwood(np.array([cards.from_ids(ten)]))[0])
        assert int(after[0, drawn]) == least
    else:
        least = reference.least_deadwood(ten)
    if can_knock:
        hand.step(word)
        shown = hand.result()
        assert shown["deadwood"][0] == least
        assert (shown["kind"] in ("gin", "big_gin")) == (least == 0)
    best = reference.best_arrangements(ten)
    answers = {
        "min_deadwood": least,
        "gin": least == 0,
        "knock_legal_at_10": can_knock,
        "count_best_arrangements": len(best),
        "one_best": case["expected"].get("one_best"),
    }
    check_each(case, answers)
    if answers["one_best"] is not None:
        wanted = card_lists(answers["one_best"])
        assert wanted in [[list(meld) for meld in arrangement] for arrangement in best]
        if can_knock and len(best) == 1:
            assert card_lists(shown["melds"][0]) == wanted


@pytest.mark.parametrize("case", cases_of("eleven"))
def test_what_eleven_cards_may_throw(case: dict[str, Any], play: Player) -> None:
    check_hand_keys(case, ["hand", "taken_from_discard"])
    eleven = ids(case["hands"]["hand"])
    taken = case["hands"].get("taken_from_discard")
    rules, upcard = read_rules(case["rules"])
    limit = re.search(r"limit (\d+)", case["rules"]) or re.search(r"limit (\d+)", case["action"])
    assert limit, f"knock limit not understood: {case['action']!r}"
    assert case["action"].startswith("list the legal knock/gin discards")

    def start() -> EngineHand | ReferenceHand:
        from_pile = card_id(taken) if taken else None
        return play_eleven(play, rules, eleven, upcard=upcard, from_pile=from_pile)

    legal = start().legal()
    deadwood: dict[str, int] = {}
    gins = []
    for card in throws(legal, "knock"):
        hand = start()
        hand.step(f"knock {card}")
        deadwood[card] = hand.result()["deadwood"][0]
        if hand.result()["kind"] == "gin":
            gins.append(card)
        assert deadwood[card] <= int(limit[1])
        assert deadwood[card] == int(
            melds.deadwood_after_discard(np.array([cards.from_ids(eleven)]))[0, card_id(card)]
        )
    illegal = {name(card) for card in eleven} - throws(legal, "discard")
    answers = {
        "knock_discards": deadwood,
        "gin_discards": set(gins),
        "knock_legal": bool(deadwood),
        "big_gin": "big-gin" in legal,
        "illegal_plain_discards": illegal,
    }
    check_each(case, answers, gin_discards=set, illegal_plain_discards=set)


@pytest.mark.parametrize("case", cases_of("knock", "score"))
def test_knocks_lay_offs_and_points(case: dict[str, Any], play: Player) -> None:
    check_hand_keys(case, ["knocker_eleven", "defender"])
    eleven = ids(case["hands"]["knocker_eleven"])
    defender = ids(case["hands"]["defender"])
    rules, upcard = read_rules(case["rules"])
    thrown = re.search(r"(?:throws|knocks with|discards) (\w\w)\b", case["action"])
    if thrown:
        word = f"knock {thrown[1]}"
        ten = [card for card in eleven if card != card_id(thrown[1])]
    else:
        assert re.search("big gin", case["action"]), f"action not understood: {case['action']!r}"
        word = "big-gin"
        ten = eleven
    keep = card_id(thrown[1]) if thrown else None
    hand = play_eleven(
        play, rules, eleven, keep=keep, defender=defender, upcard=upcard, empty_pile=True
    )
    hand.step(word)
    assert hand.over
    result = hand.result()
    gin = result["kind"] in ("gin", "big_gin")
    laid_off = ids(" ".join(result["layoffs"]))
    left = set(defender) - set(laid_off) - {c for m in card_lists(result["melds"][1]) for c in m}
    assert points(left) == result["deadwood"][1]
    given = set()
    for arrangement in reference.best_arrangements(ten):
        given.add(points(reference.lay_off(defender, () if gin else arrangement)[2]))
    answers = {
        "end": result["kind"],
        "winner": {0: "knocker", 1: "defender", None: None}[result["winner"]],
        "points": result["points"],
        "knocker_deadwood": result["deadwood"][0],
        "defender_deadwood": result["deadwood"][1],
        "knocker_melds": card_lists(result["melds"][0]),
        "defender_melds": card_lists(result["melds"][1]),
        "laid_off": set(laid_off),
        "defender_left": left,
        "equal_arrangements_give": given,
        # A hand won is one box, however often its points are doubled.
        "boxes": 0 if result["winner"] is None else 1,
    }
    check_each(
        case,
        answers,
        knocker_melds=card_lists,
        defender_melds=card_lists,
        laid_off=card_set,
        defender_left=card_set,
        equal_arrangements_give=set,
    )


def flow_words(text: str) -> list[tuple[int, str, str | None]]:
    """A case's sentence as (player, verb, card): pass, take, stock, discard, knock, big-gin."""
    verbs = {
        r"pass(?:es|ed)?": "pass",
        r"takes?(?: the)?(?: upcard)?": "take",
        r"draws?(?: from the)?(?: stock)?": "stock",
        r"(?:throws?|discards?)": "discard",
        r"knocks?(?: with| by throwing)?": "knock",
        r"(?:declares? )?big gin": "big-gin",
    }
    steps: list[tuple[int, str, str | None]] = []
    player = None
    for clause in re.split(r"[;,]| and | then ", text):
        clause = re.sub(r"\(.*?\)", "", clause).strip()
        if not clause:
            continue
        if named := re.match(r"player_([01])\s*", clause):
            player = int(named[1])
            clause = clause[named.end() :].strip()
        for pattern, verb in verbs.items():
            if found := re.fullmatch(rf"(?:{pattern})(?: ([A2-9TJQK][cdhs]))?(?: too)?", clause):
                assert player is not None, f"who {clause!r}?"
                steps.append((player, verb, found[1]))
                break
        else:
            pytest.fail(f"action not understood: {clause!r} in {text!r}")
    return steps


def as_words(texts: Iterable[str], top: str) -> set[str]:
    """A case's words for actions as action words: "draw stock", "take Qs", "throw Kh"."""
    words = set()
    for text in texts:
        verb, _, card = text.replace("throw", "discard").partition(" ")
        if verb == "draw" or text == "stock":
            words.add("stock")
        elif verb == "take":
            # "take Kh" is no action at all while another card lies on top.
            words.add("take" if card in ("", "upcard", "pile", top) else text)
        elif text in ("big gin", "big-gin"):
            words.add("big-gin")
        else:
            assert verb in ("pass", "discard", "knock"), f"action not understood: {text!r}"
            words.add(text)
    return words


@pytest.mark.parametrize("case", cases_of("flow"))
def test_flow_of_a_turn(case: dict[str, Any], play: Player) -> None:
    if case["action"].startswith("observe("):
        pytest.skip(f"what a player may see: {ELSEWHERE['observe']}")
    rules, _ = read_rules(case["rules"])
    if "stock_left" in case["hands"]:
        check_last_discard(case, play, rules)
        return
    check_hand_keys(case, ["dealer", "player_0", "player_1", "upcard", "stock_top_first"])
    given = case["hands"]
    dealer = int(given["dealer"].removeprefix("player_"))
    hands = [ids(given["player_0"]), ids(given["player_1"])]
    stock = ids(given.get("stock_top_first", ""))
    hand = play(rules, make_deck(dealer, hands, card_id(given["upcard"]), stock), dealer)
    top = given["upcard"]
    for player, verb, card in flow_words(case["action"]):
        assert hand.mover == player, case["action"]
        before = set(hand.hands[player])
        if verb in ("discard", "knock"):
            hand.step(f"{verb} {card}")
            top = card if verb == "discard" else top
        else:
            hand.step(verb)
        if verb in ("take", "stock"):
            (gained,) = hand.hands[player] - before
            assert card in (None, name(gained))
    legal = hand.legal()
    expected = case["expected"]
    plain = throws(legal, "discard")

    def agrees(words: Iterable[str]) -> bool:
        """Listed actions are all there is where nothing is to be thrown, else some of them."""
        listed = as_words(words, top)
        return listed <= legal if plain else listed == legal

    includes = expected.get("legal_discard_includes", [])
    includes = includes.split() if isinstance(includes, str) else includes
    illegal_discards = expected.get("illegal_discards", [])
    answers = {
        "to_move": None if hand.over else f"player_{hand.mover}",
        "hand_size": len(hand.hands[hand.mover]),
        "legal_discard_count": len(plain),
        "legal": expected.get("legal") if agrees(expected.get("legal", [])) else sorted(legal),
        "illegal": [w for w in expected.get("illegal", []) if not as_words([w], top) & legal],
        "illegal_discards": [card for card in illegal_discards if card not in plain],
        "legal_discard_includes": (
            expected.get("legal_discard_includes") if set(includes) <= plain else sorted(plain)
        ),
        "over": hand.over,
        "end": hand.result()["kind"] if hand.over else None,
    }
    check_each(case, answers)


def check_last_discard(case: dict[str, Any], play: Player, rules: Rules) -> None:
    """A discard that leaves ``stock_left`` cards, under both readings of what follows."""
    check_hand_keys(
        case, ["stock_left", "player_to_answer", "last_discard", "player_0", "player_1"]
    )
    given = case["hands"]
    answerer = int(given["player_to_answer"].removeprefix("player_"))
    thrower = 1 - answerer
    last = card_id(given["last_discard"])
    draws = 31 - given["stock_left"]
    # The non-dealer draws first, the last draw is the thrower's.
    dealer = answerer if draws % 2 else thrower
    ready = ids(given[f"player_{answerer}"])
    other = ids(given.get(f"player_{thrower}", "")) or unused(ready, [last])[-10:]
    hands = [other, ready] if answerer else [ready, other]
    upcard, *rest = unused(ready, other, [last])
    stock = [*rest[: draws - 1], last]

    def after_the_discard(last_discard: str) -> EngineHand | ReferenceHand:
        changed = dataclasses.replace(rules, last_discard=last_discard)
        hand = play(changed, make_deck(dealer, hands, upcard, stock), dealer)
        for word in ("pass", "pass"):
            hand.step(word)
        for card in stock:
            assert not hand.over
            hand.step("stock")
            hand.step(f"discard {name(card)}")
        return hand

    def strict(prose: str) -> None:
        hand = after_the_discard("dead")
        dead = re.match("hand is dead at once", prose)
        goes_on = re.search("not dead|goes on|plays on", prose)
        assert dead or goes_on, f"expected not understood: {prose!r}"
        assert hand.over == bool(dead)
        if dead:
            assert hand.result()["kind"] == "dead"
            assert hand.result()["winner"] is None
            assert hand.legal() == set()

    def fifty(prose: str) -> None:
        hand = after_the_discard("may_knock")
        assert (hand.over, hand.mover) == (False, answerer)
        assert "stock" not in hand.legal()
        if not re.search(rf"may take {given['last_discard']}\b", prose):
            refused = re.search("may not take|cannot take|must pass|only pass|nothing", prose)
            assert refused, f"expected not understood: {prose!r}"
            assert hand.legal() == {"pass"}
            return
        assert hand.legal() == {"pass", "take"}
        hand.step("take")
        assert all(word == "big-gin" or word.startswith("knock ") for word in hand.legal())
        if closing := re.search(r"throwing (\w\w) is gin \(25 \+ deadwood\)", prose):
            hand.step(f"knock {closing[1]}")
            assert hand.result()["kind"] == "gin"
            assert hand.result()["points"] == 25 + reference.least_deadwood(other)
        hand = after_the_discard("may_knock")
        hand.step("pass")
        assert hand.result()["kind"] == "dead"

    checks = {"strict_rule": strict, "fifty_card_variant": fifty}
    for key, prose in case["expected"].items():
        assert key in checks, f"{case['id']}: expected {key!r} not understood"
        checks[key](prose)
