"""The networks: suits alike, so that renaming suits renames the answer and changes nothing else.

Each suit's cards go through the same weights; suits hear of one another through their mean. So
the 24 relabelings of suits need no data of their own. Suits are the first axis of what is
computed: adding them up is then quick.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from agents import prospects
from agents.ppo_config import NetworkConfig
from ginenv import actions, cards, observation
from ginenv.rules import Rules

PLANES = len(observation.BIT_PLANES) + 1 + len(prospects.PLANES)
"""Card planes: an observation's bits, the deadwood after each discard, the prospects."""

_BITS = len(observation.BIT_PLANES)
_BITS_END = _BITS * cards.NUM_CARDS
_DEADWOOD_AFTER = observation.LAYOUT["deadwood_after"]
_PROSPECTS = slice(prospects.LAYOUT[prospects.PLANES[0]].start, prospects.LAYOUT["open"].stop)
_PLANE_SCALES = {
    "deadwood_after": 20,
    "gin": 4,
    "helpful": 20,
    "very_helpful": 5,
    "promise": 80,
    "draw": 10,
    "held": 1,
    "near": 2,
    "open": 4,
}
# What brings each kind of number to about 1; flags are 0 or 1 already.
_SCALES = {
    "stock_left": 31,
    "draws_left": 31,
    "turn": 30,
    "turns_left": 100,
    "deadwood": 50,
    "knock_limit": 10,
    "pile_size": 20,
    "opponent_unknown": 10,
    "gin_bonus": 25,
    "undercut_bonus": 25,
    "big_gin_bonus": 25,
    "stock_floor": 2,
    "target": 100,
    "game_bonus": 100,
    "shutout_bonus": 100,
    "box_bonus": 20,
    "partners_bonus": 25,
    "games_to_win": 2,
    "rounds": 20,
    "stands_gin": 4,
    "stands_helpful": 20,
    "stands_very_helpful": 5,
    "stands_promise": 80,
    "least": 20,
    "least_gin": 4,
    "least_promise": 80,
    "most_gin": 4,
}
_SCALES_BY_KIND = {"total": 100, "to": 50, "boxes": 5}
"""Of the score's entries, by the second word of the name (``own_to_go``)."""


def _numbers() -> Tensor:
    """What makes the single numbers of the entries, float [entries, SCALARS].

    A row for each entry that belongs to no card plane; a column for each number. Two entries make
    one number of the score where the second counts 256.
    """
    names = [
        name
        for name, place in prospects.LAYOUT.items()
        if place.start >= _BITS_END and name not in _PLANE_SCALES
    ]
    entries = prospects.SIZE - _BITS_END - len(_PLANE_SCALES) * cards.NUM_CARDS
    table, row = torch.zeros(entries, len(names)), 0
    for column, name in enumerate(names):
        words = name.split("_")
        kind = words[1] if len(words) > 1 else ""
        scale = _SCALES.get(name, _SCALES_BY_KIND.get(kind, 1))
        place = prospects.LAYOUT[name]
        for digit in range(place.stop - place.start):
            table[row, column] = 256**digit / scale
            row += 1
    assert row == entries
    return table


_NUMBERS = _numbers()
SCALARS = _NUMBERS.shape[1]


class Deck(NamedTuple):
    """The cards that networks are made for: of a short deck they neither read nor name others."""

    suits: int = cards.NUM_SUITS
    ranks: int = cards.NUM_RANKS

    @staticmethod
    def of(rules: Rules) -> Deck:
        """That of the rules."""
        return Deck(rules.num_suits, rules.num_ranks)

    def pick(self, by_card: Tensor) -> Tensor:
        """Card planes [B, n * 52] -> a view of them, [suits, B, n, ranks]."""
        planes = by_card.unflatten(1, (-1, cards.NUM_SUITS, cards.NUM_RANKS))
        return planes[:, :, : self.suits, : self.ranks].permute(2, 0, 1, 3)

    def spread(self, by_suit: Tensor) -> Tensor:
        """[suits, B, n, ranks] -> [B, n * 52], 0 for cards that the deck has not."""
        planes = by_suit.permute(1, 2, 0, 3)
        lacking = (0, cards.NUM_RANKS - self.ranks, 0, cards.NUM_SUITS - self.suits)
        return functional.pad(planes, lacking).flatten(1)


FULL = Deck()


class Features(NamedTuple):
    """What was seen as the networks take it. They compute in its dtype."""

    suits: Tensor
    """The cards suit by suit, float [suits, B, PLANES * ranks]."""
    mean: Tensor
    """Their mean over suits, float [B, PLANES * ranks]."""
    scalars: Tensor
    """Flags and scaled numbers, float [B, SCALARS]."""


