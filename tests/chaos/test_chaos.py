"""Every fault a run must survive, injected for real at seeded moments. Nothing lost, nothing doubled, nothing overspent."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from faulty import calls
from harness import (
    BUDGET,
    ENVIRONMENT,
    Driver,
    Row,
    audit,
    begun,
    enter_row,
    journals,
    named,
    plan,
    seeded_moments,
    settled,
    strike,
    times,
    trial_of,
    wait_until,
)
from havoc import faults
from numpy.linalg import LinAlgError
from servers import MlflowServer, mlflow_server

from orchestrator.engine.events import AdversaryReported, Event, Observation, TrialSuggested, of_type
from orchestrator.engine.journal import FileJournal, JournalError, read

NAMES = {
    "kill": "worker SIGKILL in mid-trial",
    "exit": "os._exit in the objective, once",
    "exitalways": "os._exit in the objective, on every try",
    "allocate": "memory runs out",
    "hang": "trial hangs",
    "stop": "worker SIGSTOP",
    "metric": "metric NaN, inf, -inf, None, str, bool, list",
}
METRICS = ("nan", "inf", "-inf", "none", "str", "bool", "list")
RETRIES = 2


def test_what_trials_do_to_their_processes(tmp_path):
    """One parallel study; each fault strikes seeded trials, and is followed to the trial's one result."""
    often = times(2, 20)
    kinds = ["kill", "exit", "allocate", "stop"] * often + ["exit always", "hang"] * times(1, 8)
    kinds += METRICS * times(1, 6)
    total = 3 * len(kinds)
    places = random.Random(1).sample(range(3, total - 3), len(kinds))
    objective = {"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.03}
    objective["faults"] = {str(place): kind for place, kind in zip(places, kinds, strict=True)}
    limits = {"trial_seconds": 4.0}
    path = plan(tmp_path, objective=objective, trials=total - 4, workers=2, retries=RETRIES, limits=limits)
    driver = Driver(tmp_path, "run", str(path), "--set", "resources.cpus=0.5")
    assert driver.finish(3000) == 0, driver.said[-3000:]
    count = audit(tmp_path)
    assert (count.lost, count.doubled) == (0, 0)
    (journal,) = journals(tmp_path)
    numbers, results = trial_of(journal), defaultdict(list)
    for observation in of_type(read(journal), Observation):
        results[observation.number].append(observation)
    struck = defaultdict(list)
    for fault in faults(tmp_path):
        struck["metric" if fault.kind in METRICS else fault.kind].append(fault)
    for kind, name in NAMES.items():
        hit = [results[numbers[f.point]] for f in struck[kind]]
        seconds = max((r[0].at - f.at for f, r in zip(struck[kind], hit, strict=True) if r), default=0.0)
        enter_row(Row(name, len(hit), sum(not r for r in hit), sum(len(r) > 1 for r in hit), count.overspent, seconds))
    tries = [point for point, _ in calls(tmp_path)]
    always = {f.point for f in struck["exitalways"]}
    assert all(tries.count(point) == RETRIES + 1 for point in always), "attempts <= retries + 1"
    assert all(results[numbers[point]][0].failed for point in always)
    others = set(tries) - {f.point for f in faults(tmp_path)}
    spared = [p for p in others if tries.count(p) == 1]
    assert len(spared) >= 0.9 * len(others), "a fault costs the trial it strikes, and at most a neighbour now and then"


def test_drivers_are_killed_and_a_second_one_is_kept_out(tmp_path):
    """SIGKILL at seeded evaluations and, every other time, the moment something is being written."""
    kills, trials = times(6, 60), times(40, 200)
    path = plan(tmp_path, trials=trials, objective={"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.02})
    driver = Driver(tmp_path, "run", str(path), "--no-ray")
    acknowledged, slowest, intruders = set(), 0.0, 0
    journal = tmp_path / "runs/chaos/journals/random.crash.seed0.jsonl"
    for i, moment in enumerate(seeded_moments(2, kills, trials)):
        wait_until(lambda moment=moment: begun(tmp_path) > moment, driver)
        if i % max(1, kills // times(2, 10)) == 0:
            intruders += _intrude(tmp_path, driver)
        if i % 2:
            size = journal.stat().st_size
            wait_until(lambda size=size: journal.stat().st_size != size, driver, pause=0.0)
        if not driver.alive():
            break
        struck = driver.kill()
        acknowledged |= settled(tmp_path)
        written = journal.stat().st_size
        driver = Driver(tmp_path, "resume", "chaos", "--no-ray")
        wait_until(lambda written=written: journal.stat().st_size > written, driver)
        slowest = max(slowest, time.time() - struck)
    assert driver.finish() == 0, driver.said[-3000:]
    count = audit(tmp_path, acknowledged)
    assert begun(tmp_path) <= trials + 4 + kills, "at most the trial in flight runs again"
    enter_row(Row("driver SIGKILL, then resume", kills, count.lost, count.doubled, count.overspent, slowest), kills)
    enter_row(Row("second driver on one run", intruders, note="refused, and told who holds it"), 1)


def _intrude(folder: Path, driver: Driver) -> int:
    """Start a second driver while the first one works."""
    command = [sys.executable, "-m", "orchestrator.cli", "resume", "chaos", "--no-ray", "--root", str(folder / "runs")]
    os.kill(driver.process.pid, signal.SIGSTOP)  # it must not finish while the other one is still starting
    second = subprocess.run(command, env=ENVIRONMENT, cwd=folder, capture_output=True, text=True, check=False)
    os.kill(driver.process.pid, signal.SIGCONT)
    assert second.returncode == 2, second.stderr
    assert f"in use by pid {driver.process.pid} on " in second.stderr
    return 1


def test_the_adversary_is_killed(tmp_path):
    """SIGKILL of the actor that keeps the budget, before and after it charges."""
    kills, trials = times(4, 40), times(30, 200)
    objective = {"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.15}
    path = plan(tmp_path, trials=trials, workers=2, objective=objective)
    driver = Driver(tmp_path, "run", str(path), "--set", "resources.cpus=0.5")
    ledger = tmp_path / "runs/chaos/journals/random.crash.seed0.ledger.jsonl"
    done, slowest = 0, 0.0
    for moment in seeded_moments(3, kills, trials):
        if not wait_until(lambda moment=moment: begun(tmp_path) > moment, driver):
            break
        wait_until(lambda: named(driver.process.pid, "ray::AdversaryActor"), driver)
        struck, size = time.time(), ledger.stat().st_size
        done += any(strike(pid) for pid in named(driver.process.pid, "ray::AdversaryActor"))
        if wait_until(lambda size=size: ledger.stat().st_size > size, driver):
            slowest = max(slowest, time.time() - struck)
    assert driver.finish(3000) == 0, driver.said[-3000:]
    count = audit(tmp_path)
    decided = [r.number for r in of_type(read(ledger), AdversaryReported)]
    assert sorted(decided) == list(range(4, trials + 4)), "every decision once"
    enter_row(Row("adversary SIGKILL", done, count.lost, count.doubled, count.overspent, slowest), kills // 2)


def test_the_tracking_server_goes_away_and_comes_back(tmp_path):
    """Frozen, ended and started again on the same database while a campaign runs; afterwards all of it is there."""
    seeds, store = times(3, 8), f"sqlite:///{tmp_path / 'mlflow.db'}"
    with mlflow_server(store, tmp_path / "server") as server:
        tracking = {"enabled": True, "uri": server.uri, "nested": False}
        objective = {"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.3}
        path = plan(tmp_path, seeds=seeds, trials=30, objective=objective, tracking=tracking)
        driver = Driver(tmp_path, "run", str(path), "--no-ray")
        strikes, slowest = _harass(server, tmp_path, driver, seeds * 34)
        assert driver.finish() == 0, driver.said[-3000:]
        sync = Driver(tmp_path, "sync", "chaos")
        assert sync.finish() == 0, sync.said[-3000:]
        missing, doubled = _in_mlflow(server.uri, seeds)
    count = audit(tmp_path)
    lost, doubled = count.lost + missing, count.doubled + doubled
    enter_row(Row("MLflow ended, frozen, restarted", strikes, lost, doubled, count.overspent, slowest), 3)


def _harass(server: MlflowServer, folder: Path, driver: Driver, trials: int) -> tuple[int, float]:
    """Freeze, thaw, end and restart the server in turn; returns how often, and how long trials came to a halt."""
    deeds = ["freeze", "thaw", "end", "restart"] * times(1, 4)
    slowest, wounds = 0.0, 0
    for deed, moment in zip(deeds, seeded_moments(4, len(deeds), trials), strict=True):
        if not wait_until(lambda moment=moment: begun(folder) > moment, driver):
            break
        {
            "freeze": lambda: server.signal(signal.SIGSTOP),
            "thaw": lambda: server.signal(signal.SIGCONT),
            "end": server.kill,
            "restart": lambda: server.start(wait=False),
        }[deed]()
        wounds += deed != "thaw"
        since, before = time.time(), begun(folder)
        if wait_until(lambda before=before: begun(folder) > before, driver):
            slowest = max(slowest, time.time() - since)
    if server.process is not None and server.process.poll() is None:
        server.signal(signal.SIGCONT)
    else:
        server.start(wait=False)
    server.wait()
    return wounds, slowest


def _in_mlflow(uri: str, seeds: int) -> tuple[int, int]:
    """Study runs that are missing, and that are there twice; each with its 34 trials."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    (experiment,) = [e for e in client.search_experiments() if e.name != "Default"]
    runs = client.search_runs([experiment.experiment_id], max_results=1000)
    found = [r.data.params["seed"] for r in runs if "seed" in r.data.params]
    for run in (r for r in runs if "seed" in r.data.params):
        assert len(client.get_metric_history(run.info.run_id, "observed")) in (34, 0), "every trial once"
    return len({str(s) for s in range(seeds)} - set(found)), len(found) - len(set(found))


def test_the_disk_is_full(tmp_path):
    """Files may grow so far and no further: a clean stop that names the path, then more room and a resumed run."""
    path = plan(tmp_path, objective={"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.0})
    room = random.Random(5).sample(range(3000, 12000), times(2, 10))
    acknowledged, slowest = set(), 0.0
    for i, size in enumerate(sorted(room)):
        arguments = ["resume", "chaos"] if i else ["run", str(path)]
        code, said = _cramped(tmp_path, size, *arguments)
        assert code == 1, said
        assert "random.crash.seed0.jsonl: cannot be written" in said
        assert "Traceback" not in said
        acknowledged |= settled(tmp_path)  # reads every line: a torn one would be refused
    struck = time.time()
    driver = Driver(tmp_path, "resume", "chaos", "--no-ray")
    assert driver.finish() == 0, driver.said[-3000:]
    slowest = time.time() - struck
    count = audit(tmp_path, acknowledged)
    enter_row(Row("disk full", len(room), count.lost, count.doubled, count.overspent, slowest), len(room))


def _cramped(folder: Path, size: int, *arguments: str) -> tuple[int, str]:
    """A driver none of whose files may grow beyond `size`; returns its exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", *arguments, "--no-ray", "--root", str(folder / "runs")],
        env=ENVIRONMENT,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)),
    )
    return done.returncode, done.stdout + done.stderr


# --- in this process: as often as one likes ---------------------------------------------------------------------------


@pytest.fixture
def finished(tmp_path):
    """A whole sequential study: the study, its journal's path and bytes."""
    from orchestrator.campaign.study import Component, Study
    from orchestrator.engine.sequential import run_sequential

    study = Study(Component("random"), Component("forrester"), Component("crash", {"budget": BUDGET}), trials=20)
    path = tmp_path / "study.jsonl"
    journal = FileJournal(path)
    run_sequential(study, journal, in_caller=True)
    journal.close()
    return study, path, path.read_bytes()


def resumed(study, path) -> list[Event]:
    from orchestrator.engine.sequential import run_sequential

    journal = FileJournal(path)
    try:
        assert run_sequential(study, journal, in_caller=True)
    finally:
        journal.close()
    return read(path)


def test_the_journal_is_torn_anywhere(finished):
    """Cut at seeded bytes of the whole file, then resumed: the same trials, the same lies."""
    study, path, whole = finished
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    offsets = sorted(random.Random(6).sample(range(ends[0], len(whole)), times(60, 400)))
    expected = _results(read(path))
    lost = doubled = overspent = 0
    for offset in offsets:
        path.write_bytes(whole[:offset])
        before = read(path)
        events = resumed(study, path)
        lost += len(expected - _results(events)) + (before != events[: len(before)])
        doubled += len(of_type(events, Observation)) - study.total
        overspent += len(of_type(events, AdversaryReported)) - BUDGET
    enter_row(Row("journal torn at any byte, then resumed", len(offsets), lost, doubled, overspent), len(offsets))


def _results(events: list[Event]) -> set:
    return {(o.number, *o.x, repr(o.y), o.corrupted) for o in of_type(events, Observation)}


def test_the_journal_is_damaged(finished):
    """A flipped bit is refused wherever it is: nothing false is taken for true, and the file is left alone."""
    _, path, whole = finished
    rng = random.Random(7)
    flips = times(60, 400)
    for _ in range(flips):
        data = bytearray(whole)
        data[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        with pytest.raises(JournalError, match="damaged"):
            FileJournal(path)
        assert path.read_bytes() == data
    enter_row(Row("journal with a flipped bit", flips, note="refused"))


def test_the_campaign_is_changed_under_a_run(tmp_path):
    from orchestrator.campaign.campaign import Campaign
    from orchestrator.campaign.runs import Run
    from orchestrator.engine import runner
    from orchestrator.errors import UserError

    plan = {"name": "chaos", "objective": "forrester", "algorithms": ["random"], "trials": 4, "seeds": 1}
    run = runner.start(Campaign.from_dict(plan), root=tmp_path)
    file = run.folder / "campaign.yaml"
    whole = file.read_text()
    changes = [("trials: 4", "trials: 9"), ("forrester", "branin"), ("random", "gp-ucb"), ("name: chaos", "name: c")]
    changes += [("trials: 4", "trials: 4\ninitial: 7"), ("trials: 4", "trials: 4\nretries: 9")]
    for before, after in changes:
        assert before in whole
        file.write_text(whole.replace(before, after))
        with pytest.raises(UserError, match="changed since it started"):
            Run.open(tmp_path, "chaos")
    enter_row(Row("campaign changed under a run", len(changes), note="refused, with the difference"))


def test_the_optimizer_throws(tmp_path, monkeypatch):
    """When asked for seeded trials; the study goes on with quasi-random points that are flagged."""
    from orchestrator.campaign.study import Component, Study
    from orchestrator.engine.sequential import run_sequential
    from rcgp import Optimizer

    study = Study(Component("gp-ucb"), Component("forrester"), Component("crash", {"budget": BUDGET}), trials=30)
    throws = set(random.Random(8).sample(range(study.initial, study.total), times(8, 20)))
    ask = Optimizer.ask

    def flawed(self: Optimizer, pending: Any = None) -> Any:
        if self.n in throws:
            raise LinAlgError("Singular matrix")
        return ask(self, pending)

    monkeypatch.setattr(Optimizer, "ask", flawed)
    journal = FileJournal(tmp_path / "study.jsonl")
    assert run_sequential(study, journal, in_caller=True)
    journal.close()
    events = read(tmp_path / "study.jsonl")
    flagged = [s.number for s in of_type(events, TrialSuggested) if s.fallback]
    assert set(flagged) == throws
    seen = [o.number for o in of_type(events, Observation)]
    row = Row("optimizer throws", len(flagged), study.total - len(set(seen)), len(seen) - len(set(seen)))
    enter_row(row, len(throws))


def test_results_come_twice_late_and_from_strangers():
    """The Tune adapter, told every result again and again in a seeded disorder: the first wins."""
    from ray import tune

    from orchestrator import RCGPSearch

    rng = random.Random(9)
    search = RCGPSearch(
        {"a": tune.uniform(0, 1), "b": tune.loguniform(1e-4, 1)}, metric="m", mode="max", algorithm="random"
    )
    told, injected = {}, 0
    for i in range(times(40, 200)):
        assert search.suggest(f"t{i}")
        told[f"t{i}"] = rng.random()
        search.on_trial_complete(trial_id=f"t{i}", result={"m": told[f"t{i}"]})
        for stranger in (rng.choice(list(told)), f"stranger{i}"):
            search.on_trial_complete(trial_id=stranger, result={"m": 1e6}, error=rng.random() < 0.3)
            injected += 1
    values = [o.y for o in search.observations]
    lost, doubled = len(set(told.values()) - set(values)), len(values) - len(told)
    enter_row(Row("results twice, late and from strangers", injected, lost, doubled), injected)
