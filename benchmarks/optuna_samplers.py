"""RCGPSampler beside Optuna's own samplers, each as `create_study(sampler=...)` runs it: regret, and the time of a suggestion.

    python benchmarks/optuna_samplers.py [--seeds 100:104] [--problems branin levy4 hartmann6] [--samplers rcgp rcgp-once tpe gp]

Regret is in units of a random point's: the mean of all trials, and that of the trial which is handed over in the end -
`sampler.best(study)` for RCGPSampler, `study.best_trial` for the others. `rcgp-once` is RCGPSampler without its second looks
(`look_again=False`). With spikes every trial reports a million with probability 1/10. A suggestion's time is that of ask and
tell, in processor milliseconds.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
import warnings
from typing import Any

import numpy as np
import optuna
from problems import PROBLEMS, Problem

from orchestrator import RCGPSampler

SAMPLERS = {
    "rcgp": lambda seed: RCGPSampler(seed=seed),
    "rcgp-once": lambda seed: RCGPSampler(seed=seed, look_again=False),
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "gp": lambda seed: optuna.samplers.GPSampler(seed=seed),
}
SPIKE, SHARE = 1e6, 0.1


def run(problem: Problem, sampler: Any, seed: int, share: float) -> tuple[float, float, float]:
    """(mean regret, regret of what is handed over, milliseconds a suggestion) of one study."""
    objective, rng = problem.make(), np.random.default_rng([seed, 1])
    study = optuna.create_study(direction="maximize", sampler=sampler)
    regrets, seconds = [], 0.0
    for _ in range(problem.trials):
        start = time.process_time()
        trial = study.ask()
        x = np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(objective.dim)])
        seconds += time.process_time() - start
        y = objective.evaluate(x, rng)
        regrets.append((objective.optimum.value - objective.noiseless(x)) / problem.typical_regret)
        lie = rng.random() < share
        start = time.process_time()
        study.tell(trial, SPIKE if lie else y)
        seconds += time.process_time() - start
    best = sampler.best(study).number if isinstance(sampler, RCGPSampler) else study.best_trial.number
    return float(np.mean(regrets)), regrets[best], 1e3 * seconds / problem.trials


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="100:104")
    parser.add_argument("--problems", nargs="+", default=["branin", "levy4", "hartmann6"], choices=PROBLEMS)
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS), choices=SAMPLERS)
    arguments = parser.parse_args()
    seeds = range(*map(int, arguments.seeds.split(":")))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")

    print(
        "| problem | reports | sampler | mean regret | regret handed over | ms a suggestion |\n|---|---|---|---|---|---|"
    )
    for name in arguments.problems:
        for reports, share in (("honest", 0.0), ("10 % spikes of 1e6", SHARE)):
            for kind in arguments.samplers:
                rows = np.array([run(PROBLEMS[name], SAMPLERS[kind](seed), seed, share) for seed in seeds])
                mean, handed, took = rows.mean(axis=0)
                print(f"| {name} | {reports} | {kind} | {mean:.3f} | {handed:.3f} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
