"""The rules of a hand and of a game as data: one frozen dataclass, checked when it is made.

``Rules()`` is the classic game. ``preset("oklahoma", knock_limit=8)`` starts from a named variant
and changes fields. Every variant is a field here; nothing else in the package asks for a name.
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any, Literal

MAX_BONUS = 1_000


class RulesError(ValueError):
    """A rule field that is unknown, out of range, or at odds with another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules, hand by hand and of the game.

    Raises :class:`RulesError`, naming the field and what would be right, for a value out of its
    range and for a combination that makes no sense.
    """

    # A hand.
    knock_limit: int = 10
    """Most deadwood to knock with, 0..10; 0 is straight gin (gin only)."""
    oklahoma: bool = False
    """The upcard's points are the hand's knock limit, never above ``knock_limit``."""
    spade_upcard_doubles: bool = False
    """A spade as upcard doubles all that the hand scores (not the boxes)."""
    spade_knock_doubles: bool = False
    """A spade on top of the face-up pile at the knock, gin or big gin doubles the same.

    The knock's own discard lies face down and is not looked at; a card taken this turn has left
    the pile; an empty pile doubles nothing.
    """
    gin_bonus: int = 25
    big_gin_bonus: int | None = None
    """None: big gin is not played. 31 is CardCouch's figure."""
    undercut_bonus: int = 25
    first_upcard: Literal["offer", "open"] = "offer"
    """offer: non-dealer, then dealer may take the upcard or pass, and after two passes the
    non-dealer draws from the stock. open: the non-dealer takes it or draws from the stock."""
    stock_floor: int = 2
    """A discard that leaves this many cards in the stock (or fewer) ends the hand dead."""
    last_discard: Literal["dead", "may_knock"] = "dead"
    """may_knock: before the hand is dead, the other player may take that discard if he can end
    the hand with it (the tournaments' fiftieth-card rule)."""
    tie: Literal["undercut", "draw"] = "undercut"
    """Equal deadwood after a knock: an undercut, or nobody scores."""
    oklahoma_ace: int = 0
    """The knock limit that an ace as upcard sets: 0 (gin only) or 1."""
    turn_limit: int = 100
    """Discards without a knock after which the hand is dead. A safety rule of this engine."""
    num_ranks: int = 13
    num_suits: int = 4
    hand_size: int = 10

    # A game and a match.
    target: int = 100
    game_bonus: int = 100
    shutout_bonus: int = 100
    """Added to the game bonus if the loser scored no point."""
    box_bonus: int = 20
    first_dealer: int | Literal["cut"] = "cut"
    """cut: each player with equal chance; or a player's number. For single hands too."""
    next_dealer: Literal["loser", "alternate"] = "loser"
    dead_hand_dealer: Literal["same", "alternate"] = "same"
    score_sheet: Literal["single", "hollywood"] = "single"
    best_of: int = 1
    seating: Literal["heads_up", "cutthroat", "partnership"] = "heads_up"
    partners_bonus: int = 25
    """Partnership: added to a round in which both partners won their hands."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name))
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise RulesError(f"{name}={value}: must be {low} to {high}")
        if self.best_of % 2 == 0:
            raise RulesError(f"best_of={self.best_of}: must be odd, 1 to 9")
        if self.deck_size < 2 * self.hand_size + 2:
            raise RulesError(
                f"hand_size={self.hand_size}: a deck of {self.num_ranks} ranks and "
                f"{self.num_suits} suits has {self.deck_size} cards, and needs at least "
                f"2 x hand_size + 2 = {2 * self.hand_size + 2}"
            )
        if not 0 <= self.stock_floor < self.stock_size:
            raise RulesError(
                f"stock_floor={self.stock_floor}: must be 0 to {self.stock_size - 1}, "
                f"one less than the {self.stock_size} cards of the stock at the deal"
            )
        if self.first_dealer != "cut" and not 0 <= self.first_dealer < self.num_players:
            raise RulesError(
                f"first_dealer={self.first_dealer}: must be 'cut' or a player's number, "
                f"0 to {self.num_players - 1}"
            )
        if self.score_sheet == "hollywood" and self.seating != "heads_up":
            raise RulesError(
                f"score_sheet='hollywood' cannot be played with seating={self.seating!r}: "
                "it needs seating='heads_up'"
            )
        if self.partners_bonus != 25 and self.seating != "partnership":
            raise RulesError(
                f"partners_bonus={self.partners_bonus} needs seating='partnership', "
                f"not {self.seating!r}"
            )

    @property
    def deck_size(self) -> int:
        """Cards in the deck."""
        return self.num_ranks * self.num_suits

    @property
    def stock_size(self) -> int:
        """Cards in the stock when the hands and the upcard are dealt."""
        return self.deck_size - 2 * self.hand_size - 1

    @property
    def num_players(self) -> int:
        """Players at the table, 2 to 4."""
        return {"heads_up": 2, "cutthroat": 3, "partnership": 4}[self.seating]

    @property
    def num_sides(self) -> int:
        """Those with a total of their own: players, in partnership pairs."""
        return 3 if self.seating == "cutthroat" else 2

    @property
    def num_tables(self) -> int:
        """Hands played at once."""
        return 2 if self.seating == "partnership" else 1

    @property
    def num_columns(self) -> int:
        """Columns of the score sheet."""
        return 3 if self.score_sheet == "hollywood" else 1

    @property
    def games_to_win(self) -> int:
        """Games that win a match."""
        return (self.best_of + 1) // 2

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, as recorded games hold them."""
        return dataclasses.asdict(self)


