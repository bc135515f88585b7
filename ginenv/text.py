"""Gin Rummy in words, for language models: text in, text out.

>>> import gymnasium, ginenv
>>> from ginenv.text import TextGinRummy
>>> env = TextGinRummy(gymnasium.make("ginenv/GinRummy-v0", opponent="random"))
>>> text, info = env.reset(seed=7)
>>> text.splitlines()[-1]
'Legal actions: take, pass'
>>> text, reward, terminated, truncated, info = env.step("pass")

What is no action, or not a legal one, is a ValueError whose text can be shown to the model as it
is; the game stays as it was, and the model may try again.
"""

from __future__ import annotations

import string
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from ginenv import actions
from ginenv.gym_env import NO_EPISODE, GinRummyEnv, Observation
from ginenv.rules import Rules

MAX_LENGTH = 5_000
"""No observation is longer."""

_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " \n"
_ACTION_CHARACTERS = string.ascii_letters + string.digits + " -"


class LegalText(spaces.Text):
    """Text(1, 16) of which ``sample()``, without a mask, draws a legal action in words."""

    words: tuple[str, ...] = ()
    """What is legal now; none before the first reset and after the end."""

    def __init__(self) -> None:
        super().__init__(16, charset=_ACTION_CHARACTERS)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A legal action, uniformly; after the end any text."""
        if mask is not None or probability is not None or not self.words:
            return super().sample(mask, probability)
        return self.words[self.np_random.integers(len(self.words))]


class TextGinRummy(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The environment ``ginenv/GinRummy-v0`` with words for observations and actions.

    An observation is the table as the player sees it, in games the score sheet, how the last hand
    ended, and the legal actions; that of a reset begins with the rules. An action is the words of
    one, as :func:`ginenv.actions.parse` reads them: ``"take"``, ``"discard 7s"``, ``"knock Qh"``.
    All else is the wrapped environment's. Raises ValueError around any other environment.
    """

    def __init__(self, env: gymnasium.Env[Observation, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        inner = env.unwrapped
        if not isinstance(inner, GinRummyEnv):
            raise ValueError(f"env={env}: must be a GinRummyEnv, in wrappers or without")
        self._inner = inner
        self.observation_space = spaces.Text(MAX_LENGTH, charset=_CHARACTERS)
        self.action_space = self._legal = LegalText()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """As the wrapped environment's; the text begins with the rules."""
        told, info = self.env.reset(seed=seed, options=options)
        rules = rules_text(self._inner.rules, self._inner.episode, info["player"])
        return f"{rules}\n\n{self._text(told, info)}", info

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """Play an action in words.

        Raises ValueError, naming the legal actions and leaving all as it was, for any other text;
        and ResetNeeded before the first reset and after the end.
        """
        if not self._legal.words:
            raise ResetNeeded(NO_EPISODE)
        try:
            number = actions.parse(action)
        except (ValueError, AttributeError):
            legal = ", ".join(self._legal.words)
            raise ValueError(f"{action!r} is not an action; legal: {legal}") from None
        told, reward, terminated, truncated, info = self.env.step(number)
        return self._text(told, info), reward, terminated, truncated, info

    def _text(self, told: Observation, info: dict[str, Any]) -> str:
        legal = told["action_mask"].nonzero()[0].tolist()
        self._legal.words = tuple(map(actions.format, legal))
        parts = [self._inner.text()]
        if legal and "result" in info:
            parts.insert(0, _last_hand(info["result"]))
        parts.append("Legal actions: " + (", ".join(self._legal.words) or "none, it is over"))
        return "\n\n".join(parts)


def _last_hand(result: dict[str, Any]) -> str:
    """How the last hand ended, in a line."""
    if result["winner"] is None:
        return f"The last hand: {result['kind']}, nobody scored."
    winner = result.get("seats", (0, 1))[result["winner"]]
    kind = result["kind"].replace("_", " ")
    return f"The last hand: player_{winner} scored {result['points']} ({kind})."


def rules_text(rules: Rules, episode: str, player: int) -> str:
    """The rules in a few lines, told to this player."""
    others = {
        "heads_up": "against one other",
        "cutthroat": "against two others; the dealer sits out of each hand",
        "partnership": f"with player_{(player + 2) % 4}, against the other two, at two tables",
    }[rules.seating]
    lines = [
        f"This is Gin Rummy. You are player_{player}, {others}.",
        "A card is its rank (A 2 3 4 5 6 7 8 9 T J Q K) and its suit (c d h s), as in Td. An ace "
        "is low and counts 1 point; T, J, Q and K count 10.",
        "Melds are 3 or 4 cards of one rank, or 3 or more of one suit in sequence. Deadwood is the "
        "points of the cards in no meld.",
        "In a turn you draw from the stock or take the top of the pile. Then you discard a card or "
        "knock by discarding it if that leaves no more deadwood than the knock limit. A card taken "
        "from the pile stays in the hand for that turn.",
        *_hand_rules(rules),
        _aim(rules, episode),
        "Write one of the legal actions as it is listed.",
    ]
    return "\n".join(lines)


def _hand_rules(rules: Rules) -> list[str]:
    upcard = {
        "offer": "At first each player in turn may take the upcard or pass it.",
        "open": "The first to play may take the upcard or draw from the stock.",
    }[rules.first_upcard]
    limit = f"The knock limit is {rules.knock_limit}."
    if rules.oklahoma:
        limit = (
            f"The knock limit is the points of the first upcard (of an ace {rules.oklahoma_ace}), "
            f"at most {rules.knock_limit}."
        )
    less, tie = ("no more", "") if rules.tie == "undercut" else ("less", " Equals score nothing.")
    last = {
        "dead": "",
        "may_knock": ", unless the other player takes that discard and ends the hand with it",
    }[rules.last_discard]
    big_gin = (
        "Big gin, all eleven cards in melds and nothing discarded, scores "
        f"{rules.big_gin_bonus} and the other's deadwood."
    )
    chosen = {
        upcard: True,
        limit: True,
        "After a knock the other player lays off what fits the knocker's melds, and the knocker "
        f"scores the difference in deadwood. If the other has {less}, he scores it himself, and "
        f"{rules.undercut_bonus} (undercut).{tie}": rules.knock_limit > 0,
        f"Gin, a knock that leaves no deadwood, scores {rules.gin_bonus} and the other's deadwood, "
        "without lay-offs.": True,
        big_gin: rules.big_gin_bonus is not None,
        "If the first upcard is a spade, the hand scores double.": rules.spade_upcard_doubles,
        "If the top of the pile is a spade at the knock, the hand scores double.": (
            rules.spade_knock_doubles
        ),
        f"A discard that leaves {rules.stock_floor} or fewer cards in the stock ends the hand "
        f"without a score{last}.": True,
    }
    return [line for line, holds in chosen.items() if holds]


def _aim(rules: Rules, episode: str) -> str:
    """What is played for."""
    pairs = rules.seating == "partnership"
    if episode == "hand":
        return f"You play {'one round of two hands' if pairs else 'one hand'}, for its points."
    sheet = "a total reaches"
    if rules.score_sheet == "hollywood":
        sheet = "all three columns of the sheet have reached"
    best_of = f" You play the best of {rules.best_of} games." if episode == "match" else ""
    return (
        f"You play {'rounds of two hands, entered together,' if pairs else 'hands'} until {sheet} "
        f"{rules.target}. Then the winner gets {rules.game_bonus} more "
        f"({rules.game_bonus + rules.shutout_bonus} if the loser has no point), and each side "
        f"{rules.box_bonus} for each {'round' if pairs else 'hand'} won.{best_of}"
    )
