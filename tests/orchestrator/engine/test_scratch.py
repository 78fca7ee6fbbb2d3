"""What a run's processes leave among the temporary files is removed, and nobody else's is."""

import tempfile
from pathlib import Path

import pytest

from orchestrator.engine.scratch import remove_scratch, scratch_prefix


def test_only_what_the_run_itself_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    runs = [tmp_path / name / "journals" for name in ("mine", "theirs")]
    left = [Path(tempfile.mkdtemp(prefix=scratch_prefix(journals))) for journals in runs]
    (left[0] / "trial").mkdir()
    (left[0] / "trial" / "state.json").write_text("{}")
    remove_scratch(runs[0])
    assert [folder.exists() for folder in left] == [False, True]
