"""The figures of a run as tables, for the terminal and as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agents import arena
from agents.crossplay import CrossPlay
from agents.figures import LETTERS
from agents.intervals import rate_interval
from agents.ratings import ANCHOR
from ginenv.rules import Rules

Figures = dict[str, Any]


@dataclass(slots=True)
class Grid:
    """A table: headings of its columns of text and of numbers, and rows for both."""

    title: str
    names: list[str]
    numbers: list[str]
    rows: list[list[str]]
    wraps: bool = False
    """Whether numbers may be broken at spaces where the terminal is narrow."""

    def rich(self) -> Table:
        """For the terminal."""
        table = Table(box=SIMPLE_HEAD, title=self.title, collapse_padding=True)
        for heading in self.names:
            table.add_column(heading, overflow="fold", min_width=min(9, self._width))
        for heading in self.numbers:
            table.add_column(heading, justify="right", no_wrap=not self.wraps)
        for row in self.rows:
            table.add_row(*map(escape, row))
        return table

    def markdown(self) -> str:
        """The same for a page."""

        def plain(cell: str) -> str:
            return cell.replace("-\n", "").replace("\n", " ").replace("|", "\\|")

        marks = ["---"] * len(self.names) + ["---:"] * len(self.numbers)
        lines = [[*self.names, *self.numbers], marks, *self.rows]
        told = (f"| {' | '.join(map(plain, line))} |" for line in lines)
        return "\n".join([f"**{self.title}**", "", *told])

    @property
    def _width(self) -> int:
        """Of the longest name: terminals that are too narrow must not hide them."""
        return max((len(row[0]) for row in self.rows), default=0)


def page(run: CrossPlay, summary: Figures) -> list[Grid | str]:
    """Tables and lines that say what has been played."""
    contests = run.reports()
    pairs = run.rules.num_sides == 2
    if summary:
        parts: list[Grid | str] = [*_matrices(run, summary), _ratings(summary)]
        parts.append(_by_agent(summary))
    else:
        parts = [_figures(run, contests)]
        title = "Of A / of B, in % of all hands" if pairs else "In % of the hands that each played"
        parts.append(_rates(title, pairs, contests))
    return parts + _notes(run, contests)


def markdown(parts: Iterable[Grid | str], title: str, head: Sequence[str]) -> str:
    """The page with a title and some paragraphs before it."""
    told = (part if isinstance(part, str) else part.markdown() for part in parts)
    return "\n\n".join([f"# {title}", *head, *told]) + "\n"


def rules_in_words(rules: Rules, preset: str, fields: Figures) -> str:
    """A preset and what differs from it."""
    changed = ", ".join(f"`{name}={getattr(rules, name)!r}`" for name in fields)
    return f"`{preset}`" + (f" with {changed}" if changed else "")


def played_in_words(run: CrossPlay) -> str:
    """How many deals there have been, and how often each was played."""
    unit = "pair" if run.rules.num_sides == 2 else "three"
    deals = sorted({tally.deals for tally in run.tallies.values()})
    count = f"{deals[0]:,}" + (f" to {deals[-1]:,}" if len(deals) > 1 else "")
    each = f"each {_seated(run.rules)}"
    return f"{count} deals of every {unit}, {each}; intervals of 95 %."


def _seated(rules: Rules) -> str:
    return {
        "heads_up": "twice, seats swapped",
        "partnership": "twice, sides swapped",
        "cutthroat": "six times, in all seatings",
    }[rules.seating]


def _unit(run: CrossPlay) -> str:
    units = {"hand": "rounds" if run.rules.num_tables > 1 else "hands", "match": "matches"}
    return units.get(run.episode, "games")


def _notes(run: CrossPlay, contests: list[Figures]) -> list[Grid | str]:
    """What tables do not say."""
    pairs = run.rules.num_sides == 2
    notes: list[Grid | str] = []
    needed = [contest["deals_needed"] for contest in contests if contest.get("deals_needed")]
    if needed:
        of = " (median of the pairs)" if len(contests) > 1 else ""
        notes.append(
            f"Telling 51 % from 50 % takes about {_rounded(statistics.median(needed))} deals{of}: "
            "two-sided at 95 %, found four times in five."
        )
    if run.episode != "hand":
        follows = "who deals" if pairs else "who deals, and so who plays,"
        notes.append(
            "The plays of a deal have the same decks, round by round, and the same first dealer; "
            f"{follows} after that follows from who lost."
        )
    unit = _unit(run)
    for contest in contests:
        if contest.get("unfinished"):
            players = " v ".join(contest[letter] for letter in LETTERS[: len(contest["players"])])
            notes.append(
                f"{players}: {contest['unfinished']:,} of {contest[unit]:,} {unit} were not "
                f"finished: a game is broken off after {arena.MAX_DRY_ROUNDS} rounds without a "
                "score. Each agent has an equal part of their win."
            )
    return notes


def _rounded(number: float) -> str:
    """To two digits."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _label(number: int, pairs: bool, letter: str) -> str:
    return f"{number}." if pairs else f"{number}. {letter.upper()}"


def _plus_minus(found: Figures, digits: int) -> str:
    return f"{found['mean']:+.{digits}f} ± {found['high'] - found['mean']:.{digits}f}"


