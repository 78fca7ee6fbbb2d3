"""An Optuna study in which every tenth evaluation lies: one line changes, and the lies are found.

    python examples/optuna_study.py [--trials 40]

The objective is what people write: a classifier, its parameters, a cross-validated accuracy. Now and then the report is wrong,
the sum over five folds instead of their mean, say: an accuracy of 5, which Optuna would hand over as the best trial.
"""

import argparse

import optuna
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from orchestrator import RCGPSampler

DATA = load_wine(return_X_y=True)


def accuracy(params: dict[str, float]) -> float:
    model = make_pipeline(StandardScaler(), SVC(C=params["C"], gamma=params["gamma"]))
    return float(cross_val_score(model, *DATA, cv=3).mean())


def objective(trial: optuna.Trial) -> float:
    params = {
        "C": trial.suggest_float("C", 1e-3, 1e3, log=True),
        "gamma": trial.suggest_float("gamma", 1e-5, 1e1, log=True),
    }
    lies = trial.number % 10 == 7
    return 5.0 if lies else accuracy(params)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
    trials = parser.parse_args().trials
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    sampler = RCGPSampler(seed=0)  # the line that changes
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=trials)

    naive, robust = study.best_trial, sampler.best(study)
    print(f"study.best_trial:    trial {naive.number}, reported {naive.value:.3f}, really {accuracy(naive.params):.3f}")
    print(f"sampler.best(study): trial {robust.number}, reported {robust.reported:.3f}, {robust.config}")
    for suspect in sampler.suspects(study):
        print(f"doubted: trial {suspect.number} reported {suspect.reported:.3f}, expected {suspect.expected:.3f}")
    columns = ["number", "value", "user_attrs_rcgp:weight", "user_attrs_rcgp:expected"]
    print(study.trials_dataframe()[columns].tail(4).to_string(index=False))


if __name__ == "__main__":
    main()
