"""The batch file for Slurm, run for real on one machine: `srun` and `scontrol` are stand-ins, Ray and the campaign are not."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BATCH = ROOT / "cluster-slurm.sbatch"
SRUN = """#!/usr/bin/env bash
echo "$@" >> "$SRUN_LOG"
while [[ "$1" == --* ]]; do shift; done
if [ "$1" = hostname ]; then echo 127.0.0.1; exit; fi
exec "$@"
"""
SCONTROL = "#!/usr/bin/env bash\nprintf 'node1\\nnode2\\n'\n"


def submit(folder: Path, *arguments: str, job: int = 4711, seconds: float = 240) -> "subprocess.CompletedProcess[str]":
    """What `sbatch` would do on the first of two nodes."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    here = {
        "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SRUN_LOG": str(folder / "srun.log"),
        "SLURM_JOB_ID": str(job),
        "SLURM_JOB_NAME": "smoked",
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_SUBMIT_DIR": str(folder),
        "RAY_AUTH_TOKEN": "a" * 64,
    }
    command = ["bash", str(BATCH), *arguments]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | here,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            said, _ = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGTERM)
            raise
    return subprocess.CompletedProcess(command, started.returncode, said, "")


def test_it_is_a_script_that_says_what_it_wants(tmp_path: Path) -> None:
    subprocess.run(["bash", "-n", str(BATCH)], check=True)
    done = submit(tmp_path)
    assert (done.returncode, done.stdout.strip()) == (
        2,
        "Which campaign? sbatch cluster-slurm.sbatch NAME [options of orchestrate run]",
    )


@pytest.mark.slow
@pytest.mark.ray
def test_a_campaign_runs_on_two_nodes_goes_on_when_requeued_and_leaves_nothing_behind(tmp_path: Path) -> None:
    campaign, job = ("smoke", "--seeds", "1", "--trials", "6", "--no-tracking"), os.getpid()
    ports = [20000 + number % 20000 for number in (job, job + 1)]  # the file's own rule
    done = submit(tmp_path, *campaign, job=job)
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"2 of 2 nodes at 127.0.0.1:{ports[0]}" in done.stdout
    assert len(list((tmp_path / "runs" / "smoked" / "journals").glob("*.jsonl"))) == 3
    starts = [line for line in (tmp_path / "srun.log").read_text().splitlines() if "ray start" in line]
    assert sorted(re.findall("--nodelist=(\\w+)", " ".join(starts))) == ["node1", "node2"]
    again = submit(tmp_path, *campaign, job=job + 1)
    assert again.returncode == 0, again.stdout[-3000:]
    assert "in runs/smoked" in again.stdout
    deadline = time.monotonic() + 60.0
    while left := [line for line in command_lines() if any(f"127.0.0.1:{port}" in line for port in ports)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def command_lines() -> list[str]:
    """Of every process on this machine; one that ends meanwhile has none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