def _figures(run: CrossPlay, contests: list[Figures]) -> Grid:
    """A row for each pair, from A's side, or for each agent of three."""
    pairs, unit = run.rules.num_sides == 2, _unit(run)
    settles = "settlement" in contests[0]
    numbers = [unit, "points a hand", "A wins" if pairs else "wins"]
    rows = []
    for number, contest in enumerate(contests, start=1):
        for letter in LETTERS[: 1 if pairs else 3]:
            of_agent = {
                name: contest[name] if pairs else contest[name][letter]
                for name in ("points_per_hand", "win_rate", *["settlement"] * settles)
            }
            wins = of_agent["win_rate"]
            rows.append(
                [
                    f"{_label(number, pairs, letter)} {contest[letter]}",
                    *[contest["b"]] * pairs,
                    f"{contest[unit]:,}",
                    _plus_minus(of_agent["points_per_hand"], 2),
                    f"{wins['mean']:.1%} ({100 * wins['low']:.1f}-{100 * wins['high']:.1f})",
                    *[_plus_minus(of_agent["settlement"], 1) for _ in range(settles)],
                ]
            )
    title = f"Each deal {_seated(run.rules)}; 95 % intervals"
    return Grid(title, ["A", "B"] if pairs else ["agent"], numbers + ["settlement"] * settles, rows)


def _rates(title: str, pairs: bool, contests: list[Figures]) -> Grid:
    """What agents did: of both in a row, or a row for each of three."""
    in_games = "hands_per_game" in contests[0]
    counted = ["illegal"] + ["forfeits"] * any(any(c["forfeits"].values()) for c in contests)
    headings = ["gin", "knock", "undercut\nmade", "dead", "turns", *counted]
    headings += ["hands\na game", "games/s"] if in_games else ["hands/s"]
    rows = []
    for number, contest in enumerate(contests, start=1):
        shares = contest["rates"]
        speed = contest["games_per_second" if in_games else "hands_per_second"]
        for letters in ["ab"] if pairs else LETTERS:
            rows.append(
                [
                    _label(number, pairs, letters),
                    *(
                        " / ".join(f"{100 * shares[letter][kind]:.1f}" for letter in letters)
                        for kind in ("gin", "knock", "undercut_made")
                    ),
                    f"{100 * shares['dead']:.1f}",
                    f"{shares['turns_each']:.1f}",
                    *(
                        " / ".join(f"{contest[name][letter]:,}" for letter in letters)
                        for name in counted
                    ),
                    *[f"{contest['hands_per_game']:.2f}" for _ in range(in_games)],
                    f"{speed:,.0f}",
                ]
            )
    return Grid(title, [""], headings, rows)


def _ranked(summary: Figures) -> list[str]:
    """Labels of the agents, the best first; behind them those who can't be rated."""
    by_agent, rated = summary["by_agent"], summary["ratings"]
    return [*rated, *(label for label in by_agent if label not in rated)]


def _numbered(ranked: Sequence[str]) -> list[str]:
    return [f"{rank}. {label}" for rank, label in enumerate(ranked, start=1)]


def _matrices(run: CrossPlay, summary: Figures) -> list[Grid]:
    """What each won from each."""
    ranked, labels = _ranked(summary), run.labels
    wins, points = ([[name] + [""] * len(ranked) for name in _numbered(ranked)] for _ in range(2))
    for contest, tally in run.tallies.items():
        places = [ranked.index(labels[agent]) for agent in contest]
        for agent, (row, column) in enumerate((places, places[::-1])):
            won = rate_interval(tally.wins(agent))
            half = (won["high"] - won["low"]) / 2
            wins[row][1 + column] = f"{100 * won['mean']:.1f} ±{100 * half:.1f}"
            gained = tally.agents[agent].points
            points[row][1 + column] = f"{gained.mean:+.2f} ±{gained.half_width:.2f}"
    columns = [str(rank) for rank in range(1, len(ranked) + 1)]
    titles = (f"{_unit(run).capitalize()} won in %", "Points a hand")
    return [
        Grid(f"{title}, row v column; 95 % intervals", [""], columns, rows, wraps=True)
        for title, rows in zip(titles, (wins, points), strict=True)
    ]


def _ratings(summary: Figures) -> Grid:
    anchor, ranked, rows = summary["anchor"], _ranked(summary), []
    for label, name in zip(ranked, _numbered(ranked), strict=True):
        found = summary["ratings"].get(label)
        rating = f"{found['elo']:.0f}" if found else "-"
        held = "" if not found or label == anchor else f"{found['low']:.0f} to {found['high']:.0f}"
        rows.append([name, rating, held])
    title = f"Elo by Bradley-Terry, {anchor} = {ANCHOR:.0f}"
    return Grid(title, [""], ["Elo", "95 %, by bootstrap over deals"], rows)


def _by_agent(summary: Figures) -> Grid:
    """What each did in all his hands."""
    by_agent, ranked = summary["by_agent"], _ranked(summary)
    in_games = any("hands_per_game" in of for of in by_agent.values())
    counted = ["illegal"] + ["forfeits"] * any(of["forfeits"] for of in by_agent.values())
    rows = []
    for label, name in zip(ranked, _numbered(ranked), strict=True):
        of = by_agent[label]
        deadwood = "-" if of["knock_deadwood"] is None else f"{of['knock_deadwood']:.1f}"
        speed = of["games_per_second" if in_games else "hands_per_second"]
        rows.append(
            [
                name,
                f"{100 * of['gin']:.1f}",
                f"{100 * of['knock']:.1f}",
                deadwood,
                f"{100 * of['undercut_made']:.1f}",
                f"{100 * of['undercut_suffered']:.1f}",
                f"{of['turns_each']:.1f}",
                *(f"{of[count]:,}" for count in counted),
                *[f"{of['hands_per_game']:.2f}" for _ in range(in_games)],
                f"{speed:,.0f}",
            ]
        )
    headings = ["gin", "knock", "dead-\nwood", "under-\ncuts\nmade", "suf-\nfered", "turns"]
    headings += [*counted, *(["hands\na game", "games/s"] if in_games else ["hands/s"])]
    return Grid("Of each agent, in % of his hands; deadwood at his knocks", [""], headings, rows)
