"""Melds and deadwood on batches of card sets (uint64 [B], see :mod:`ginenv.cards`).

How it works. Within a suit, cards outside sets are melded best by every block of three or more
neighbours; so once it is settled which sets a hand shows, the rest follows without a choice.
The functions here list the choices of sets (:func:`set_choices`, most hands have one or two)
and look the runs up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ginenv import cards

Sets = NDArray[np.uint64]

NOT_HELD = 140
"""Deadwood at or above this marks a card that is not in the hand."""

# Constants are arrays without axes: numpy takes them up faster than its scalars.
_U1, _U2, _U16, _U32, _U45, _U48 = (np.array(n, dtype=np.uint64) for n in (1, 2, 16, 32, 45, 48))
_RANK_OF_EVERY_SUIT = np.array(0x0001_0001_0001_0001, dtype=np.uint64)
_RANK_MASK = np.array(cards.SUIT_MASK, dtype=np.uint64)
_FOUR_SUITS = np.array(15, dtype=np.uint64)
# A product with this brings bits 0, 16, 32 and 48 side by side to 45..48; no two terms meet.
_GATHER_SUITS = np.array(1 << 45 | 1 << 30 | 1 << 15 | 1, dtype=np.uint64)
_EACH_SUIT = np.array([[cards.SUIT_MASK << (16 * suit)] for suit in range(4)], dtype=np.uint64)
_SHIFT = np.array(10, dtype=np.uint8)
"""Added in _AFTER so that its entries are never negative: no discard saves over 10 points."""


def run_cards(sets: Sets) -> Sets:
    """The cards of each set that stand in a block of three or more of one suit."""
    first = sets & (sets >> _U1) & (sets >> _U2)
    whole: Sets = first | (first << _U1) | (first << _U2)
    return whole


def meldable_cards(sets: Sets) -> Sets:
    """The cards that are part of any set or run which these cards hold."""
    return run_cards(sets) | (sets & (_fold_ranks(_triples(sets)) * _RANK_OF_EVERY_SUIT))


def _suit_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """What runs leave of a suit, and what they leave once a card is gone.

    ``left[mask]``: points in no block of three. ``after[mask, rank]``:
    ``left[mask without rank] - left[mask] + _SHIFT``, NOT_HELD if the rank is not in mask.
    """
    masks = np.arange(1 << cards.NUM_RANKS, dtype=np.uint64)
    left = cards.points(masks & ~run_cards(masks)).copy()
    after = np.full((len(masks), cards.NUM_RANKS), NOT_HELD + _SHIFT, dtype=np.uint8)
    for rank in range(cards.NUM_RANKS):
        held = np.flatnonzero(masks >> np.uint64(rank) & _U1)
        without = held ^ (1 << rank)
        after[held, rank] = left[without].astype(int) - left[held] + _SHIFT
    return left, after


_LEFT, _AFTER = _suit_tables()


def _triples(hands: Sets) -> Sets:
    """Bits at the ranks of which a hand has three or more: one bit for three, four for four.

    Suits are four lanes in a ring, so any three of them are neighbours in it.
    """
    pairs = hands & ((hands >> _U16) | (hands << _U48))
    return pairs & ((pairs >> _U16) | (pairs << _U48))


def _fold_ranks(sets: Sets) -> Sets:
    """The ranks at which any suit has a bit, in the lowest 13 bits."""
    folded: Sets = sets | (sets >> _U32)
    folded |= folded >> _U16
    return folded & _RANK_MASK


class Choices(NamedTuple):
    """Every choice of sets that hands can show: N >= B rows, the rows of a hand side by side."""

    owner: NDArray[np.intp]
    """Which hand, [N], ascending."""
    sets: Sets
    """The cards in sets, [N]."""
    rest: Sets
    """The hand's other cards, [N]."""


def _set_options() -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """The sets that the suits held of a rank allow, for each of the 16 subsets of suits.

    How many (none shown counts), and each as bits at 0, 16, 32 and 48, six places a subset.
    """
    counts = np.ones(16, dtype=np.intp)
    columns = np.zeros((16, _MOST_OPTIONS), dtype=np.uint64)
    for held in range(16):
        shown = [part for part in range(16) if part & ~held == 0 and part.bit_count() >= 3]
        counts[held] += len(shown)
        for option, part in enumerate(shown, start=1):
            columns[held, option] = sum(1 << (16 * suit) for suit in range(4) if part >> suit & 1)
    return counts, columns.reshape(-1)


