"""How often 95 % intervals hold the truth, on simulated verdicts.

    python benchmarks/intervals.py [--quick] [--json FILE]

Problems in the view are answered with one known probability and flagged ones with another, so the true
accuracy and the true difference follow. Each line is one such population. Each simulation draws verdicts,
asks for the interval, and looks whether it holds the truth. Where full is compared with a view, which
problems are flagged is drawn too, with the share given; elsewhere the sizes are fixed. The last columns
say in how many simulations a warning stands beside the interval, and how often the interval holds the
truth where none does.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from wmbxl.stats import remarks
from wmbxl.stats.compare import all_items, replicate_accuracies
from wmbxl.stats.intervals import intervals
from wmbxl.stats.resample import Bootstrap, Replicates
from wmbxl.stats.verdicts import Verdicts

METHODS = ("percentile", "basic", "bca")
WIDTH = 200


@dataclass(frozen=True)
class Population:
    statistic: str
    n_full: int
    n_view: int
    in_view: float
    flagged: float

    def truth(self) -> float:
        outside = self.n_full - self.n_view
        full = (self.n_view * self.in_view + outside * self.flagged) / self.n_full
        return {
            "full - view": 100 * (full - self.in_view),
            "view - rest": 100 * (self.in_view - self.flagged),
            "accuracy": 100 * self.in_view,
        }[self.statistic]


POPULATIONS = [
    Population("full - view", 800, 770, 0.92, 0.80),
    Population("full - view", 800, 770, 0.87, 0.87),
    Population("full - view", 800, 770, 0.60, 0.60),
    Population("full - view", 800, 770, 0.50, 0.80),
    Population("full - view", 800, 770, 0.25, 0.25),
    Population("full - view", 800, 264, 0.87, 0.87),
    Population("full - view", 800, 770, 0.99, 0.99),
    Population("full - view", 800, 770, 0.02, 0.02),
    Population("full - view", 800, 797, 0.91, 0.91),
    Population("full - view", 800, 792, 0.91, 0.91),
    Population("full - view", 800, 8, 0.60, 0.60),
    Population("view - rest", 800, 34, 0.60, 0.50),
    Population("view - rest", 800, 34, 0.97, 0.88),
    Population("accuracy", 310, 310, 0.90, 0.0),
    Population("accuracy", 310, 310, 0.98, 0.0),
    Population("accuracy", 34, 34, 0.97, 0.0),
]


@dataclass(frozen=True)
class Simulated:
    correct: np.ndarray
    inside: np.ndarray

    def side(self, inside: np.ndarray, keep: np.ndarray) -> Verdicts:
        """One model per simulation; problems that are not on the side count as missing."""
        ids = tuple(f"p{k:04d}" for k in np.flatnonzero(keep))
        names = tuple(f"s{k}" for k in range(self.correct.shape[1]))
        return Verdicts(ids, names, (self.correct & inside)[keep], inside[keep])


def simulate(population: Population, batch: int) -> Simulated:
    rng = np.random.default_rng(batch)
    shape = (population.n_full, WIDTH)
    if population.statistic == "full - view":
        inside = rng.random(shape) < population.n_view / population.n_full
    else:
        inside = np.broadcast_to(np.arange(population.n_full)[:, None] < population.n_view, shape)
    return Simulated(rng.random(shape) < np.where(inside, population.in_view, population.flagged), inside)


def replicates(statistic: str, found: Simulated, bootstrap: Bootstrap) -> Replicates:
    everyone = np.ones_like(found.inside)
    fixed = found.inside[:, 0]
    if statistic == "full - view":
        full, view = (found.side(side, everyone[:, 0]) for side in (everyone, found.inside))
        accuracies = [replicate_accuracies(part, [all_items(part)], bootstrap) for part in (full, view)]
        return accuracies[0].minus(accuracies[1])
    view = found.side(everyone, fixed)
    accuracies = [replicate_accuracies(view, [all_items(view)], bootstrap)]
    if statistic == "accuracy":
        return accuracies[0]
    rest = found.side(everyone, ~fixed)
    return accuracies[0].minus_independent(replicate_accuracies(rest, [all_items(rest)], bootstrap, stream=1))


def warned(found: Simulated) -> np.ndarray:
    verdicts = []
    for k in range(found.correct.shape[1]):
        inside, right = found.inside[:, k], found.correct[:, k]
        lines = remarks.about_answers(int(right[inside].sum()), int(inside.sum()))
        if not inside.all():
            lines += remarks.about_answers(int(right[~inside].sum()), int((~inside).sum()))
            lines += remarks.about_sizes(int(inside.sum()), int((~inside).sum()))
        verdicts.append(bool(lines))
    return np.array(verdicts)


def cover(population: Population, batches: int, size: int) -> dict[str, object]:
    held: dict[str, list[bool]] = {method: [] for method in METHODS}
    flags: list[bool] = []
    truth = population.truth()
    for batch in range(batches):
        found = simulate(population, batch)
        flags += warned(found).tolist()
        drawn = replicates(population.statistic, found, Bootstrap(replicates=size, seed=batch))
        for method in METHODS:
            ends = intervals(drawn, Bootstrap(replicates=size, seed=batch, method=method))
            # Rounding must not decide whether an end that equals the truth holds it.
            held[method] += [end.low - 1e-9 <= truth <= end.high + 1e-9 for end in ends]
    silent = ~np.array(flags)
    unwarned = np.array(held["percentile"])[silent]
    shares = {f"{method}_pct": 100 * float(np.mean(held[method])) for method in METHODS}
    return {
        **asdict(population),
        **shares,
        "warned_pct": 100 * float(np.mean(flags)),
        "unwarned_percentile_pct": 100 * float(unwarned.mean()) if len(unwarned) else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few simulations, to see that it runs")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/intervals.json"))
    options = parser.parse_args()
    batches, size = (1, 200) if options.quick else (20, 2_000)
    rows = []
    print("statistic     full  view  p(view) p(flagged)   percentile  basic    bca   warned  unwarned")
    for population in POPULATIONS:
        row = cover(population, batches, size)
        rows.append(row)
        unwarned = row["unwarned_percentile_pct"]
        rest = "-" if unwarned is None else f"{unwarned:.1f}"
        print(
            f"{population.statistic:12} {population.n_full:5} {population.n_view:5} {population.in_view:8.2f}"
            f"{population.flagged:11.2f}   {row['percentile_pct']:10.1f} {row['basic_pct']:6.1f} "
            f"{row['bca_pct']:6.1f}   {row['warned_pct']:6.1f}  {rest:>8}",
            flush=True,
        )
    found = {"simulations": batches * WIDTH, "replicates": size, "level_pct": 95, "populations": rows}
    options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
