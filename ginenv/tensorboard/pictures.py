"""A hand as an animated GIF, a picture a turn, for TensorBoard's Images.

Suits are drawn, since the font that comes with Pillow has none.
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 520, 330
TURN_MS, END_MS = 1000, 6000
"""How long a picture stands, and the last one."""
_CARD = (44, 62)
_FINE = 4
"""Cards are drawn so much larger and made smaller: edges become smooth."""
_MARGIN, _GAP, _STEP = 12, 10, 20
_ROWS = (8, 226)
"""Where the two hands begin, y of their names."""
_PILE_Y = 138
_FELT, _TEXT, _QUIET, _MARK = (38, 94, 72), (246, 250, 247), (190, 216, 203), (255, 207, 92)
_FACE, _EDGE, _BACK = (253, 253, 251), (150, 156, 162), (53, 88, 143)
# Four colours, which differ in brightness too.
_INK = {"c": (0, 112, 79), "d": (10, 95, 180), "h": (196, 58, 5), "s": (20, 24, 29)}
_COLOURS = 64


def moving(game: dict[str, Any], number: int) -> tuple[int, int, bytes]:
    """A hand of :func:`ginenv.tensorboard.frames.expand`: width, height in pixels and the GIF."""
    hand = game["hands"][number]
    names = [game["players"][player] for player in hand["seats"]]
    turns = _turns(hand["frames"])
    pictures = [_picture(hand, names, frames) for frames in turns]
    pictures[-1] = _ended(pictures[-1], hand)
    # One palette for all, so that what stands still is the same in each picture.
    both = Image.new("RGB", (WIDTH, 2 * HEIGHT))
    both.paste(pictures[len(pictures) // 2], (0, 0))
    both.paste(pictures[-1], (0, HEIGHT))
    palette = both.quantize(_COLOURS)
    plain = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    file = io.BytesIO()
    plain[0].save(
        file,
        "GIF",
        save_all=True,
        append_images=plain[1:],
        duration=[TURN_MS] * (len(plain) - 1) + [END_MS],
        loop=0,
    )
    return WIDTH, HEIGHT, file.getvalue()


def _turns(frames: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Positions turn by turn: a draw goes with the discard that follows."""
    turns: list[list[dict[str, Any]]] = [[]]
    for frame in frames:
        turns[-1].append(frame)
        if frame["drawn"] is None:
            turns.append([])
    return [turn for turn in turns if turn]


def _picture(hand: dict[str, Any], names: list[str], turn: list[dict[str, Any]]) -> Image.Image:
    image = Image.new("RGB", (WIDTH, HEIGHT), _FELT)
    draw = ImageDraw.Draw(image)
    frame = turn[-1]
    drawn = turn[-2]["drawn"] if len(turn) > 1 else None
    for seat, y in zip((1, 0), _ROWS, strict=True):
        held = frame["hands"][seat]
        dealer = " (dealer)" if hand["dealer"] == seat else ""
        draw.text((_MARGIN, y), _short(names[seat]) + dealer, _TEXT, _font(17))
        count = f"deadwood {held['points']}"
        draw.text((WIDTH - _MARGIN, y), count, _TEXT, _font(17), anchor="ra")
        _draw_hand(image, held, y + 24, drawn)
    _draw_pile(image, frame)
    draw.text((_MARGIN, _PILE_Y - 22), _done(turn, names), _TEXT, _font(16))
    return image


