"""`lander`: the mean return of a linear policy on gymnasium's LunarLander-v3, 36 parameters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from objectives.base import ObjectiveBase
from objectives.parameters import Parameter
from objectives.protocol import Measured, Progress
from objectives.space import Point, Space

if TYPE_CHECKING:
    from gymnasium import Env

OBSERVATIONS = ("x", "y", "vx", "vy", "angle", "spin", "left_leg", "right_leg")
ACTIONS = ("idle", "left", "main", "right")
NAMES = (*(f"{action}_{o}" for o in OBSERVATIONS for action in ACTIONS), *(f"{action}_bias" for action in ACTIONS))
SPACE = Space(tuple(Parameter(name, -2.0, 2.0) for name in NAMES))
FRAMES_PER_SECOND = 50
Frames = list[NDArray[np.uint8]]


@dataclass(frozen=True, kw_only=True)
class Lander(ObjectiveBase):
    """Fire the engine with the largest score obs @ W + b, W of shape `8 x 4`; above 200 counts as a landing."""

    name: ClassVar[str] = "lander"

    episodes: int = 4
    max_steps: int = 1000
    wind: bool = False

    def __post_init__(self) -> None:
        for option in ("episodes", "max_steps"):
            if getattr(self, option) < 1:
                raise ValueError(f"lander: {option} must be at least 1, got {getattr(self, option)}.")

    @property
    def space(self) -> Space:
        """One weight per observation and action, one bias per action, each in [-2, 2]."""
        return SPACE

    @property
    def steps(self) -> int:
        """Its episodes."""
        return self.episodes

    def prepare(self) -> None:
        """Build the environment, so that a missing gymnasium[box2d] shows before the first trial."""
        _environment(self.wind, self.max_steps)

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        """The mean return over fresh episodes and its standard error; reports the running mean after each of them."""
        weights, bias = _policy(SPACE.check(x))
        env = _environment(self.wind, self.max_steps)
        returns: list[float] = []
        for episode, seed in enumerate(rng.integers(2**31, size=self.episodes), start=1):
            returns.append(sum(_rewards(env, weights, bias, int(seed))))
            if report is not None:
                report(episode, float(np.mean(returns)))
        mean = float(np.mean(returns))
        return mean if len(returns) < 2 else Measured(mean, float(np.std(returns, ddof=1) / np.sqrt(len(returns))))

    def render(self, x: ArrayLike, path: str | Path, seed: int = 0) -> float:
        """Film one episode of the policy `x` to `path` (.gif, or .mp4 with the `video` extra); its return."""
        save = _writer(Path(path))
        weights, bias = _policy(SPACE.check(x))
        env = _make_environment(self.wind, self.max_steps, render_mode="rgb_array")
        frames, total = [], 0.0
        for reward in _rewards(env, weights, bias, seed):
            total += reward
            frames.append(np.asarray(env.render()))
        env.close()
        save(frames, Path(path))
        return total


def _policy(x: Point) -> tuple[Point, Point]:
    """The point of the cube as weights `8 x 4` and biases `4`."""
    values = np.array(list(SPACE.to_units(x).values()))
    return values[:32].reshape(len(OBSERVATIONS), len(ACTIONS)), values[32:]


def _rewards(env: "Env[NDArray[np.float32], int]", weights: Point, bias: Point, seed: int) -> Iterator[float]:
    """One episode, reward by reward."""
    observation, _ = env.reset(seed=seed)
    over = False
    while not over:
        action = int(np.argmax(observation @ weights + bias))
        observation, reward, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
        yield float(reward)


@lru_cache(maxsize=4)
def _environment(wind: bool, max_steps: int) -> "Env[NDArray[np.float32], int]":
    """The environment, made once per process."""
    return _make_environment(wind, max_steps, render_mode=None)


def _make_environment(wind: bool, max_steps: int, render_mode: str | None) -> "Env[NDArray[np.float32], int]":
    import gymnasium

    try:
        return gymnasium.make(
            "LunarLander-v3", max_steps, render_mode=render_mode, enable_wind=wind, disable_env_checker=True
        )
    except gymnasium.error.DependencyNotInstalled as error:
        raise ModuleNotFoundError('LunarLander needs Box2D: pip install "gymnasium[box2d]".') from error


def _writer(path: Path) -> Callable[[Frames, Path], None]:
    """How a film of this name is saved."""
    writers = {".gif": _save_gif, ".mp4": _save_mp4}
    if path.suffix not in writers:
        raise ValueError(f"A film ends in .gif or .mp4, got {path.name!r}.")
    return writers[path.suffix]


def _save_gif(frames: Frames, path: Path) -> None:
    """Every second frame at half the size: enough to see, light enough to mail."""
    from PIL import Image

    images = [Image.fromarray(f[::2, ::2]) for f in frames[::2]]
    images[0].save(path, save_all=True, append_images=images[1:], duration=2000 // FRAMES_PER_SECOND, loop=0)


def _save_mp4(frames: Frames, path: Path) -> None:
    try:
        from imageio import mimsave

        mimsave(path, frames, fps=FRAMES_PER_SECOND)
    except (ImportError, ValueError) as error:  # imageio says ValueError when it finds no backend for the format
        remedy = 'pip install "rcgp-orchestrator[video]"'
        raise ModuleNotFoundError(f"An .mp4 needs the extra `video`: {remedy}; a .gif needs nothing.") from error
