"""Ray, started here or joined: what goes wrong with it is one line."""

import pytest
import ray

from orchestrator.engine.cluster import connect
from orchestrator.errors import UserError


def test_a_ray_that_starts_too_slowly_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_slow(**options: object) -> None:
        raise Exception("The current node timed out\nduring startup. This could happen because ...")

    monkeypatch.setattr(ray, "init", too_slow)
    with pytest.raises(UserError, match=r"^Ray at this machine: The current node timed out during startup"):
        connect(None)