def _draw_hand(image: Image.Image, held: dict[str, Any], y: int, drawn: str | None) -> None:
    """Melds, deadwood and what was laid off, with gaps between them."""
    groups = [*held["melds"], held["rest"], held.get("laid_off", [])]
    groups = [group for group in groups if group]
    count = sum(map(len, groups))
    room = WIDTH - 2 * _MARGIN - _CARD[0] - _GAP * (len(groups) - 1)
    step = min(_CARD[0] + 2, room // max(count - 1, 1))
    x = _MARGIN
    for at, group in enumerate(groups):
        for card in group:
            image.paste(_card(card), (x, y))
            if card == drawn:
                _mark(image, x, y)
            x += step
        if at < len(held["melds"]):
            line = (x - step * len(group), y + _CARD[1] + 4, x - step + _CARD[0], y + _CARD[1] + 6)
            ImageDraw.Draw(image).rectangle(line, _MARK)
        x += _GAP


def _draw_pile(image: Image.Image, frame: dict[str, Any]) -> None:
    """The stock as one card with its count, and the pile in order."""
    draw = ImageDraw.Draw(image)
    right = _MARGIN + _CARD[0]
    draw.rounded_rectangle(
        (_MARGIN, _PILE_Y, right, _PILE_Y + _CARD[1]), 5, _BACK, outline=_FACE, width=2
    )
    middle = (_MARGIN + _CARD[0] // 2, _PILE_Y + _CARD[1] // 2)
    draw.text(middle, str(frame["stock"]), _TEXT, _font(17), anchor="mm")
    pile, x = frame["pile"], right + 2 * _GAP
    room = WIDTH - _MARGIN - _CARD[0] - x
    step = min(_STEP, room // max(len(pile) - 1, 1))
    for at, card in enumerate(pile):
        image.paste(_card(card), (x + at * step, _PILE_Y))
    last = frame["last"]
    if last is not None and last["what"] == "discard":
        _mark(image, x + (len(pile) - 1) * step, _PILE_Y)


def _mark(image: Image.Image, x: int, y: int) -> None:
    box = (x - 1, y - 1, x + _CARD[0], y + _CARD[1])
    ImageDraw.Draw(image).rounded_rectangle(box, 5, outline=_MARK, width=3)


def _ended(image: Image.Image, hand: dict[str, Any]) -> Image.Image:
    """The same with who scored what in place of the pile's line."""
    draw = ImageDraw.Draw(image)
    box = (0, _PILE_Y - 26, WIDTH, _PILE_Y - 3)
    draw.rectangle(box, _MARK)
    draw.text((_MARGIN, _PILE_Y - 22), _short(hand["ending"], 64), (30, 26, 8), _font(16))
    return image


def _done(turn: list[dict[str, Any]], names: list[str]) -> str:
    done = [frame["last"] for frame in turn if frame["last"]]
    if not done:
        return "dealt"
    # A card in the hand or on the pile is marked; the font has no suits to name it with.
    words = ", ".join(last["what"] for last in done)
    return f"{_short(names[done[-1]['seat']])}: {words}"


def _short(text: str, most: int = 28) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


@cache
def _card(card: str) -> Image.Image:
    """A card face up, RGB of the size _CARD, on the felt."""
    width, height = (_FINE * length for length in _CARD)
    image = Image.new("RGB", (width, height), _FELT)
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((0, 0, width - 1, height - 1), 5 * _FINE, _FACE, _EDGE, _FINE)
    rank, ink = "10" if card[0] == "T" else card[0], _INK[card[1]]
    draw.text((11 * _FINE, 13 * _FINE), rank, ink, _font(20 * _FINE), anchor="mm", stroke_width=1)
    _draw_suit(draw, card[1], 11 * _FINE, 32 * _FINE, 7 * _FINE)
    _draw_suit(draw, card[1], 29 * _FINE, 46 * _FINE, 11 * _FINE)
    return image.resize(_CARD, Image.Resampling.LANCZOS)


def _draw_suit(draw: ImageDraw.ImageDraw, suit: str, x: int, y: int, size: int) -> None:
    """A suit as a shape, ``size`` pixels from its middle to its edge."""
    ink = _INK[suit]

    def spot(dx: float, dy: float, radius: float) -> None:
        left, top, r = x + dx * size, y + dy * size, radius * size
        draw.ellipse((left - r, top - r, left + r, top + r), ink)

    def shape(*points: tuple[float, float]) -> None:
        draw.polygon([(x + dx * size, y + dy * size) for dx, dy in points], ink)

    if suit == "d":
        shape((0, -1), (0.75, 0), (0, 1), (-0.75, 0))
        return
    if suit == "h":
        spot(-0.43, -0.4, 0.47)
        spot(0.43, -0.4, 0.47)
        shape((-0.86, -0.2), (0, -0.4), (0.86, -0.2), (0, 0.95))
        return
    if suit == "s":
        spot(-0.43, 0.2, 0.45)
        spot(0.43, 0.2, 0.45)
        shape((-0.84, 0.05), (0, -1), (0.84, 0.05), (0, 0.4))
    else:
        spot(0, -0.5, 0.44)
        spot(-0.46, 0.16, 0.44)
        spot(0.46, 0.16, 0.44)
        spot(0, 0, 0.25)
    shape((0, 0), (0.35, 0.95), (-0.35, 0.95))
