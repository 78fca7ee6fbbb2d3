"""Commands as real processes: their output in a file, their descendants known by a mark in the environment."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

from harness import ENVIRONMENT, kill_tree, parents

MARK = "HOSTILE"
SEVERAL = """
import json, sys
from orchestrator.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["orchestrate", *arguments]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    sys.stderr.flush()
    print(f"<<exit {code}>>", flush=True)
"""


class Session:
    """A process in a folder whose home and folder for temporary files are there too."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.folder, self._log = folder, folder / "log"
        self._before = self._log.stat().st_size if self._log.exists() else 0
        own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), MARK: str(folder), "COLUMNS": "200"}
        own["RAY_TMPDIR"] = gettempdir()  # its sockets need a short path
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                env=ENVIRONMENT | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def said(self) -> str:
        """What it printed."""
        return self._log.read_bytes()[self._before :].decode(errors="replace")

    def wait(self, seconds: float) -> int:
        """Its exit code; one that does not end, or ends in a traceback, breaks a promise."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            kill_tree(self.process.pid)
            raise AssertionError(f"no end after {seconds:g} s; it said: {self.said[-2000:]}") from None
        at = self.said.find("Traceback (most recent call last)")
        assert at < 0, f"a traceback on the terminal: {self.said[max(0, at - 300) : at + 4000]}"
        return code


def orchestrate(folder: Path, *arguments: str) -> Session:
    """The command line as a user starts it."""
    return Session(folder, "-m", "orchestrator.cli", *arguments)


def several(folder: Path, commands: list[list[str]], seconds: float = 300.0) -> list[tuple[int, str]]:
    """Exit code and output of commands that one process goes through: starting costs more than most of them."""
    session = Session(folder, "-u", "-c", SEVERAL, json.dumps(commands))
    code = session.wait(seconds)
    outputs, codes, rest = [], [], session.said
    while "<<exit " in rest:
        output, _, rest = rest.partition("<<exit ")
        exit_code, _, rest = rest.partition(">>")
        outputs.append(output.strip())
        codes.append(int(exit_code))
    assert code == 0, f"exit code {code}: {rest[-2000:]}"
    assert len(codes) == len(commands), f"{len(codes)} of {len(commands)} came back: {rest[-2000:]}"
    return list(zip(codes, outputs, strict=True))


def marked(folder: Path) -> list[int]:
    """The processes that descend from a session in the folder, whoever their parent is by now."""
    mark = f"{MARK}={folder}\0".encode()
    found = []
    for pid in parents():
        try:
            found += [pid] if mark in Path(f"/proc/{pid}/environ").read_bytes() else []
        except OSError:  # it ended, or is somebody else's
            continue
    return found