_MOST_OPTIONS = 6  # of four cards: none, all, or one of four threes
_OPTION_COUNT, _OPTION = _set_options()


def set_choices(hands: Sets) -> Choices:
    """All ways to show sets of three or four from each hand, showing none among them.

    Two chosen sets never share a rank, so each rank is settled on its own.
    """
    owner = np.arange(len(hands))
    sets = np.zeros(len(hands), dtype=np.uint64)
    rest = hands
    ranks = _fold_ranks(_triples(hands))
    while np.count_nonzero(ranks):
        low = ranks & -ranks
        ranks = ranks ^ low
        held = rest & (low * _RANK_OF_EVERY_SUIT)
        suits = ((held >> np.bitwise_count(low - _U1)) * _GATHER_SUITS >> _U45) & _FOUR_SUITS
        suits = suits.view(np.intp)
        counts = _OPTION_COUNT[suits]
        source = np.arange(len(suits)).repeat(counts)
        first = suits * _MOST_OPTIONS - counts.cumsum() + counts
        chosen = _OPTION[np.arange(len(source)) + first[source]] * low[source]
        owner, ranks = owner[source], ranks[source]
        sets, rest = sets[source] | chosen, rest[source] ^ chosen
    return Choices(owner, sets, rest)


def deadwood(hands: Sets) -> NDArray[np.uint8]:
    """Least deadwood of hands of up to 11 cards, uint64 [B] -> uint8 [B]."""
    hands = np.ascontiguousarray(hands, dtype=np.uint64)
    least = cards.suit_sum(_LEFT, hands)
    for who, rests in _shown(hands):
        left = cards.suit_sum(_LEFT, rests.reshape(-1)).reshape(rests.shape)
        least[who] = np.minimum(least[who], np.minimum.reduce(left))
    return least


def _shown(hands: Sets) -> Iterator[tuple[NDArray[np.intp], Sets]]:
    """What is left of hands that show sets, in every way that there is.

    Pairs of lanes [n] and rests [k, n]; a hand can come in several of them, and a rest twice.
    """
    triples = _triples(hands)
    who = (triples != 0).nonzero()[0]
    if not len(who):
        return
    # Nearly always there is one set of three: show it.
    triples, hands = triples[who], hands[who]
    first = _lowest_rank(triples)
    yield who, (hands & ~first)[None]
    many = (triples & (triples - _U1) != 0).nonzero()[0]
    if not len(many):
        return
    who, triples, hands, first = who[many], triples[many], hands[many], first[many]
    others = triples & ~first
    second = _lowest_rank(others)
    third = others & ~second
    fours = triples & ((triples >> _U16) | (triples << _U48))
    rests = np.array([hands & ~second, hands & ~(first | second), hands, hands & ~first])
    some = (others != 0).nonzero()[0]
    if len(some):
        yield who[some], rests[:2, some]
    some = (third != 0).nonzero()[0]
    if len(some):
        yield who[some], rests[:, some] & ~_lowest_rank(third[some])
    # Of four cards one may stay out of the set, for a run.
    some = (fours != 0).nonzero()[0]
    if len(some):
        kept = fours[some] & _EACH_SUIT
        yield who[some], np.concatenate([hands[some] & ~fours[some] | kept, rests[1, some] | kept])
        hard = ((third[some] != 0) | (np.bitwise_count(fours[some]) > 4)).nonzero()[0]
        if len(hard):
            some = some[hard]
            choices = set_choices(hands[some])
            counts = np.bincount(choices.owner)
            rows = counts.cumsum() - np.minimum(np.arange(1, counts.max() + 1)[:, None], counts)
            yield who[some], choices.rest[rows]


def deadwood_bound(hands: Sets) -> NDArray[np.uint8]:
    """A quick lower bound of :func:`deadwood`, uint64 [B] -> uint8 [B].

    As if a card could be in a set and in a run at once.
    """
    hands = np.ascontiguousarray(hands, dtype=np.uint64)
    bound = cards.suit_sum(_LEFT, hands)
    triples = _triples(hands)
    some = (triples != 0).nonzero()[0]
    if len(some):
        in_sets = hands[some] & (_fold_ranks(triples[some]) * _RANK_OF_EVERY_SUIT)
        left = bound[some]
        bound[some] = left - np.minimum(left, cards.points(in_sets))
    return bound


