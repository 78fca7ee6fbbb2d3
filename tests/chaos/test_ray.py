"""Ray's own processes, killed: what a run says then, and that nothing acknowledged is lost."""

import time

import pytest
from harness import (
    Driver,
    Row,
    audit,
    begun,
    descendants,
    enter_row,
    plan,
    settled,
    strike,
    times,
    title_of,
    wait_until,
)


@pytest.mark.parametrize(
    ("program", "words", "name", "seconds"),
    [
        ("gcs_server", "its control process (GCS) is gone", "Ray's control process SIGKILL", 0.2),
        # Ray notices late, and what it does not notice in time is no harm
        ("raylet", "this machine's part of it (raylet) is gone", "the driver's raylet SIGKILL", 8.0),
    ],
)
def test_a_process_of_ray_is_killed(tmp_path, program, words, name, seconds):
    """SIGKILL of what the driver started; the driver says so, and the next one completes the run."""
    kills, acknowledged, slowest = times(1, 6), set(), 0.0
    objective = {"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": seconds}
    path = plan(tmp_path, objective=objective, workers=2, trials=12 * kills, resources={"cpus": 0.5})
    driver = Driver(tmp_path, "run", str(path))
    for i in range(kills):
        wait_until(lambda i=i: begun(tmp_path) > 10 * i + 6, driver)
        (killed,) = [p for p in descendants(driver.process.pid) if title_of(p).partition(" ")[0].endswith(program)]
        assert strike(killed)
        struck = time.time()
        code = driver.process.wait(120)
        slowest = max(slowest, time.time() - struck)
        last = driver.said.splitlines()[-2:]
        assert code == 1, driver.said[-3000:]
        assert last[0].startswith(f"error: Ray: {words}"), last
        assert "continue with: orchestrate resume chaos" in last[1]
        assert "Traceback" not in driver.said
        acknowledged |= settled(tmp_path)
        driver = Driver(tmp_path, "resume", "chaos")
    assert driver.finish() == 0, driver.said[-3000:]
    count = audit(tmp_path, acknowledged)
    enter_row(Row(name, kills, count.lost, count.doubled, count.overspent, slowest), kills)