def features(
    observations: Tensor, dtype: torch.dtype = torch.float32, deck: Deck = FULL
) -> Features:
    """uint8 [B, prospects.SIZE] -> what both networks read, computed once for both."""
    size = (deck.suits, len(observations), PLANES, deck.ranks)
    suits = torch.empty(size, dtype=dtype, device=observations.device)
    # Planes and ranks of a suit side by side, suits apart.
    for part, at in ((slice(_BITS_END), 0), (_DEADWOOD_AFTER, _BITS), (_PROSPECTS, _BITS + 1)):
        planes = deck.pick(observations[:, part])
        suits[:, :, at : at + planes.shape[2]] = planes
    suits[:, :, _BITS:] *= _PER_PLANE.to(observations.device, dtype)
    ends = (
        observations[:, _BITS_END : _DEADWOOD_AFTER.start],
        observations[:, _DEADWOOD_AFTER.stop : _PROSPECTS.start],
        observations[:, _PROSPECTS.stop :],
    )
    scalars = torch.cat(ends, dim=1).float() @ _NUMBERS.to(observations.device)
    flat = suits.flatten(2)
    return Features(flat, _mean(flat), scalars.to(dtype))


_PER_PLANE = torch.tensor([[1 / scale] for scale in _PLANE_SCALES.values()])


def _sum(suits: Tensor) -> Tensor:
    """Over the first, short axis: additions, which are quicker than torch's own sum."""
    total, *others = suits.unbind(0)
    for other in others:
        total = total + other
    return total


def _mean(suits: Tensor) -> Tensor:
    return _sum(suits) * (1 / len(suits))


class _Mix(torch.autograd.Function):
    """relu(within x + across mean + common), where mean is that of x over suits.

    x [suits, B, n], mean [B, n], common [B, m], within, across [m, n] -> [suits, B, m]. The same as
    written with torch's own operations, in six tenths of their time: sums go into the products,
    and what flows back through the mean is added to x's gradient there.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mean: Tensor, common: Tensor, within: Tensor, across: Tensor
    ) -> Tensor:
        start = torch.addmm(common, mean, across.t())
        out = torch.baddbmm(start.expand(len(x), -1, -1), x, _each(within.t(), x)).relu_()
        ctx.save_for_backward(x, mean, within, across, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, mean, within, across, out = ctx.saved_tensors
        gradient = torch.ops.aten.threshold_backward(gradients[0].contiguous(), out, 0)
        total = _sum(gradient)
        to_x = None
        if ctx.needs_input_grad[0]:
            to_mean = (total @ across) * (1 / len(x))
            to_x = torch.baddbmm(to_mean.expand(len(x), -1, -1), gradient, _each(within, x))
        to_within = gradient.flatten(0, 1).t() @ x.flatten(0, 1)
        return to_x, None, total, to_within, total.t() @ mean


def mix(x: Tensor, mean: Tensor, common: Tensor, within: Tensor, across: Tensor) -> Tensor:
    """See :class:`_Mix`."""
    out: Tensor = _Mix.apply(x, mean, common, within, across)
    return out


def _each(weights: Tensor, x: Tensor) -> Tensor:
    """The same weights for each suit."""
    return weights.expand(len(x), -1, -1)


class SuitNetwork(nn.Module):
    """Cards by suit and single numbers in, numbers per card and single numbers out."""

    def __init__(
        self, config: NetworkConfig, deck: Deck, planes: int, per_card: int, single: int
    ) -> None:
        super().__init__()
        width = config.width
        self.deck = deck
        self.own = nn.Linear(planes * deck.ranks, width, bias=False)
        self.others = nn.Linear(planes * deck.ranks, width, bias=False)
        self.scalars = nn.Linear(SCALARS, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.layers))
        self.within = nn.ModuleList(nn.Linear(width, width) for _ in range(config.layers))
        self.across = nn.ModuleList(
            nn.Linear(width, width, bias=False) for _ in range(config.layers)
        )
        self.last_norm = nn.LayerNorm(width)
        # The norms' own weights go into those of the products behind them, as they are far fewer
        # than what they would be multiplied with. (Also, torch adds up their gradients in bfloat16,
        # where most of the sum is lost.)
        self.ones: Tensor
        self.zeros: Tensor
        self.register_buffer("ones", torch.ones(width), persistent=False)
        self.register_buffer("zeros", torch.zeros(width), persistent=False)
        self.card_head = nn.Linear(width, per_card * deck.ranks) if per_card else None
        self.single_head = nn.Linear(width, single)

    def forward(self, suits: Tensor, mean: Tensor, scalars: Tensor) -> tuple[Tensor | None, Tensor]:
        """suits [suits, B, planes * ranks], mean [B, planes * ranks], scalars [B, SCALARS].

        Those per card, [B, per_card * 52], in the order of card ids, one kind after another, None
        without any; and single ones, [B, single]. All in the dtype of the input.
        """
        dtype, lanes = suits.dtype, len(mean)
        common = _linear(scalars, self.scalars.weight, self.scalars.bias)
        own, others = self.own.weight.to(dtype), self.others.weight.to(dtype)
        hidden = mix(suits, mean, common, own, others)
        layer: Any
        for layer in zip(self.norms, self.within, self.across, strict=True):
            norm, within, across = layer
            x = self._normed(hidden)
            bias = within.bias + (within.weight + across.weight) @ norm.bias
            weights = (
                (within.weight * norm.weight).to(dtype),
                (across.weight * norm.weight).to(dtype),
            )
            with torch.no_grad():
                average = _mean(x)
            hidden = hidden + mix(x, average, bias.to(dtype).expand(lanes, -1), *weights)
        x = self._normed(hidden)
        single = _normed_linear(_mean(x), self.last_norm, self.single_head)
        if self.card_head is None:
            return None, single
        per_card = _normed_linear(x, self.last_norm, self.card_head)
        return self.deck.spread(per_card.unflatten(2, (-1, self.deck.ranks))), single

    def _normed(self, hidden: Tensor) -> Tensor:
        """Of mean 0 and variance 1, without the norms' own weights."""
        return functional.layer_norm(hidden, self.ones.shape, self.ones, self.zeros)


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """In the dtype of x."""
    return functional.linear(x, weight.to(x.dtype), bias.to(x.dtype))