def _starts(owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first row of each owner; owners are 0..n-1 ascending, none missing."""
    first = np.empty(len(owner), dtype=np.bool_)
    first[:1] = True
    np.not_equal(owner[1:], owner[:-1], out=first[1:])
    return first.nonzero()[0]


def deadwood_and_after_discard(hands: Sets) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """:func:`deadwood` and :func:`deadwood_after_discard` at once."""
    hands = np.ascontiguousarray(hands, dtype=np.uint64)
    least, after = _in_runs(hands)
    for who, rests in _shown(hands):
        left, table = _in_runs(rests.reshape(-1))
        left, table = left.reshape(rests.shape), table.reshape(*rests.shape, cards.NUM_CARDS)
        least[who] = np.minimum(least[who], np.minimum.reduce(left))
        after[who] = np.minimum(after[who], np.minimum.reduce(table))
    return least, after


def _in_runs(hands: Sets) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """:func:`deadwood_and_after_discard` for hands that show no sets."""
    left = cards.suit_sum(_LEFT, hands)
    after = _AFTER.take(hands.view(np.uint16), axis=0, mode="clip")
    after = after.reshape(len(hands), cards.NUM_CARDS)
    after += (left - _SHIFT)[:, None]
    return left, after


def _lowest_rank(triples: Sets) -> Sets:
    """Every suit's card of the lowest rank that :func:`_triples` has marked."""
    ranks = _fold_ranks(triples)
    return (ranks & -ranks) * _RANK_OF_EVERY_SUIT


def deadwood_after_discard(hands: Sets) -> NDArray[np.uint8]:
    """Least deadwood that each discard leaves, uint64 [B] -> uint8 [B, 52].

    NOT_HELD or more for a card that is not in the hand. Exact for hands of up to 11 cards.
    """
    return deadwood_and_after_discard(hands)[1]


def discards_within(hands: Sets, limit: NDArray[np.uint8]) -> Sets:
    """The cards whose discard leaves deadwood of at most ``limit`` [B]: uint64 [B]."""
    within = np.zeros((len(hands), cards.NUM_SUITS, 16), dtype=np.bool_)
    after = deadwood_after_discard(hands).reshape(len(hands), cards.NUM_SUITS, cards.NUM_RANKS)
    np.less_equal(after, limit[:, None, None], out=within[:, :, : cards.NUM_RANKS])
    return np.packbits(within, bitorder="little").view(np.uint64)


def knocker_arrangement(hands: Sets, maybe: Sets) -> tuple[Sets, Sets]:
    """How a knocker lays his hand down: cards in sets and cards in runs, uint64 [B] each.

    Least deadwood; then fewest points that could be laid off from ``maybe``, the cards that may
    be in the defender's hand; then the least sorted list of melds.
    """
    owner, sets, rest = set_choices(hands)
    runs = run_cards(rest)
    rows = _cheapest(owner, cards.points(rest & ~runs))
    owner, sets, runs = owner[rows], sets[rows], runs[rows]
    if len(rows) > len(hands):
        layable = cards.points(_layable(sets, runs, maybe[owner]))
        rows = _best(owner, layable, sets, runs)
        sets, runs = sets[rows], runs[rows]
    return sets, runs


def best_arrangement(hands: Sets) -> tuple[Sets, Sets]:
    """Of least deadwood and, among those, the least sorted list of melds: sets and runs [B]."""
    nothing = np.zeros_like(hands)
    defence = lay_off(hands, nothing, nothing)
    return defence.sets, defence.runs


def _layable(sets: Sets, runs: Sets, pool: Sets) -> Sets:
    """The cards of ``pool`` that could be laid off on sets and runs, chains along runs too."""
    return (fourth_cards(sets) & pool) | _chains(runs, pool)


def fourth_cards(sets: Sets) -> Sets:
    """The missing card of every set of three among the cards of ``sets``."""
    ranks = _fold_ranks(_triples(sets))
    return (ranks * _RANK_OF_EVERY_SUIT) & ~sets


def _chains(runs: Sets, pool: Sets) -> Sets:
    """The cards of ``pool`` that extend runs, one after another, at either end."""
    reached = tip = runs
    while np.count_nonzero(tip):
        tip = ((tip << _U1) | (tip >> _U1)) & pool & ~reached
        reached = reached | tip
    return reached & pool


class Defence(NamedTuple):
    """What a defender shows after a knock, uint64 [B] each."""

    sets: Sets
    runs: Sets
    layoffs: Sets
    left: Sets
    """His deadwood."""


def lay_off(defenders: Sets, knocker_sets: Sets, knocker_runs: Sets) -> Defence:
    """Melds and lay-offs chosen together so that the defender is left with the least.

    Among equals the fewest cards are laid off, then the least sorted list of melds decides.
    """
    owner, sets, rest = set_choices(defenders)
    given = np.zeros(len(owner), dtype=np.uint64)
    # A fourth card may go on a set or stay for a run: both ways, card by card.
    fourths = fourth_cards(knocker_sets)[owner] & rest
    while np.count_nonzero(fourths):
        low = fourths & -fourths
        extra = low.nonzero()[0]
        source = np.concatenate([np.arange(len(owner)), extra])
        card = np.concatenate([np.zeros_like(low), low[extra]])
        fourths = (fourths ^ low)[source]
        owner, sets = owner[source], sets[source]
        rest, given = rest[source] & ~card, given[source] | card
        order = np.argsort(owner, kind="stable")
        owner, sets, rest = owner[order], sets[order], rest[order]
        given, fourths = given[order], fourths[order]
    runs = run_cards(rest)
    layoffs = given | (_chains(knocker_runs[owner], rest) & ~runs)
    left = rest & ~runs & ~layoffs
    cost = cards.points(left).astype(np.int64) * 64 + np.bitwise_count(layoffs)
    rows = _best(owner, cost, sets, runs)
    return Defence(sets[rows], runs[rows], layoffs[rows], left[rows])


def _cheapest(owner: NDArray[np.intp], cost: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Each owner's rows of least cost; owners are 0..n-1 ascending, none missing."""
    least = np.minimum.reduceat(cost, _starts(owner))
    cheapest: NDArray[np.bool_] = cost == least[owner]
    return cheapest.nonzero()[0]


def _best(
    owner: NDArray[np.intp], cost: NDArray[np.integer[Any]], sets: Sets, runs: Sets
) -> NDArray[np.intp]:
    """Each owner's row of least cost; among equals that of the least sorted list of melds."""
    rows = _cheapest(owner, cost)
    if len(rows) > owner[-1] + 1:
        keys = _meld_keys(sets[rows], runs[rows])
        rows = rows[np.lexsort((*keys, owner[rows]))]
        rows = rows[_starts(owner[rows])]
    return rows


def split(sets: int, runs: int) -> list[int]:
    """The melds of an arrangement as card sets, in the order of their lowest cards."""
    columns = _melds(np.array([sets], dtype=np.uint64), np.array([runs], dtype=np.uint64))
    return [int(meld[0]) for meld in columns if meld[0]]


def _melds(sets: Sets, runs: Sets) -> list[Sets]:
    """Each arrangement's melds in the order of their lowest cards, three times [N], 0 for none.

    Of the ways to cut a long block into runs it takes the least in the sorted order: threes from
    the low end, the last run taking what is left over. At most three melds fit in eleven cards.
    """
    melds = []
    for _ in range(3):
        every = sets | runs
        low = every & -every
        rank_column = _fold_ranks(low) * _RANK_OF_EVERY_SUIT
        in_set = (sets & low) != 0
        block = runs & ~(runs + low)  # the run of ones that starts at low
        five = block & (low * np.uint64(31))
        run = np.where(np.bitwise_count(block) >= 6, low * np.uint64(7), five)
        meld = np.where(in_set, sets & rank_column, np.where(low != 0, run, low))
        sets, runs = sets & ~meld, runs & ~meld
        melds.append(meld)
    return melds


def _meld_keys(sets: Sets, runs: Sets) -> tuple[NDArray[np.uint64], ...]:
    """Keys for ``np.lexsort`` (last one first) that order arrangements as lists of melds.

    A meld's key holds its cards from the top digit down, absent ones 0, as a shorter list comes
    before a longer one that starts alike.
    """
    return tuple(_meld_key(meld) for meld in reversed(_melds(sets, runs)))


def _meld_key(meld: Sets) -> NDArray[np.uint64]:
    key = np.zeros_like(meld)
    for _ in range(5):
        low = meld & -meld
        digit = np.bitwise_count(low - _U1).astype(np.uint64) + _U1  # 1..61
        key = (key << np.uint64(6)) | np.where(low != 0, digit, np.uint64(0))
        meld = meld ^ low
    return key
