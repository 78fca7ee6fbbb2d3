"""Run folders: what can be opened, and what is said of those that cannot."""

import json
from pathlib import Path

import pytest
import yaml

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.errors import UserError

PLAN = {"name": "kept", "objective": "forrester", "algorithms": "random", "trials": 2}


def edit(folder: Path, **changes: object) -> None:
    """Change run.json; None takes a key away."""
    path = folder / "run.json"
    edited = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in edited.items() if v is not None}))


def test_a_run_opens_as_it_was_created(tmp_path: Path) -> None:
    made = Run.create(tmp_path, "kept", Campaign.from_dict(PLAN), ["/somewhere"])
    assert Run.open(tmp_path, "kept") == made


def test_a_folder_of_an_older_version_is_refused_in_one_line_with_the_remedy(tmp_path: Path) -> None:
    folder = Run.create(tmp_path, "kept", Campaign.from_dict(PLAN)).folder
    edit(folder, id=None)
    with pytest.raises(UserError) as refusal:
        Run.open(tmp_path, "kept")
    told = str(refusal.value)
    assert told == (
        f"{folder}: made by an older version (run.json lacks id). "
        f"Run it again with: orchestrate run {folder}/campaign.yaml"
    )


@pytest.mark.parametrize("text", ["", "{", "[1]", "3"])
def test_a_damaged_folder_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    folder = Run.create(tmp_path, "kept", Campaign.from_dict(PLAN)).folder
    (folder / "run.json").write_text(text)
    with pytest.raises(UserError) as refusal:
        Run.open(tmp_path, "kept")
    assert str(folder) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_changed_campaign_is_refused_and_shows_no_password(tmp_path: Path) -> None:
    secret = Campaign.from_dict(PLAN | {"tracking": {"uri": "http://me:hunter2@there:1"}})
    folder = Run.create(tmp_path, "kept", secret).folder
    (folder / "campaign.yaml").write_text(yaml.safe_dump(PLAN | {"trials": 3}))
    with pytest.raises(UserError, match="changed since it started") as refusal:
        Run.open(tmp_path, "kept")
    assert "trials: 2 -> 3" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_files_that_hold_a_password_are_for_their_owner_alone(tmp_path: Path) -> None:
    address = "postgresql+psycopg2://someone:hunter2@db/mlflow"
    secret = Run.create(tmp_path, "secret", Campaign.from_dict(PLAN | {"tracking": {"uri": address}}))
    plain = Run.create(tmp_path, "plain", Campaign.from_dict(PLAN | {"tracking": {"uri": "http://db:5000"}}))
    for name in ("campaign.yaml", "run.json"):
        assert (secret.folder / name).stat().st_mode & 0o777 == 0o600
        assert (plain.folder / name).stat().st_mode & 0o444 == 0o444
    assert Run.open(tmp_path, "secret").campaign.tracking.uri == address
