"""What RCGPSearch costs under Tune: throughput against random search, the latency of a suggestion, and the stall.

    python benchmarks/searcher.py [--trials 60] [--seconds 1.0]

Aims: at least 0.9 of random search's throughput for 1-second trials with 2 workers; 95 % of the suggestions below 0.25 s at
200 observations in 6 dimensions with 16 in flight.
"""

import argparse
import tempfile
import time
from typing import Any

import numpy as np
import ray
from ray import tune

from orchestrator import RCGPSearch

SPACE = {f"x{i}": tune.uniform(0, 1) for i in range(6)}
Config = dict[str, float]


def bowl(config: Config) -> float:
    return sum((config[f"x{i}"] - 0.1 * i - 0.2) ** 2 for i in range(6))


def trials_a_second(search: RCGPSearch | None, trials: int, seconds: float) -> float:
    """Trials between the first and the last result, over the time between them: start-up is not the searcher's."""

    def train(config: Config) -> None:
        time.sleep(seconds)
        tune.report({"loss": sum((value - 0.4) ** 2 for value in config.values()), "at": time.time()})

    tuner = tune.Tuner(
        train,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=trials, reuse_actors=True, search_alg=search, max_concurrent_trials=2
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    times = sorted(result.metrics["at"] for result in tuner.fit())
    return (len(times) - 2) / (times[-1] - times[1])  # both workers are up from the second result on


def preloaded(count: int, **settings: Any) -> tuple[RCGPSearch, np.random.Generator]:
    """A searcher that knows `count` noisy results."""
    rng = np.random.default_rng(0)
    search = RCGPSearch(SPACE, "loss", "min", **settings)
    for point in rng.random((count, 6)):
        config = dict(zip(SPACE, point.tolist(), strict=True))
        search.add_evaluated_point(config, bowl(config) + 0.05 * rng.standard_normal())
    return search, rng


def timed_suggestion(search: RCGPSearch, trial_id: str) -> tuple[Config | None, float]:
    start = time.perf_counter()
    config = search.suggest(trial_id)
    return config, time.perf_counter() - start


def latencies(count: int, in_flight: int, repeats: int = 40) -> list[float]:
    """Seconds of each `suggest` while results keep coming in, one for each suggestion, computed in the caller."""
    search, rng = preloaded(count, background_from=None)
    live: dict[str, Config] = {}
    seconds = []
    for number in range(in_flight + repeats):
        config, took = timed_suggestion(search, str(number))
        assert config is not None
        live[str(number)] = config
        if len(live) > in_flight:
            seconds.append(took)
            trial_id = next(iter(live))
            loss = bowl(live.pop(trial_id)) + 0.05 * rng.standard_normal()
            search.on_trial_complete(trial_id=trial_id, result={"loss": loss})
    return seconds


def stall(count: int, background_from: int | None) -> tuple[float, float]:
    """(longest single call, seconds until the suggestion is there), with one other trial in flight."""
    search, _ = preloaded(count, background_from=background_from, points_to_evaluate=[dict.fromkeys(SPACE, 0.5)])
    search.suggest("live")
    calls, start, config = [], time.perf_counter(), None
    while config is None:
        config, took = timed_suggestion(search, f"poll {len(calls)}")
        calls.append(took)
    return max(calls), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=1.0)
    arguments = parser.parse_args()

    print("suggestion latency in 6 dimensions, in the caller (ms)")
    print(f"{'n':>6} {'in flight':>10} {'p50':>8} {'p95':>8} {'max':>8}")
    for count in (50, 200, 500):
        for in_flight in (1, 16, 64):
            p50, p95, worst = 1e3 * np.quantile(latencies(count, in_flight), [0.5, 0.95, 1.0])
            print(f"{count:>6} {in_flight:>10} {p50:>8.0f} {p95:>8.0f} {worst:>8.0f}", flush=True)

    print("\nstall of Tune's loop by one suggestion (s): longest call, and until the suggestion is there")
    for count in (500, 1000):
        for name, background_from in (("in the caller", None), ("in the background", 0)):
            longest, until = stall(count, background_from)
            print(f"{count:>6} rows, {name:<18} {longest:>7.3f} {until:>7.3f}", flush=True)

    print(f"\nthroughput with {arguments.seconds:g}-second trials on 2 workers (trials a second)")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    plain = trials_a_second(None, arguments.trials, arguments.seconds)
    robust = trials_a_second(RCGPSearch(), arguments.trials, arguments.seconds)
    print(f"random search {plain:.3f}   RCGPSearch {robust:.3f}   ratio {robust / plain:.3f}")


if __name__ == "__main__":
    main()
