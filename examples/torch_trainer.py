"""A PyTorch trainer of one's own, with early stopping: one callback tells Tune what each epoch gave.

The `Trainer` is what people have from Lightning, Hugging Face or themselves: it knows nothing of Tune, and calls back after every
epoch. The scheduler asks the searcher's model before it stops a trial.

    python examples/torch_trainer.py [--trials 20]
"""

import argparse
import tempfile
from collections.abc import Callable
from typing import Any

import ray
import torch
from ray import tune
from sklearn.datasets import load_digits
from torch import nn

from orchestrator import RCGPSearch, RobustASHAScheduler

EPOCHS = 9
SPACE = {"learning_rate": tune.loguniform(1e-4, 1.0), "width": tune.lograndint(8, 129), "dropout": tune.uniform(0, 0.8)}


class Trainer:
    """A small network on the digits of scikit-learn."""

    def __init__(self, config: dict[str, Any], on_epoch: Callable[[float], None]) -> None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        X, y = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
        self.X, self.y, self.on_epoch = X.float() / 16, y, on_epoch
        hidden = (nn.Linear(64, config["width"]), nn.ReLU(), nn.Dropout(config["dropout"]))
        self.net = nn.Sequential(*hidden, nn.Linear(config["width"], 10))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=config["learning_rate"], momentum=0.9)

    def fit(self) -> None:
        """Train on the first thousand digits; call back after every epoch."""
        for _ in range(EPOCHS):
            self.net.train()
            for rows in torch.randperm(1000).split(50):
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(self.net(self.X[rows]), self.y[rows]).backward()
                self.optimizer.step()
            self.on_epoch(self.accuracy())

    @torch.no_grad()
    def accuracy(self) -> float:
        """On the digits that are not trained on."""
        self.net.eval()
        return (self.net(self.X[1000:]).argmax(-1) == self.y[1000:]).float().mean().item()


def train(config: dict[str, Any]) -> None:
    """The trainable: all that Tune adds to a trainer."""
    Trainer(config, on_epoch=lambda accuracy: tune.report({"accuracy": accuracy})).fit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    trials = parser.parse_args().trials
    ray.init(address="local", include_dashboard=False, log_to_driver=False)

    searcher = RCGPSearch(max_resource=EPOCHS)
    tuner = tune.Tuner(
        train,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            num_samples=trials,
            search_alg=searcher,
            scheduler=RobustASHAScheduler(max_t=EPOCHS, reduction_factor=3),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    grid = tuner.fit()

    epochs = sum(result.metrics["training_iteration"] for result in grid)
    print(f"{len(grid)} trials, {epochs} of {len(grid) * EPOCHS} epochs trained")
    best = searcher.best()
    print(f"believed best: {best.config}, reported {best.reported:.3f}")
    for suspect in searcher.suspects():
        because = f": {suspect.reason}" if suspect.reason else ""
        print(f"doubted: {suspect.reported:.3f} where {suspect.expected:.3f} was expected{because}")


if __name__ == "__main__":
    main()
