"""Machines to launch on, made of Linux namespaces: each has its own network, processes, home and Ray, and no way out."""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

TOOLS = ("unshare", "nsenter", "ip", "ssh", "ssh-keygen", "rsync", "/usr/sbin/sshd")
NAMESPACES = ("--net", "--pid", "--mount", "--uts", "--ipc")
USER = "ray"
GATEWAY = "192.0.2.1"
"""The address of the launching machine, on a network reserved for documentation."""
INIT = """
set -e
hostname {name}
ip link set lo up
mount --bind {home}/etc/passwd /etc/passwd
mount --bind {home}/etc/hosts /etc/hosts
mkdir -p /tmp/ray && mount --bind {home}/tmp /tmp/ray
mount -t tmpfs tmpfs /run && mkdir /run/sshd
for folder in {shared}; do mount --bind $folder $folder && mount -o remount,bind,ro $folder; done
touch {home}/etc/ready
while true; do sleep 1000 & wait $!; done  # reaps what is left behind, as an init does
"""
SSHD = """
ListenAddress {address}
HostKey {home}/etc/host_key
AuthorizedKeysFile {home}/.ssh/authorized_keys
PermitRootLogin yes
PasswordAuthentication no
StrictModes no
PidFile none
"""


def missing() -> str | None:
    """Why such machines cannot be made here, if they cannot."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "machines of namespaces need Linux and root"
    if absent := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"not installed: {', '.join(absent)}"
    bridge = ["unshare", *NAMESPACES, "--fork", "ip", "link", "add", "lan", "type", "bridge"]
    tried = subprocess.run(bridge, capture_output=True, text=True)
    return f"namespaces are not allowed: {tried.stderr.strip()}" if tried.returncode else None


@dataclass(frozen=True)
class Machine:
    """A machine; `home` is the home of its one user."""

    name: str
    address: str
    home: Path
    process: subprocess.Popen[bytes]

    @property
    def init(self) -> psutil.Process:
        """The machine's first process: all its others descend from it."""
        return psutil.Process(self.process.pid).children()[0]

    def run(self, *command: str, cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command on the machine as its user; what it said is in the error when it fails."""
        env = {"HOME": str(self.home), "USER": USER, "LOGNAME": USER, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        inside = ["nsenter", f"--target={self.init.pid}", "--all", f"--wd={cwd or self.home}"]
        done = subprocess.run(
            [*inside, *command],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0 or not check, f"{self.name}: {' '.join(command)}\n{done.stdout}"
        return done

    def processes(self) -> list[str]:
        """The command lines of all that runs on the machine, its init and its SSH server aside."""
        alive = [p for p in self.init.children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
        return [line for p in alive if (line := _command(p)) and not line.startswith(("sleep 1000", "sshd"))]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


@contextmanager
def network(folder: Path, addresses: dict[str, str]) -> Iterator[dict[str, Machine]]:
    """A launching machine, `laptop`, and the machines at `addresses`; everything ends with the block."""
    machines: dict[str, Machine] = {}
    try:
        for name, address in {"laptop": GATEWAY, **addresses}.items():
            machines[name] = _boot(folder, name, address)
        _connect(machines["laptop"], [machines[name] for name in addresses])
        for name in addresses:
            _serve(machines[name], machines["laptop"])
        yield machines
    finally:
        for machine in machines.values():
            machine.process.kill()  # unshare --kill-child ends the init, and the kernel all its descendants
            machine.process.wait()


def _boot(folder: Path, name: str, address: str) -> Machine:
    """Start a machine with one user, whose home is a folder of its own; installed packages cannot be changed from it."""
    home = folder / name
    for part in ("etc", "tmp", ".ssh"):
        (home / part).mkdir(parents=True)
    (home / "etc/passwd").write_text(f"{USER}:x:0:0::{home}:/bin/bash\nsshd:x:999:65534::/run/sshd:/usr/sbin/nologin\n")
    (home / "etc/hosts").write_text(f"127.0.0.1 localhost\n{address} {name}\n")
    script = INIT.format(name=name, home=home, shared=" ".join(map(str, packages())))
    unshare = ["unshare", *NAMESPACES, "--mount-proc", "--fork", "--kill-child", "bash", "-c", script]
    machine = Machine(name, address, home, subprocess.Popen(unshare))
    deadline = time.monotonic() + 30
    while not (home / "etc/ready").exists():
        assert machine.process.poll() is None, f"{name} did not start"
        assert time.monotonic() < deadline, f"{name} takes too long to start"
        time.sleep(0.05)
    return machine


def _connect(laptop: Machine, others: list[Machine]) -> None:
    """One Ethernet for all of them; its bridge is in the laptop's namespace, and nothing leads beyond."""
    laptop.run("ip", "link", "add", "lan", "type", "bridge")
    laptop.run("ip", "address", "add", f"{laptop.address}/24", "dev", "lan")
    laptop.run("ip", "link", "set", "lan", "up")
    for machine in others:
        wire = ["name", machine.name, "type", "veth", "peer", "name", "eth0", "netns", str(machine.init.pid)]
        subprocess.run(
            [
                "ip",
                "link",
                "add",
                *wire,
            ],
            check=True,
        )
        subprocess.run(["ip", "link", "set", machine.name, "netns", str(laptop.init.pid)], check=True)
        laptop.run("ip", "link", "set", machine.name, "master", "lan", "up")
        machine.run("ip", "address", "add", f"{machine.address}/24", "dev", "eth0")
        machine.run("ip", "link", "set", "eth0", "up")
        machine.run("ip", "route", "add", "default", "via", laptop.address)  # how Ray finds a machine's own address


def _serve(machine: Machine, laptop: Machine) -> None:
    """An SSH server that lets the laptop's user in."""
    key, etc = laptop.home / ".ssh/rcgp", machine.home / "etc"
    if not key.exists():
        laptop.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    machine.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(etc / "host_key"))
    shutil.copy(key.with_suffix(".pub"), machine.home / ".ssh/authorized_keys")
    (etc / "sshd_config").write_text(SSHD.format(address=machine.address, home=machine.home))
    machine.run("/usr/sbin/sshd", "-f", str(etc / "sshd_config"))


def packages() -> list[Path]:
    """The folders this environment takes installed packages from."""
    return [Path(entry) for entry in sys.path if entry.endswith("site-packages")]


def provide_packages(machine: Machine, environment: Path) -> None:
    """An environment that finds this one's packages: torch anew on every machine would be gigabytes.

    Only the project is missing. pip then has to find every requirement of it, at the version of the lock, in what is there:
    it has no index. Programs of packages are not found that way, so Ray's is written as pip would.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (own / "installed.pth").write_text("\n".join(map(str, packages())))
    (environment / "bin/ray").write_text(f"#!{environment}/bin/python\nfrom ray.scripts.scripts import main\nmain()\n")
    (environment / "bin/ray").chmod(0o755)
    (machine.home / ".config/pip").mkdir(parents=True)
    (machine.home / ".config/pip/pip.conf").write_text("[global]\nno-index = true\nno-build-isolation = false\n")
