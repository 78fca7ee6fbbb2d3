"""The state of an optimizer apart from what it was told: the journal holds that anyway."""

from typing import TYPE_CHECKING

from orchestrator.plain import Fields, Json

if TYPE_CHECKING:
    from rcgp import Optimizer

TOLD = ("X", "y", "evidence")


def state_without_rows(optimizer: "Optimizer") -> Json:
    """The state of an optimizer without the observations and their curves."""
    state = {key: value for key, value in optimizer.state_dict().items() if key not in TOLD}
    curves = state.get("curves")
    return state if curves is None else state | {"curves": {key: curves[key] for key in curves if key != "rows"}}


def restore_state(optimizer: "Optimizer", state: Fields) -> None:
    """Bring an optimizer that was told the same to where another one was."""
    now, curves = optimizer.state_dict(), state.get("curves")
    with_rows = {} if curves is None else {"curves": {**curves, "rows": now["curves"]["rows"]}}
    optimizer.load_state_dict(dict(state) | {key: now[key] for key in TOLD} | with_rows)