FIELDS = tuple(field.name for field in dataclasses.fields(Rules))
DECK_FIELDS = ("num_ranks", "num_suits", "hand_size")
HAND_FIELDS = FIELDS[: FIELDS.index("target")]
"""The fields that decide a hand; those after them decide games."""

_RANGES: dict[str, tuple[int, int]] = {
    "knock_limit": (0, 10),
    "gin_bonus": (0, MAX_BONUS),
    "big_gin_bonus": (0, MAX_BONUS),
    "undercut_bonus": (0, MAX_BONUS),
    "game_bonus": (0, MAX_BONUS),
    "shutout_bonus": (0, MAX_BONUS),
    "box_bonus": (0, MAX_BONUS),
    "partners_bonus": (0, MAX_BONUS),
    "oklahoma_ace": (0, 1),
    "turn_limit": (1, 200),
    "num_ranks": (3, 13),
    "num_suits": (1, 4),
    "hand_size": (3, 10),
    "target": (1, 10_000),
    "best_of": (1, 9),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "first_upcard": ("offer", "open"),
    "last_discard": ("dead", "may_knock"),
    "tie": ("undercut", "draw"),
    "next_dealer": ("loser", "alternate"),
    "dead_hand_dealer": ("same", "alternate"),
    "score_sheet": ("single", "hollywood"),
    "seating": ("heads_up", "cutthroat", "partnership"),
}
_BOOLS = ("oklahoma", "spade_upcard_doubles", "spade_knock_doubles")


def _check_type(name: str, value: object) -> None:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            choices = " or ".join(repr(choice) for choice in _CHOICES[name])
            raise RulesError(f"{name}={value!r}: must be {choices}")
    elif name in _BOOLS:
        if not isinstance(value, bool):
            raise RulesError(f"{name}={value!r}: must be True or False")
    elif isinstance(value, bool) or not isinstance(value, int):
        if name == "first_dealer" and value == "cut":
            return
        if name == "big_gin_bonus" and value is None:
            return
        extra = {"first_dealer": " or 'cut'", "big_gin_bonus": " or None"}.get(name, "")
        raise RulesError(f"{name}={value!r}: must be a whole number{extra}")


PRESETS: dict[str, dict[str, Any]] = {
    "classic": {},
    "cardcouch": {
        "first_upcard": "open",
        "box_bonus": 25,
        "shutout_bonus": 0,
        "dead_hand_dealer": "alternate",
        "first_dealer": 1,
    },
    "oklahoma": {"oklahoma": True, "spade_upcard_doubles": True},
    "straight": {"knock_limit": 0},
    "hollywood": {"score_sheet": "hollywood"},
    "cutthroat": {"seating": "cutthroat"},
    "partnership": {"seating": "partnership", "target": 125},
    # Urban variants without a written authority: this project's reading.
    "manhattan": {"undercut_bonus": 20, "box_bonus": 25, "big_gin_bonus": 31, "target": 150},
    "chicago": {"oklahoma": True, "undercut_bonus": 10, "target": 250},
    "big_gin": {"big_gin_bonus": 31},
}
"""What each named variant changes from the defaults."""


def preset(name: str = "classic", **fields: Any) -> Rules:
    """The rules of a named variant, changed field by field.

    Raises :class:`RulesError` for an unknown name or field, naming the nearest one there is.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise RulesError(f"rules={name!r}: there is no such preset{_nearest(name, PRESETS)}")
    return from_dict({**PRESETS[name], **fields})


def from_dict(fields: dict[str, Any]) -> Rules:
    """Rules from fields by name; those that are missing take their defaults."""
    for field in fields:
        if field not in FIELDS:
            raise RulesError(f"{field}: there is no such rule{_nearest(field, FIELDS)}")
    return Rules(**fields)


def _nearest(name: str, names: Any) -> str:
    near = difflib.get_close_matches(str(name), list(names), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{hint} (there are {', '.join(names)})"
