"""Cards, card sets, actions: text and back, and what wrong text says."""

from __future__ import annotations

import numpy as np
import pytest

from ginenv import actions, cards
from ginenv.actions import Legal


def test_ids_are_suit_times_13_plus_rank() -> None:
    assert [cards.parse_card(text) for text in ("Ac", "Kc", "Ad", "Td", "As", "Ks")] == [
        0, 12, 13, 22, 39, 51,
    ]  # fmt: skip
    assert all(cards.parse_card(cards.name(card)) == card for card in range(52))


def test_points_are_the_cards_numbers_and_ten_for_courts() -> None:
    assert [int(cards.POINTS[cards.parse_card(f"{rank}h")]) for rank in cards.RANKS] == [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10,
    ]  # fmt: skip


def test_a_card_set_is_sixteen_bits_a_suit() -> None:
    bits = cards.parse("As Td")
    assert bits == np.uint64((1 << 48) | (1 << 25))
    assert isinstance(bits, np.uint64)
    assert cards.format(bits) == "Td As"
    assert cards.parse("") == 0


def test_sets_and_ids_go_both_ways() -> None:
    rng = np.random.default_rng(0)
    for size in (0, 1, 10, 52):
        ids = sorted(rng.permutation(52)[:size].tolist())
        assert cards.to_ids(cards.from_ids(ids)) == ids
    assert cards.from_ids(range(52)) == cards.deck_set(13, 4)


def test_points_of_sets_are_the_sums() -> None:
    rng = np.random.default_rng(1)
    hands = [rng.permutation(52)[:11].tolist() for _ in range(50)]
    sets = np.array([cards.from_ids(hand) for hand in hands])
    assert cards.points(sets).tolist() == [int(cards.POINTS[hand].sum()) for hand in hands]


def test_packing_puts_bit_i_at_card_id_i() -> None:
    packed = cards.pack(np.array([cards.BIT[card] for card in range(52)]))
    assert packed.tolist() == [1 << card for card in range(52)]


@pytest.mark.parametrize("text", ["Xd", "10d", "Tx", "td", "T", ""])
def test_what_is_no_card_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is not a card"):
        cards.parse_card(text)


def test_a_card_twice_is_named() -> None:
    with pytest.raises(ValueError, match="Td is there twice"):
        cards.parse("Td As Td")


def test_actions_are_numbered_as_the_design_says() -> None:
    kd = cards.parse_card("Kd")
    assert actions.parse("discard Kd") == kd
    assert actions.parse("knock Kd") == 52 + kd
    words = ["stock", "take", "pass", "big-gin"]
    assert [actions.parse(word) for word in words] == [104, 105, 106, 107]


def test_every_action_has_a_word_and_back() -> None:
    assert all(actions.parse(actions.format(action)) == action for action in range(108))


@pytest.mark.parametrize("text", ["", "knock", "discard", "knok Kd", "stock Kd", "discard Kd Qd"])
def test_what_is_no_action_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="is not an action: write 'pass', 'take', 'stock'"):
        actions.parse(text)
    with pytest.raises(ValueError, match="'1d' is not a card"):
        actions.parse("knock 1d")


@pytest.mark.parametrize("action", [-1, 108])
def test_an_action_out_of_range_is_an_error(action: int) -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.107"):
        actions.format(action)


def test_masks_hold_just_the_legal_actions() -> None:
    rng = np.random.default_rng(2)
    deck = [int(bit) for bit in cards.BIT]
    chosen = [set(rng.permutation(108)[: rng.integers(0, 109)].tolist()) for _ in range(64)]
    legal = Legal(
        np.array([sum(deck[a] for a in one if a < 52) for one in chosen], dtype=np.uint64),
        np.array([sum(deck[a - 52] for a in one if 52 <= a < 104) for one in chosen], np.uint64),
        np.array([sum(1 << (a - 104) for a in one if a >= 104) for one in chosen], np.uint8),
    )
    mask = actions.mask(legal)
    assert mask.dtype == np.uint8
    assert mask.shape == (64, 108)
    assert [set(row.nonzero()[0].tolist()) for row in mask] == chosen
    for few in (0, 1):
        np.testing.assert_array_equal(
            actions.mask(Legal(*(part[:few] for part in legal))), mask[:few]
        )
    for action in range(-2, 110):
        inside = actions.contains(actions.words(legal), np.full(64, action))
        assert inside.tolist() == [action in one for one in chosen]
