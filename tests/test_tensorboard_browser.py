"""The tab in a real browser: it plays, scrubs and follows links, and shows what the record says.

Needs Chromium (Debian's package, or $CHROMIUM) and Playwright; skipped without them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from ginenv import cards, melds
from ginenv.tensorboard import summary
from tests.logs import MARKUP, recorded, states
from tests.test_tensorboard_plugin import write_text

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FIT = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here"),
    pytest.mark.skipif(
        not [
            p for p in metadata.entry_points(group="tensorboard_plugins") if p.name == "gin_rummy"
        ],
        reason="the package is not installed, so TensorBoard does not know the tab",
    ),
]
pytestmark = FIT
NAMES = (MARKUP, "bob")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    """The address of a TensorBoard with a small log, on loopback."""
    with summary.log(folder / "good") as writer:
        summary.add_game(writer, "vs_bob", recorded(names=NAMES), 1000)
        summary.add_game(writer, "vs_bob", recorded(seed=3, names=NAMES), 2000)
        summary.add_game(writer, "hollywood", recorded("hollywood"), 7)
        summary.add_game(writer, "partners", recorded("partnership"), 7)
    with summary.log(folder / "bad") as writer:
        text = json.dumps(recorded())
        write_text(writer, "game/cut", text[:1000], 1)
        write_text(writer, "game/newer", text.replace("ginenv-game/1", "ginenv-game/9"), 1)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", "0", "--reload_interval", "1"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"at (http://127\.0\.0\.1:\d+)/", line):
                yield found[1]
                break
        else:
            pytest.fail("TensorBoard did not start")
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Tab:
    """The page of the tab, in TensorBoard's frame."""

    def __init__(self, browser: Any, address: str, width: int = 1440, **link: object) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.troubles: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", self._note)
        self.address = address
        self.go(**link)

    def _note(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.troubles.append(f"asks for {request.url}")

    def go(self, **link: object) -> None:
        parts = [f"p.gin_rummy.{k}={urllib.parse.quote(str(v), '')}" for k, v in link.items()]
        self.open("#" + "&".join(["gin_rummy", *parts]))

    def open(self, place: str) -> None:
        self.page.goto("about:blank")  # else only the hash would change
        self.page.goto(f"{self.address}/{place}")
        self.frame = self.page.frame_locator("iframe")
        self.frame.locator("main:not([hidden]), .notice:not([hidden])").first.wait_for()

    def text(self, selector: str) -> str:
        return str(self.frame.locator(selector).first.inner_text())

    def all(self, selector: str, attribute: str = "data-card") -> list[str]:
        script = f"(every) => every.map((one) => one.getAttribute({attribute!r}))"
        return list(self.frame.locator(selector).evaluate_all(script))

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    @property
    def move(self) -> int:
        return int(self.text("#count").split()[1])

    def wait_for_move(self, least: int) -> None:
        self.frame.locator("body").evaluate(
            """(body, least) => new Promise((done, fail) => {
                const late = setTimeout(() => fail(new Error('no move ' + least)), 15000);
                const look = () => Number(body.querySelector('#count').textContent.split(' ')[1])
                    >= least ? (clearTimeout(late), done()) : setTimeout(look, 20);
                look();
            })""",
            least,
        )


@pytest.fixture
def tab(browser: Any, served: str) -> Iterator[Tab]:
    made = Tab(browser, served, run="good", tag="game/vs_bob", step=1000)
    yield made
    assert made.troubles == []
    made.page.close()


def test_every_move_is_shown_as_the_record_has_it(tab: Tab) -> None:
    made = recorded(names=NAMES)
    entry = made["hands"][0]
    _, positions = states(made, 0)
    words = entry["actions"].split(", ")
    for at, state in enumerate(positions):
        assert tab.text("#count") == f"move {at} of {len(words)}"
        for seat in (0, 1):
            hand = tab.all(f'[data-seat="{seat}"].player .card')
            assert cards.parse(hand) == state.hands[0, seat]
            if at < len(words):
                least = melds.deadwood(state.hands[:1, seat])[0]
                said = tab.text(f'[data-seat="{seat}"].player .count')
                assert said.split(",")[0] == f"deadwood {least}"
        assert tab.all(".pile .card[data-card]") == [
            cards.name(card) for card in state.pile[0, : state.pile_size[0]].tolist()
        ]
        assert tab.text(".stock small") == f"stock {state.stock_left[0]}"
        assert tab.text(".limit dd") == str(state.knock_limit[0])
        check_marks(tab, words[at - 1] if at else "", state)
        check_thought(tab, entry["policy"][at] if at < len(words) else None, words[at:])
        tab.press("ArrowRight")
    assert tab.text("#hands").startswith("hand 2 of")
    tab.press("ArrowLeft")
    check_end(tab, entry)


def check_marks(tab: Tab, word: str, state: Any) -> None:
    marked = dict(zip(tab.all(".card.marked"), tab.all(".card.marked", "data-mark"), strict=True))
    what, _, card = word.partition(" ")
    drawn = cards.name(int(state.drawn[0])) if what in ("stock", "take") else ""
    expected = {
        "stock": {drawn: "drawn"}, "take": {drawn: "taken"}, "discard": {card: "thrown"},
        "knock": {card: "thrown"},
    }  # fmt: skip
    assert marked == expected.get(what, {})


def check_thought(tab: Tab, thought: dict[str, Any] | None, words: list[str]) -> None:
    shown = tab.all(".bars tr", "data-action")
    if thought is None:
        assert shown == []
        return
    assert shown == [pair[0] for pair in thought["top"]]
    assert tab.all(".bars .played", "data-action") == words[:1]
    chances = [f"{round(100 * pair[1])} %" for pair in thought["top"]]
    assert tab.frame.locator(".bars .number").all_inner_texts() == chances
    sign = "−" if thought["value"] < 0 else "+"  # noqa: RUF001
    assert tab.text(".worth .points") == f"{sign}{abs(thought['value']):.1f}"


def check_end(tab: Tab, entry: dict[str, Any]) -> None:
    result = entry["result"]
    assert f"scores {result['points']}" in tab.text(".ending .why")
    for seat in (0, 1):
        side = tab.frame.locator(f'.laid[data-seat="{seat}"]')
        assert f"deadwood {result['deadwood'][seat]}" in side.inner_text()
        melded = tab.all(f'.player[data-seat="{seat}"] .group.meld .card')
        assert cards.parse(melded) == cards.parse(" ".join(result["melds"][seat]))
    assert tab.all(".player .group.off .card") == result["layoffs"]


def test_the_score_sheet_goes_from_hand_to_hand(tab: Tab) -> None:
    made = recorded(names=NAMES)
    rows = tab.frame.locator(".scores tbody tr")
    assert rows.count() == len(made["hands"])
    for row, entry in zip(rows.all_inner_texts(), made["hands"], strict=True):
        assert "–".join(map(str, entry["scores"])) in row  # noqa: RUF001
    assert "–".join(map(str, made["final"])) in tab.text(".scores tfoot")  # noqa: RUF001
    tab.frame.get_by_title("Go to hand 3").click()
    assert tab.text("#hands") == f"hand 3 of {len(made['hands'])}"
    tab.press("PageUp")
    assert tab.text("#hands").startswith("hand 2 of")
    tab.press("PageDown")
    tab.press("PageDown")
    assert tab.text("#hands").startswith("hand 4 of")


def test_it_plays_and_pauses(tab: Tab) -> None:
    tab.frame.locator("#speed").select_option("8")
    tab.frame.locator("#play").focus()
    tab.press("ArrowRight")
    assert tab.move == 1
    tab.frame.locator("#play").press("Space")
    tab.wait_for_move(4)
    assert "Pause" in tab.text("#play")
    tab.frame.locator("#play").click()
    stopped = tab.move
    tab.page.wait_for_timeout(500)
    assert tab.move == stopped
    tab.press("Space")  # after a click the key is the game's
    tab.wait_for_move(stopped + 2)
    tab.press("Space")
    assert "Play" in tab.text("#play")
    tab.press("End")
    tab.press("Home")
    assert tab.move == 0


def test_the_slider_and_the_curve_lead_to_a_move(tab: Tab) -> None:
    moves = len(recorded(names=NAMES)["hands"][0]["actions"].split(", "))
    slider = tab.frame.locator("#scrub")
    box = slider.bounding_box()
    slider.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    assert abs(tab.move - moves / 2) <= 1
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert abs(tab.move - moves / 2 - 2) <= 1
    curve = tab.frame.locator(".curve")
    box = curve.bounding_box()
    curve.click(position={"x": box["width"] - 14, "y": 20})
    assert tab.move == moves
    curve.click(position={"x": 36, "y": 20})
    assert tab.move == 0


def test_a_link_leads_to_run_tag_step_and_move(tab: Tab, browser: Any, served: str) -> None:
    tab.go(run="good", tag="game/vs_bob", step=2000, hand=2, move=5)
    assert (tab.move, tab.text("#hands").split(" of ")[0]) == (5, "hand 2")
    _, positions = states(recorded(seed=3, names=NAMES), 1)
    assert cards.parse(tab.all('[data-seat="0"].player .card')) == positions[5].hands[0, 0]
    tab.page.evaluate("location.hash = location.hash.replace('move=5', 'move=7')")
    tab.wait_for_move(7)
    tab.press("ArrowLeft")
    tab.press("v")
    tab.page.wait_for_function("location.hash.includes('move=6') && location.hash.includes('view')")
    other = Tab(browser, served)
    other.open(tab.page.url.split("/", 3)[3])
    assert (other.move, other.text("#hands").split(" of ")[0]) == (6, "hand 2")
    for name in ("run", "tag", "step", "view"):
        box = f"#{name}"
        assert other.frame.locator(box).input_value() == tab.frame.locator(box).input_value()
    other.page.close()


def test_an_address_asked_for_just_after_a_move_is_not_written_over(tab: Tab) -> None:
    held: list[Any] = []
    tab.page.route("**/tags", lambda route: held.append(route))
    tab.press("ArrowRight")  # the address of this move is written after a moment
    tab.page.evaluate("location.hash += '&p.gin_rummy.move=7'")
    tab.page.wait_for_timeout(500)
    held.pop().continue_()
    tab.wait_for_move(7)


def test_what_a_player_did_not_know_is_hidden(tab: Tab) -> None:
    made = recorded(names=NAMES)
    _, positions = states(made, 0)
    words = made["hands"][0]["actions"].split(", ")
    tab.press("v")
    assert tab.frame.locator("#view").input_value() == "0"
    for at, state in enumerate(positions[:-1]):
        other = tab.frame.locator('.player[data-seat="1"]')
        known = [cards.name(c) for c in cards.to_ids(state.hands[0, 1] & state.seen[0])]
        assert sorted(tab.all('[data-seat="1"].player .card[data-card]')) == sorted(known)
        assert other.locator(".card").count() == len(cards.to_ids(state.hands[0, 1]))
        assert "deadwood" not in other.inner_text()
        assert tab.frame.locator(".worth, .values, .curve .far").count() == 0
        if state.mover[0] == 1:
            assert tab.frame.locator(".bars").count() == 0
            if at and words[at - 1] == "stock":
                assert tab.text(".said") == "bob draws from the stock."
        assert tab.text(".scores tbody tr").split() == ["1"]
        tab.press("ArrowRight")
    check_end(tab, made["hands"][0])


def test_names_are_shown_as_they_are(tab: Tab) -> None:
    assert tab.text('[data-seat="0"] h2') == MARKUP
    assert MARKUP in tab.text(".scores .order")
    assert tab.frame.locator("img").count() == 0
    assert tab.frame.locator("body").evaluate("() => window.broken") is None


@pytest.mark.parametrize(
    ("tag", "told"), [("game/cut", "not a line of JSON"), ("game/newer", "'ginenv-game/9'")]
)
def test_a_damaged_record_is_one_line_and_breaks_nothing(tab: Tab, tag: str, told: str) -> None:
    tab.go(run="bad", tag=tag)
    notice = tab.text(".notice")
    assert told in notice
    assert "\n" not in notice
    assert not tab.frame.locator("main").is_visible()
    tab.press("ArrowRight")
    tab.press("Space")
    tab.frame.locator("#run").select_option("good")
    tab.frame.locator("main").wait_for()
    assert not tab.frame.locator(".notice").is_visible()
    tab.press("Tab")
    tab.frame.locator("#copy").focus()
    tab.press("ArrowRight")
    assert tab.move == 1


@pytest.mark.parametrize("width", [1000, 1440, 1920])
@pytest.mark.parametrize("tag", ["game/vs_bob", "game/hollywood", "game/partners"])
def test_it_fits_the_window(browser: Any, served: str, width: int, tag: str) -> None:
    tab = Tab(browser, served, width, run="good", tag=tag, move=12)
    inside = "(body) => document.documentElement.scrollWidth <= innerWidth"
    for _ in range(20):
        assert tab.frame.locator("body").evaluate(inside)
        tab.press("ArrowRight")
    wide = tab.frame.locator(".felt").evaluate(
        "(felt) => [...felt.querySelectorAll('.card')].every((card) =>"
        " card.getBoundingClientRect().right <= felt.getBoundingClientRect().right)"
    )
    assert wide
    assert tab.troubles == []
    tab.page.close()


def test_new_games_come_with_tensorboards_reload(tab: Tab, folder: Path) -> None:
    tab.press("End")
    move = tab.move
    with summary.log(folder / "later") as writer:
        summary.add_game(writer, "new", recorded(names=NAMES), 5)
    for _ in range(20):
        tab.page.locator("app-header-reload button").click()
        tab.page.wait_for_timeout(500)
        if "later" in tab.all("#run option", "value"):
            break
    assert tab.all("#run option", "value") == ["bad", "good", "later"]
    assert tab.move == move
    tab.frame.locator("#run").select_option("later")
    tab.frame.locator("#tag").get_by_text("game/new").wait_for(state="attached")
    assert tab.move == 0


def test_it_follows_light_and_dark(browser: Any, served: str) -> None:
    page = Tab(browser, served)
    colours = []
    for dark in ("true", "false"):
        page.open(f"?darkMode={dark}#gin_rummy")
        body = page.frame.locator("body")
        colours.append(body.evaluate("(body) => getComputedStyle(body).backgroundColor"))
    darker, lighter = (int(re.findall(r"\d+", colour)[0]) for colour in colours)
    assert darker < 80 < 200 < lighter
    page.page.close()
