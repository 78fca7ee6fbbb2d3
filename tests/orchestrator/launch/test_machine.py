"""The launching machine is checked before anything is launched: each thing it may lack has its own line with a remedy."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from orchestrator import cli
from orchestrator.launch import machine
from orchestrator.launch.machine import Finding, check_machine

ROOT = Path(__file__).parents[3]
AWS = "[default]\naws_access_key_id = me\naws_secret_access_key = mine\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of somebody who did everything the documentation says, and is in the project's folder."""
    pytest.importorskip("boto3", reason="boto3 is not installed: pip install -r requirements.lock")
    for name in [name for name in os.environ if name.startswith(("RAY_AUTH", "AWS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(ROOT)
    for name, text in {".ray/auth_token": "0" * 64, ".ssh/rcgp": "", ".aws/credentials": AWS}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    for program in machine.PROGRAMS:
        provide(tmp_path, program)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    make_key(tmp_path)
    return tmp_path


def provide(home: Path, program: str) -> None:
    """A program of that name, whether this machine has the real one or not."""
    (home / "bin").mkdir(exist_ok=True)
    (home / "bin" / program).write_text("#!/bin/sh\n")
    (home / "bin" / program).chmod(0o755)


def make_key(home: Path, passphrase: str = "") -> None:
    """A real key where the on-premise file names one."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    (home / ".ssh/rcgp").unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", home / ".ssh/rcgp"], check=True)


def check(name: str = "cluster-onprem.yaml", ray: str = version("ray")) -> list[Finding]:
    """What is found amiss with this machine."""
    return list(check_machine(ROOT / name, yaml.safe_load((ROOT / name).read_text()), ray))


def orchestrate_check(name: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["orchestrate", "check", name])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code)


@pytest.mark.parametrize("name", ["cluster.yaml", "cluster-onprem.yaml", "cluster-kuberay.yaml"])
def test_who_followed_the_documentation_is_ready(home, name, monkeypatch, capsys):
    provide(home, "kubectl")
    assert orchestrate_check(name, monkeypatch) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == (f"{name}: nothing wrong.\n", "")


def test_what_launching_fails_over_ends_the_command_and_a_note_does_not(home, monkeypatch, capsys):
    (home / ".ray/auth_token").chmod(0o644)
    assert orchestrate_check("cluster.yaml", monkeypatch) == 0
    assert capsys.readouterr().err.startswith("note: this machine: others on this machine can read")
    (home / ".ray/auth_token").unlink()
    assert orchestrate_check("cluster.yaml", monkeypatch) == 2
    assert capsys.readouterr().err.startswith("error: this machine: no token in ~/.ray/auth_token")


def lines(fatal: bool, name: str = "cluster-onprem.yaml") -> str:
    found = [finding for finding in check(name) if finding.fatal == fatal]
    assert len(found) == 1, found
    return found[0].text


def test_a_token_that_was_never_made_is_one_line(home):
    (home / ".ray/auth_token").unlink()
    assert lines(fatal=True).endswith("to the nodes: ray get-auth-token --generate.")
    assert lines(fatal=True, name="cluster.yaml").startswith("no token in ~/.ray/auth_token")


def test_a_token_in_the_environment_keeps_ray_from_writing_the_file(home, monkeypatch):
    (home / ".ray/auth_token").write_text("\n")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "x")
    assert "unset RAY_AUTH_TOKEN; ray get-auth-token --generate." in lines(fatal=True)


def test_a_token_that_others_can_read_is_noted(home):
    (home / ".ray/auth_token").chmod(0o644)
    assert lines(fatal=False).endswith("chmod 600 ~/.ray/auth_token.")


def test_a_key_must_be_there_be_private_and_need_no_passphrase(home):
    (home / ".ssh/rcgp").chmod(0o644)
    assert lines(fatal=True).endswith("SSH refuses it: chmod 600 ~/.ssh/rcgp.")
    make_key(home, passphrase="secret")
    assert "the head cannot type one" in lines(fatal=True)
    (home / ".ssh/rcgp").unlink()
    assert "ssh-keygen -t ed25519 -N '' -f ~/.ssh/rcgp" in lines(fatal=True)


@pytest.mark.parametrize(("program", "package"), machine.PROGRAMS.items())
def test_programs_that_ray_calls_are_looked_for(home, monkeypatch, program, package):
    (home / "bin" / program).unlink()
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert lines(fatal=True).endswith(
        f"{program} is not installed: Ray reaches the nodes with it; apt-get install {package}."
    )


def test_the_provider_s_package_and_credentials_are_looked_for(home, monkeypatch):
    (home / ".aws/credentials").unlink()
    assert lines(fatal=False, name="cluster.yaml").startswith("no AWS credentials")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert lines(fatal=True, name="cluster.yaml").startswith("AWS credentials cannot be read")
    monkeypatch.setitem(machine.PACKAGES, "aws", ("boto3_that_is_not_there", "boto3"))
    assert lines(fatal=True, name="cluster.yaml").endswith("pip install boto3.")


def test_another_ray_and_another_folder_are_noted(home, monkeypatch):
    assert [(f.fatal, f.text) for f in check(ray="2.9.0")] == [
        (False, f"Ray is {version('ray')}, the nodes get 2.9.0: pip install 'ray[tune]==2.9.0' before you launch.")
    ]
    monkeypatch.chdir(home)
    assert lines(fatal=False).endswith(f"cd {ROOT} before 'ray up cluster-onprem.yaml'.")


def test_what_is_mounted_must_exist(home):
    config = {"provider": {"type": "local"}, "file_mounts": {"~/data": "/no/such/folder"}}
    (finding,) = check_machine(ROOT / "cluster.yaml", config, version("ray"))
    assert finding == Finding("this machine", "/no/such/folder is missing, which file_mounts copies to the nodes.")


def test_kubernetes_needs_neither_ssh_nor_token(home, monkeypatch):
    shutil.rmtree(home / ".ray")
    shutil.rmtree(home / ".ssh")
    provide(home, "kubectl")
    assert check("cluster-kuberay.yaml") == []
    (home / "bin/kubectl").unlink()
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert lines(fatal=False, name="cluster-kuberay.yaml").startswith("kubectl is not installed")
