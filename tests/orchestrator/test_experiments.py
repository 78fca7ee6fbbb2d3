"""An MLflow experiment read as a table; that of foreign experiments is held in review/test_foreign.py."""

from pathlib import Path

import pytest

from orchestrator.errors import UserError, redacted
from orchestrator.experiments import StoreError, experiment_frame, one_line


def test_credentials_are_never_shown() -> None:
    assert redacted("postgresql+psycopg2://me:secret@db/mlflow") == "postgresql+psycopg2://***@db/mlflow"
    assert "secret" not in one_line(ValueError("cannot reach http://me:secret@host:5000/api"))


def test_a_clients_long_story_is_one_line() -> None:
    story = "API request failed with exception Pool(host='there'): Max retries exceeded with url: /api (Caused by {})"
    assert (
        one_line(OSError(story.format("NewConnectionError('[Errno 111] Connection refused')"))) == "connection refused"
    )
    assert one_line(OSError(story.format("SSLError('no')"))) == "SSLError('no')"


def damaged(path: Path) -> str:
    """The address of a database that is none."""
    path.write_text("not a database " * 500)
    return f"sqlite:///{path}"


def test_a_damaged_database_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as refusal:
        experiment_frame("any", damaged(tmp_path / "mlflow.db"))
    assert isinstance(refusal.value, UserError)
    assert "mlflow.db: damaged (file is not a database). Move the file away" in str(refusal.value)
    assert "\n" not in str(refusal.value)
