"""A study in which every seventh report is a lie of a million; the sampler doubts them, and searches on."""

from __future__ import annotations

import optuna

import optunahub

RCGPSampler = optunahub.load_module("samplers/rcgp").RCGPSampler


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5, 5)
    y = trial.suggest_float("y", -5, 5)
    value = (x - 1) ** 2 + (y + 2) ** 2
    return value - 1e6 if trial.number % 7 == 5 else value


if __name__ == "__main__":
    sampler = RCGPSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    print("best reported:", study.best_trial.number, study.best_value)
    print("best believed:", sampler.best(study))
    print("doubted:", sorted(suspect.number for suspect in sampler.suspects(study)))
