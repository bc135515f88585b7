"""Rules: presets by name, fields by keyword, one clear error that names the field."""

from __future__ import annotations

import dataclasses

import pytest

from ginenv.rules import FIELDS, PRESETS, Rules, RulesError, from_dict, preset


def test_classic_is_the_defaults() -> None:
    assert preset("classic") == Rules() == preset()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_made_and_changed_field_by_field(name: str) -> None:
    assert preset(name).to_dict() == dataclasses.asdict(Rules()) | PRESETS[name]
    assert preset(name, undercut_bonus=11).undercut_bonus == 11


@pytest.mark.parametrize("name", PRESETS)
def test_a_record_of_the_fields_gives_the_same_rules(name: str) -> None:
    assert from_dict(preset(name).to_dict()) == preset(name)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"knock_limit": 11}, "knock_limit=11: must be 0 to 10"),
        ({"knock_limit": -1}, "knock_limit=-1: must be 0 to 10"),
        ({"knock_limit": 2.5}, "knock_limit=2.5: must be a whole number"),
        ({"knock_limit": True}, "knock_limit=True: must be a whole number"),
        ({"gin_bonus": 1001}, "gin_bonus=1001: must be 0 to 1000"),
        ({"big_gin_bonus": "many"}, "big_gin_bonus='many': must be a whole number or None"),
        ({"oklahoma": 1}, "oklahoma=1: must be True or False"),
        ({"oklahoma_ace": 2}, "oklahoma_ace=2: must be 0 to 1"),
        ({"first_upcard": "closed"}, "first_upcard='closed': must be 'offer' or 'open'"),
        ({"turn_limit": 0}, "turn_limit=0: must be 1 to 200"),
        ({"stock_floor": 31}, "stock_floor=31: must be 0 to 30"),
        ({"num_ranks": 14}, "num_ranks=14: must be 3 to 13"),
        ({"num_ranks": 5}, "hand_size=10: a deck of 5 ranks and 4 suits has 20 cards"),
        ({"target": 0}, "target=0: must be 1 to 10000"),
        ({"best_of": 2}, "best_of=2: must be odd"),
        ({"first_dealer": 2}, "first_dealer=2: must be 'cut' or a player's number, 0 to 1"),
        ({"first_dealer": "me"}, "first_dealer='me': must be a whole number or 'cut'"),
        ({"score_sheet": "hollywood", "seating": "cutthroat"}, "score_sheet='hollywood'"),
        ({"partners_bonus": 10}, "partners_bonus=10 needs seating='partnership'"),
        ({"knock_limt": 5}, "knock_limt: there is no such rule; did you mean 'knock_limit'"),
    ],
)
def test_a_wrong_field_is_one_clear_error(fields: dict[str, object], message: str) -> None:
    with pytest.raises(RulesError) as caught:
        preset("classic", **fields)
    assert str(caught.value).startswith(message)


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(RulesError, match="did you mean 'oklahoma'"):
        preset("oklahama")


def test_a_small_deck_needs_its_own_floor() -> None:
    with pytest.raises(RulesError, match="stock_floor=2: must be 0 to 0"):
        preset("classic", num_ranks=4, num_suits=2, hand_size=3)
    rules = preset("classic", num_ranks=4, num_suits=2, hand_size=3, stock_floor=0)
    assert (rules.deck_size, rules.stock_size) == (8, 1)


def test_cutthroat_has_a_third_dealer() -> None:
    assert preset("cutthroat", first_dealer=2).first_dealer == 2


def test_every_field_is_checked_or_has_choices() -> None:
    for field in FIELDS:
        with pytest.raises(RulesError, match=field):
            from_dict({field: object()})
