"""The tab "Gin Rummy": what TensorBoard asks of a plugin, and the answers to the page's questions.

The page is in ``static``. It asks for ``tags`` ({run: [tag, ...]}), ``steps`` of a tag (a title
each) and a ``game``: :func:`ginenv.tensorboard.frames.expand`, or {"error": one line}.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable
from importlib import resources
from typing import Any

from tensorboard import errors, plugin_util
from tensorboard.backend import http_util
from tensorboard.data import provider
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from ginenv import replay
from ginenv.replay import ReplayError
from ginenv.tensorboard import PLUGIN_NAME, frames

GAMES_KEPT = 1000
"""Of a tag; of a plugin that it does not know TensorBoard keeps 10, at random."""
_TYPES = {"js": "text/javascript", "css": "text/css"}
_LONGEST_ERROR = 300


class GinRummyLoader(base_plugin.TBLoader):  # type: ignore[misc]
    """What the entry point names: makes the plugin, and has TensorBoard keep the games."""

    def fix_flags(self, flags: argparse.Namespace) -> None:
        """Keep more games than TensorBoard would, unless the command line says how many."""
        flags.samples_per_plugin.setdefault(PLUGIN_NAME, GAMES_KEPT)

    def load(self, context: base_plugin.TBContext) -> GinRummyPlugin | None:
        """The plugin; None where there is no data to be had."""
        return GinRummyPlugin(context) if context.data_provider else None


class GinRummyPlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """Serves the page and the games of the logs."""

    plugin_name = PLUGIN_NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        self._data = context.data_provider
        hints = context.sampling_hints or {}
        self._kept = hints.get(PLUGIN_NAME) or GAMES_KEPT

    def is_active(self) -> bool:
        """TensorBoard looks for games by itself."""
        return False

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """The name of the tab and where its page begins."""
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Gin Rummy")

    def get_plugin_apps(self) -> dict[str, Any]:
        """What is served, by path: the page's files as they are, and its questions."""
        static = resources.files("ginenv.tensorboard") / "static"
        apps = {
            f"/{file.name}": _file(file.read_bytes(), _TYPES[suffix])
            for file in static.iterdir()
            if (suffix := file.name.rpartition(".")[2]) in _TYPES
        }
        for name, answer in (("tags", self._tags), ("steps", self._steps), ("game", self._game)):
            apps[f"/{name}"] = _json(answer)
        return apps

    def _tags(self, request: wrappers.Request) -> dict[str, list[str]]:
        found = self._data.list_tensors(
            plugin_util.context(request.environ),
            experiment_id=plugin_util.experiment_id(request.environ),
            plugin_name=PLUGIN_NAME,
        )
        return {run: sorted(tags) for run, tags in sorted(found.items()) if tags}

    def _steps(self, request: wrappers.Request) -> list[dict[str, Any]]:
        return [{"step": step, "title": _title(text)} for step, text in self._read(request).items()]

    def _game(self, request: wrappers.Request) -> dict[str, Any]:
        text = self._read(request).get(request.args.get("step", type=int))
        if text is None:
            raise errors.NotFoundError(f"no game at step {request.args.get('step')}")
        try:
            made = replay.decode(text)
            replay.check(made)
            return frames.expand(made)
        except ReplayError as error:
            reason = textwrap.shorten(str(error), _LONGEST_ERROR, placeholder=" …")
            return {"error": f"This game can't be shown: {reason}"}

    def _read(self, request: wrappers.Request) -> dict[int | None, bytes]:
        """The games of a tag as they were written, by step; of two with one step the later."""
        run, tag = (request.args.get(name, "") for name in ("run", "tag"))
        found = self._data.read_tensors(
            plugin_util.context(request.environ),
            experiment_id=plugin_util.experiment_id(request.environ),
            plugin_name=PLUGIN_NAME,
            downsample=self._kept,
            run_tag_filter=provider.RunTagFilter(runs=[run], tags=[tag]),
        )
        games = found.get(run, {}).get(tag, ())
        by_step = {game.step: _bytes(game.numpy) for game in games}
        return dict(sorted(by_step.items()))


def _bytes(tensor: Any) -> bytes:
    """The text in a tensor; empty where there is none."""
    found = tensor.reshape(-1)[0] if tensor.size else b""
    return found if isinstance(found, bytes) else b""


def _title(text: bytes) -> str:
    """Who played; games are checked when they are shown, so this may be of a damaged one."""
    try:
        return " v ".join(replay.shown_names(json.loads(text)["players"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "damaged"


def _file(content: bytes, kind: str) -> Any:
    return wrappers.Request.application(lambda request: http_util.Respond(request, content, kind))


def _json(answer: Callable[[wrappers.Request], Any]) -> Any:
    return wrappers.Request.application(
        lambda request: http_util.Respond(request, answer(request), "application/json")
    )