def _normed_linear(x: Tensor, norm: nn.LayerNorm, layer: nn.Linear) -> Tensor:
    """The layer on what the norm's weights make of x."""
    return _linear(x, layer.weight * norm.weight, layer.bias + layer.weight @ norm.bias)


class _Weighed(torch.autograd.Function):
    """Sums over planes: weights [B, k, planes], planes [s, B, planes, r] -> [s, B, k, r].

    By hand, as torch's own gradient copies the planes several times over.
    """

    @staticmethod
    def forward(ctx: Any, weights: Tensor, planes: Tensor) -> Tensor:
        ctx.save_for_backward(planes)
        return torch.stack([torch.bmm(weights, suit) for suit in planes])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (planes,) = ctx.saved_tensors
        # Contiguous: else each hand's product is made on its own, a hundred times as slowly.
        gradient = gradients[0].contiguous()
        parts = [
            torch.bmm(part, suit.transpose(1, 2))
            for part, suit in zip(gradient, planes, strict=True)
        ]
        return _sum(torch.stack(parts)), None


class Actor(nn.Module):
    """Features -> logits of the 108 actions, and of where the unseen cards are.

    Starts uniform: its heads start at zero.
    """

    def __init__(self, config: NetworkConfig, deck: Deck = FULL) -> None:
        super().__init__()
        self.deck = deck
        others = actions.NUM_ACTIONS - actions.STOCK
        # Beside them what each plane counts for a discard and for a knock in this hand.
        self.body = SuitNetwork(config, deck, PLANES, per_card=3, single=others + 2 * PLANES)
        assert self.body.card_head is not None
        for head in (self.body.card_head, self.body.single_head):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def forward(self, seen: Features) -> tuple[Tensor, Tensor]:
        """float32 [B, 108], not masked; float32 [B, 52]: that the other hand holds the card."""
        per_card, single = self.body(*seen)
        others, counts = single.split([actions.NUM_ACTIONS - actions.STOCK, 2 * PLANES], dim=1)
        planes = seen.suits.unflatten(2, (PLANES, self.deck.ranks))
        direct = self.deck.spread(_Weighed.apply(counts.unflatten(1, (2, PLANES)), planes))
        logits = torch.cat([per_card[:, : actions.STOCK] + direct, others], dim=1)
        return logits.float(), per_card[:, actions.STOCK :].float()


class Critic(nn.Module):
    """Features and the hidden hand -> value in reward units, for training only."""

    def __init__(self, config: NetworkConfig, deck: Deck = FULL) -> None:
        super().__init__()
        self.deck = deck
        self.body = SuitNetwork(config, deck, PLANES + 1, per_card=0, single=1)

    def forward(self, seen: Features, hidden_hands: Tensor) -> Tensor:
        """hidden_hands uint8 [B, 52] -> float32 [B], from the mover's view."""
        hands = self.deck.pick(hidden_hands).squeeze(2).to(seen.suits.dtype)
        suits = torch.cat([seen.suits, hands], dim=2)
        mean = torch.cat([seen.mean, _mean(hands)], dim=1)
        _, value = self.body(suits, mean, seen.scalars)
        return value.float().squeeze(1)


def masked_log_probs(logits: Tensor, masks: Tensor) -> Tensor:
    """Log probabilities over the legal actions; a large negative number at the others.

    Finite everywhere, so that entropies and divergences never meet 0 x infinity.
    """
    # An addition: masked_fill takes several times as long.
    return torch.log_softmax(torch.add(logits, masks.to(torch.int8) - 1, alpha=1e9), dim=1)
