"""What people ask of a study, live or at rest, in a file of requests beside its journal, which the study reads between trials.

Anybody may add to the file, one at a time; the study alone writes its journal. A request is obeyed once it is in there.
"""

import getpass
from collections.abc import Sequence

from orchestrator.campaign.lock import InUseError
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import Event, Request
from orchestrator.engine.journal import FileJournal, only_requests, read_requests, requests_path
from orchestrator.errors import UserError

LOCK_TIMEOUT = 10.0
"""Seconds to wait for somebody else who is just adding a request."""


def ask(run: Run, study: Study, *requests: Request) -> None:
    """Write down what is asked of a study; on disk when this returns."""
    path = requests_path(run.journal(study))
    try:
        path.parent.mkdir(exist_ok=True)
        file = FileJournal(path, lock_timeout=LOCK_TIMEOUT)
    except (OSError, InUseError) as error:
        raise UserError(f"{path}: cannot be written ({error}).") from None
    try:
        file.append(*requests)
    finally:
        file.close()


def asked(run: Run, study: Study) -> list[Request]:
    """Everything that was ever asked of a study, in order."""
    return read_requests(run.journal(study))


def unheard(run: Run, study: Study, events: Sequence[Event]) -> list[Request]:
    """What was asked of a study and is not in its journal, whose `events` these are."""
    heard = {request.id for request in only_requests(events)}
    return [request for request in asked(run, study) if request.id not in heard]


def author() -> str:
    """Who asks, as the machine knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        return "somebody"
