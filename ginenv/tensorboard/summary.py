"""Games into a TensorBoard log: the record for the tab, a moving picture, a table of text.

A game called ``vs_expert`` becomes the tags ``game/vs_expert`` (tab Gin Rummy),
``replay/vs_expert`` (Images) and ``hand/vs_expert`` (Text). TensorBoard has one kind of data to a
tag, so these differ. Picture and text are of one hand, the one with the most points.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary, SummaryMetadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util.tensor_util import make_tensor_proto

from ginenv.tensorboard import PLUGIN_NAME, frames, pictures, words


class Writer(Protocol):
    """What takes summaries: the ``file_writer`` of torch's SummaryWriter, or a :class:`Log`."""

    def add_summary(self, summary: Any, global_step: int) -> None:
        """Write a Summary at a step."""
        ...


class Log:
    """A log of its own, for those who have no writer. Appears in the folder when it is opened."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = EventFileWriter(os.fspath(folder))

    def add_summary(self, summary: Any, global_step: int) -> None:
        """Write a Summary at a step."""
        self._file.add_event(Event(wall_time=time.time(), step=global_step, summary=summary))

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


@contextmanager
def log(folder: str | os.PathLike[str]) -> Iterator[Log]:
    """A log in that folder, made where it is missing. Raises OSError."""
    made = Log(folder)
    try:
        yield made
    finally:
        made.close()


def add_game(
    writer: Writer, name: str, record: dict[str, Any], step: int, pictured: bool = True
) -> None:
    """Write a game for the tab and, unless it is not to be ``pictured``, for Images and Text.

    ``record``: as :func:`ginenv.replay.record` makes it or :func:`ginenv.replay.read` reads it,
    already checked. ``name``: letters, digits and such; others become ``_``.
    """
    name = re.sub(r"[^\w.@+-]+", "_", name)
    summary = Summary()
    _add_tensor(summary, f"game/{name}", json.dumps(record, separators=(",", ":")), PLUGIN_NAME)
    if pictured:
        game = frames.expand(record)
        hand = words.best_hand(game)
        _add_tensor(summary, f"hand/{name}", words.table(game, hand), "text")
        width, height, picture = pictures.moving(game, hand)
        image = Summary.Image(
            width=width, height=height, colorspace=3, encoded_image_string=picture
        )
        summary.value.add(tag=f"replay/{name}", image=image)
    writer.add_summary(summary, step)


def _add_tensor(summary: Summary, tag: str, text: str, plugin: str) -> None:
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name=plugin), data_class=DATA_CLASS_TENSOR
    )
    tensor = make_tensor_proto(text.encode(), shape=())
    summary.value.add(tag=tag, metadata=metadata, tensor=tensor)
