"""Campaigns that are broken in one place: refused in one line, before anything is made."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

from episodes.episode import NAME, to_yaml
from episodes.sessions import several

WRONG: dict[str, list[Any]] = {
    "name": ["../x", "", "[red]", "a\0b", 5, None, "x" * 5000, "☃"],
    "description": [["a"], 1.5],
    "objective": [
        "nosuch",
        1,
        {"name": "zoo:Nothing"},
        {"name": "zoo:Zoo", "[/b]": 1},
        {"name": "zoo:End"},
        "os:_exit",
    ],
    "algorithms": [
        [],
        ["nosuch"],
        ["random", "random"],
        [{"name": "random", "seed": 1}],
        7,
        [{"label": "x"}],
        "zoo:Zoo",
    ],
    "adversaries": [
        [],
        ["liar"],
        [{"name": "crash", "budget": -1}],
        "zoo:Zoo",
        [{"name": "zoo:Mob", "lies": 1, "x": 2}],
    ],
    "seeds": [0, -1, [], [1, 1], [2**32], "ten", [0.5], True, 10**30],
    "trials": [0, -1, 1.5, "ten", True, None, float("nan"), -(10**400)],
    "initial": [0, "5", [], float("inf")],
    "workers": [0, -3, 0.5, "all"],
    "retries": [-1, 101, 1e308],
    "resources": [{"cpus": -1}, {"cpus": float("nan")}, {"gpus": "all"}, 3, {"ram": 1}],
    "limits": [{"trial_seconds": 0}, {"total_seconds": float("inf")}, {"seconds": 1}, [], {"trial_seconds": "1 h"}],
    "crash_value": [float("nan"), "low", [0]],
    "tracking": [{"enabled": "maybe"}, {"uri": 5}, {"patience": -1}, {"required": 1}, "no"],
    "[/bold]": [1],
    "trails": [5],
}
PLAIN = "name: hostile\nalgorithms: random\ntrials: 2\nobjective: {}\n"
TEXTS = {
    "cut": '{"name": "x", "trials": ',
    "binary": "\x00\x01\x02",
    "empty": "",
    "list": "[1, 2]",
    "itself": "a: &a [*a]\n",
    "bomb": "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghi")),
    "deep": "a: " + "[" * 5000 + "]" * 5000,
    "tabs": "a:\n\t- b",
    "code": "objective: !!python/object/apply:os.system [true]",
    "keys": "? [a, b]\n: 1\n? {c: d}\n: 2",
    "date": "trials: 2001-01-01\nobjective: 2001-13-45",
    "twice": "trials: 1\ntrials: 2",
    "option is a date": PLAIN.format("{name: 'zoo:Zoo', deeds: 2001-01-01}"),
    "option is a set": PLAIN.format("{name: 'zoo:Zoo', deeds: !!set {a, b}}"),
    "option is binary": PLAIN.format("{name: 'zoo:Zoo', deeds: !!binary aGk=}"),
    "option holds itself": PLAIN.format("{name: 'zoo:Zoo', deeds: &a [*a]}"),
    "option with a number for a key": PLAIN.format("{name: 'zoo:Zoo', deeds: {1: 2}}"),
    "a number of too many digits": "trials: " + "9" * 5000,
    "many documents": "a: 1\n---\nb: 2",
}
ARGUMENTS = (
    ["--set", "limits.trial_seconds=abc"],
    ["--set", "trials"],
    ["--set", "a.b.c=1"],
    ["--set", "objective.[red]=1"],
    ["--name", "../../etc"],
    ["--trials", "-5"],
    ["--seeds", "0"],
    ["--algorithms", "random,[/b]"],
    ["--address", "127.0.0.1"],
    ["--root", "hostile.yaml"],
)


def check_refusals(rng: random.Random, campaign: dict[str, Any], folder: Path) -> None:
    """What is wrong is said in one line, with exit code 2, before anything is made."""
    runs = set((folder / "runs").iterdir())
    files = [_broken(rng, campaign, folder / f"broken{i}.yaml") for i in range(3)] + [
        _text(rng, folder / "broken.yaml")
    ]
    commands = [["run", file, "--no-ray"] for file in files]
    commands += [["run", f"{NAME}.yaml", "--no-ray", *rng.choice(ARGUMENTS)]]
    for command, (code, output) in zip(commands, several(folder, commands), strict=True):
        what = f"{command} with {(folder / command[1]).read_text(errors='replace')[:1500]}"
        assert code == 2, f"{what}: exit code {code}, not 2: {output[-2000:]}"
        assert output.startswith("error: ") or "Usage" in output, f"{what}: said {output[-2000:]}"
        assert "\n" not in output or "Usage" in output, f"{what}: more than a line: {output[-2000:]}"
    assert set((folder / "runs").iterdir()) == runs, "a refused campaign left something behind"


def _broken(rng: random.Random, campaign: dict[str, Any], path: Path) -> str:
    key = rng.choice(list(WRONG))
    path.write_text(to_yaml(campaign | {key: rng.choice(WRONG[key])}))
    return path.name


def _text(rng: random.Random, path: Path) -> str:
    path.write_text(rng.choice(list(TEXTS.values())))
    return path.name
