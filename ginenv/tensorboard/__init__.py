"""Recorded games in TensorBoard: a tab that plays them, pictures and tables where it is missing.

:mod:`~ginenv.tensorboard.summary` writes games into a log, :mod:`~ginenv.tensorboard.plugin` is the
tab "Gin Rummy", which TensorBoard finds by itself once this package is installed.
"""

PLUGIN_NAME = "gin_rummy"
"""By which the tab finds its games in a log, and part of the addresses that it serves."""
