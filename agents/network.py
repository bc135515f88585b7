"""The networks: suits alike, so that renaming suits renames the answer and changes nothing else.

They read :mod:`agents.features`. Each suit's cards go through the same weights; suits hear of one
another through their mean. So the 24 relabelings of suits need no data of their own. Suits are the
first axis of what is computed: adding them up is then quick.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from agents import other_hand
from agents.features import FULL, PLANES, SCALARS, Deck, Features, suit_mean, suit_sum
from agents.ppo_config import NetworkConfig
from ginenv import actions, cards


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
        total = suit_sum(gradient)
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
        self,
        config: NetworkConfig,
        deck: Deck,
        planes: int,
        per_card: int,
        single: int,
        scalars: int = SCALARS,
    ) -> None:
        super().__init__()
        width = config.width
        self.size = config
        self.deck = deck
        self.own = nn.Linear(planes * deck.ranks, width, bias=False)
        self.others = nn.Linear(planes * deck.ranks, width, bias=False)
        self.scalars = nn.Linear(scalars, width)
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
        """suits [suits, B, planes * ranks], mean [B, planes * ranks], scalars [B, scalars].

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
                average = suit_mean(x)
            hidden = hidden + mix(x, average, bias.to(dtype).expand(lanes, -1), *weights)
        x = self._normed(hidden)
        single = _normed_linear(suit_mean(x), self.last_norm, self.single_head)
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
        return suit_sum(torch.stack(parts)), None


class Belief(nn.Module):
    """Features -> what the other hand is believed to be; starts at even odds of all.

    Apart from the actor, whose network learns little of it beside its choices: of what can be known
    of an opponent's cards half (docs/LOG.md).
    """

    def __init__(self, config: NetworkConfig, deck: Deck = FULL) -> None:
        super().__init__()
        planes, limits = len(other_hand.PLANES), len(other_hand.LIMITS)
        self.body = SuitNetwork(config, deck, PLANES, per_card=planes, single=limits)
        _start_at_zero(self.body)

    def forward(self, seen: Features) -> Tensor:
        """Logits of what :mod:`agents.other_hand` says of a hand, float32 [B, other_hand.SIZE]."""
        per_card, single = self.body(*seen)
        return torch.cat([per_card, single], dim=1).float()


class Actor(nn.Module):
    """Features -> logits of the 108 actions, and what the other hand is believed to be.

    Starts uniform: its heads start at zero. With a :class:`Belief` it reads that too; without, it
    guesses beside its choices which unseen cards the other holds.
    """

    def __init__(
        self, config: NetworkConfig, deck: Deck = FULL, belief: NetworkConfig | None = None
    ) -> None:
        super().__init__()
        self.deck = deck
        self.belief = Belief(belief, deck) if belief else None
        self.planes = PLANES + (len(other_hand.PLANES) if belief else 0)
        others = actions.NUM_ACTIONS - actions.STOCK
        self.body = SuitNetwork(
            config,
            deck,
            self.planes,
            per_card=2 if belief else 3,
            # Beside them what each plane counts for a discard and for a knock in this hand.
            single=others + 2 * self.planes,
            scalars=SCALARS + (len(other_hand.LIMITS) if belief else 0),
        )
        _start_at_zero(self.body)

    def forward(self, seen: Features) -> tuple[Tensor, Tensor]:
        """float32 [B, 108], not masked; and logits of what :mod:`agents.other_hand` says of the
        other hand, float32 [B, other_hand.SIZE], without a belief only its first 52 ("holds")."""
        believed = None
        if self.belief is not None:
            believed = self.belief(seen)
            seen = self._told(seen, believed.detach())
        per_card, single = self.body(*seen)
        others, counts = single.split([actions.NUM_ACTIONS - actions.STOCK, 2 * self.planes], dim=1)
        planes = seen.suits.unflatten(2, (self.planes, self.deck.ranks))
        direct = self.deck.spread(_Weighed.apply(counts.unflatten(1, (2, self.planes)), planes))
        logits = torch.cat([per_card[:, : actions.STOCK] + direct, others], dim=1)
        if believed is None:
            believed = per_card[:, actions.STOCK :].float()
        return logits.float(), believed

    def _told(self, seen: Features, believed: Tensor) -> Features:
        """What was seen, with the chances that are believed in."""
        chances = believed.sigmoid().to(seen.suits.dtype)
        per_card, single = chances.tensor_split([len(other_hand.PLANES) * cards.NUM_CARDS], dim=1)
        planes = self.deck.pick(per_card).flatten(2)
        return Features(
            torch.cat([seen.suits, planes], dim=2),
            torch.cat([seen.mean, suit_mean(planes)], dim=1),
            torch.cat([seen.scalars, single], dim=1),
        )


def _start_at_zero(body: SuitNetwork) -> None:
    assert body.card_head is not None
    for head in (body.card_head, body.single_head):
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)


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
        mean = torch.cat([seen.mean, suit_mean(hands)], dim=1)
        _, value = self.body(suits, mean, seen.scalars)
        return value.float().squeeze(1)


def masked_log_probs(logits: Tensor, masks: Tensor) -> Tensor:
    """Log probabilities over the legal actions; a large negative number at the others.

    Finite everywhere, so that entropies and divergences never meet 0 x infinity.
    """
    # An addition: masked_fill takes several times as long.
    return torch.log_softmax(torch.add(logits, masks.to(torch.int8) - 1, alpha=1e9), dim=1)
