"""Intervals at 95 % from sums over independent samples: what can be added, kept and added to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over independent samples, of which each is an amount and what it is counted by.

    All are whole numbers: no order of adding them up changes a figure.
    """

    samples: int = 0
    amount: int = 0
    count: int = 0
    amount_squared: int = 0
    amount_by_count: int = 0
    count_squared: int = 0

    @staticmethod
    def of(
        amounts: NDArray[Any], counts: NDArray[Any], times: NDArray[Any] | None = None
    ) -> Moments:
        """Of whole numbers, [N] each; ``times``: how many samples each of them stands for."""
        amount, count = amounts.astype(np.int64), counts.astype(np.int64)
        times = np.ones(len(amount), np.int64) if times is None else times.astype(np.int64)
        sums = (amount, count, amount * amount, amount * count, count * count)
        return Moments(int(times.sum()), *(int((each * times).sum()) for each in sums))

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.samples + other.samples,
            self.amount + other.amount,
            self.count + other.count,
            self.amount_squared + other.amount_squared,
            self.amount_by_count + other.amount_by_count,
            self.count_squared + other.count_squared,
        )

    @property
    def mean(self) -> float:
        """Sum of the amounts over sum of the counts."""
        return self.amount / self.count

    @property
    def error(self) -> float:
        """The standard error of :attr:`mean`; needs two samples.

        The ratio estimator's, by the delta method: that of the mean of ``amount - mean * count``,
        over the mean count. Where all counts are alike it is that of the mean of the quotients.
        """
        n, amount, count = self.samples, self.amount, self.count
        left = (  # sum of squares of what is left, times count squared
            count**2 * self.amount_squared
            - 2 * amount * count * self.amount_by_count
            + amount**2 * self.count_squared
        )
        return math.sqrt(n * left / ((n - 1) * count**4))

    @property
    def half_width(self) -> float:
        """Of :func:`mean_interval`."""
        return float(stats.t.ppf(0.5 + CONFIDENCE / 2, self.samples - 1)) * self.error


def mean_interval(moments: Moments) -> dict[str, float]:
    """The mean with its Student interval.

    A mean of quotients would give the hands of short games more weight than the ratio does.
    Samples that are all alike give an interval of no width: they say nothing of their spread.
    """
    mean, half = moments.mean, moments.half_width
    return {"mean": mean, "low": mean - half, "high": mean + half}


def rate_interval(moments: Moments) -> dict[str, float]:
    """The mean of samples in 0..1 with an interval that stays in there.

    Wilson's score interval (1927), for as many Bernoulli trials as would have the samples'
    variance: the plays of a deal are not independent trials.
    """
    mean, variance = moments.mean, moments.error**2
    trials = mean * (1 - mean) / variance if variance > 0 else float(moments.samples)
    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    centre = (mean + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * (mean * (1 - mean) / trials + (z / (2 * trials)) ** 2) ** 0.5
    # Rounding must not leave a mean of 0 or 1 outside.
    low, high = min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half))
    return {"mean": mean, "low": low, "high": high}


def samples_needed(variance: float, difference: float, power: float = POWER) -> int:
    """How many samples of this variance tell a mean from one that lies ``difference`` away.

    Two-sided at CONFIDENCE, found with probability ``power``.
    """
    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2) + stats.norm.ppf(power))
    return math.ceil(variance * (z / difference) ** 2)
