"""Ray's control process: a port that answers or does not; a real one is killed in tests/chaos/test_ray.py."""

import socket

import pytest

from orchestrator.engine import control
from orchestrator.engine.control import ControlLostError, ControlProcess


def test_one_that_answers_is_there_and_one_that_does_not_is_lost_after_its_grace(monkeypatch):
    monkeypatch.setattr(control, "POLL_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        patient, strict = ControlProcess(address, grace=3600.0), ControlProcess(address, grace=0.0)
        strict.check()
    patient.check()
    with pytest.raises(ControlLostError, match="control process"):
        strict.check()


def test_it_is_asked_at_most_once_a_second():
    process = ControlProcess("127.0.0.1:1", grace=0.0)
    process.check()  # nobody listens there, and nobody was asked
