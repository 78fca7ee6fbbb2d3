"""Test functions with known maxima: Forrester, and BoTorch's Branin, Hartmann-6, Ackley, Levy and Rosenbrock."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from objectives.base import ObjectiveBase
from objectives.parameters import Parameter
from objectives.protocol import Optimum, Progress
from objectives.space import Point, Space

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class TestFunction(ObjectiveBase):
    """A formula plus Gaussian noise of standard deviation `noise_std`."""

    __test__: ClassVar[bool] = False  # the name is the field's word, not a test class
    name: ClassVar[str]
    noise_std: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.noise_std) and self.noise_std >= 0):
            raise ValueError(f"{self.name}: noise_std must be finite and at least 0, got {self.noise_std}.")

    @property
    @abstractmethod
    def optimum(self) -> Optimum:
        """The known maximum."""

    @abstractmethod
    def formula(self, values: Point) -> float:
        """The value to maximise at `values`, in the formula's own units."""

    def noiseless(self, x: ArrayLike) -> float:
        """The value without noise."""
        return self.formula(np.array(list(self.space.to_units(x).values())))

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        """The value plus noise drawn from `rng`."""
        return self.noiseless(x) + self.noise_std * float(rng.standard_normal())


@dataclass(frozen=True, kw_only=True)
class Forrester(TestFunction):
    """f(x) = (6x - 2)² sin(12x - 4) on [0, 1], as the paper maximises it; `negate` gives -f and its inner peak."""

    name: ClassVar[str] = "forrester"
    noise_std: float = 1.0
    negate: bool = False

    @property
    def space(self) -> Space:
        """The unit interval."""
        return Space((Parameter("x", 0.0, 1.0),))

    @property
    def optimum(self) -> Optimum:
        """On the border for f, inside for -f."""
        return Optimum((0.757248757285859,), 6.020740055767083) if self.negate else Optimum((1.0,), 16 * math.sin(8.0))

    def formula(self, values: Point) -> float:
        """±(6x - 2)² sin(12x - 4)."""
        x = float(values[0])
        f = (6 * x - 2) ** 2 * math.sin(12 * x - 4)
        return -f if self.negate else f


@lru_cache
def _botorch(function: str, dim: int | None) -> "Callable[..., Tensor]":
    """BoTorch's test function, negated because it minimises; imported here because BoTorch takes seconds to import."""
    with warnings.catch_warnings():  # BoTorch's linear_operator calls it when imported; a user can do nothing about it
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", FutureWarning)
        from botorch.test_functions import synthetic

    cls = getattr(synthetic, function)
    return cls(negate=True) if dim is None else cls(dim=dim, negate=True)


def _box(dim: int, low: float, high: float) -> Space:
    return Space(tuple(Parameter(f"x{i + 1}", low, high) for i in range(dim)))


@dataclass(frozen=True, kw_only=True)
class BoTorchFunction(TestFunction):
    """One of BoTorch's test functions, maximised (so negated)."""

    function: ClassVar[str]

    @property
    def _botorch_dim(self) -> int | None:
        return None

    def formula(self, values: Point) -> float:
        """Minus BoTorch's value."""
        import torch

        point = torch.as_tensor(values, dtype=torch.float64).unsqueeze(0)
        return float(_botorch(self.function, self._botorch_dim)(point, noise=False))


@dataclass(frozen=True, kw_only=True)
class Branin(BoTorchFunction):
    """Branin on [-5, 10] x [0, 15]: three equal maxima, of which `optimum` names the middle one."""

    name: ClassVar[str] = "branin"
    function: ClassVar[str] = "Branin"

    @property
    def space(self) -> Space:
        """The usual box."""
        return Space((Parameter("x1", -5.0, 10.0), Parameter("x2", 0.0, 15.0)))

    @property
    def optimum(self) -> Optimum:
        """(π, 2.275), -0.397887."""
        return Optimum(((math.pi + 5) / 15, 2.275 / 15), -10 / (8 * math.pi))


@dataclass(frozen=True, kw_only=True)
class Hartmann6(BoTorchFunction):
    """Hartmann in six dimensions: six local maxima, one of them global."""

    name: ClassVar[str] = "hartmann6"
    function: ClassVar[str] = "Hartmann"

    @property
    def _botorch_dim(self) -> int:
        return 6

    @property
    def space(self) -> Space:
        """The unit cube."""
        return _box(6, 0.0, 1.0)

    @property
    def optimum(self) -> Optimum:
        """3.322368: the maximum of BoTorch's formula, whose constants are rounded to single precision."""
        x = (0.2016895119, 0.1500106928, 0.4768739711, 0.2753324327, 0.3116516164, 0.6573005339)
        return Optimum(x, 3.322368004440187)


@dataclass(frozen=True, kw_only=True)
class AnyDimension(BoTorchFunction):
    """A test function with a free number of dimensions."""

    least: ClassVar[int] = 1
    bounds: ClassVar[tuple[float, float]]
    peak: ClassVar[float]
    """Every coordinate of the maximiser, in the function's units; the maximum is 0."""
    dim: int = 2  # a field where the parent has a property

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.dim, bool) or not isinstance(self.dim, int) or self.dim < self.least:
            raise ValueError(f"{self.name}: dim must be a whole number of at least {self.least}, got {self.dim!r}.")

    @property
    def _botorch_dim(self) -> int:
        return self.dim

    @property
    def space(self) -> Space:
        """The usual box."""
        return _box(self.dim, *self.bounds)

    @property
    def optimum(self) -> Optimum:
        """0, where every coordinate is `peak`."""
        low, high = self.bounds
        return Optimum(((self.peak - low) / (high - low),) * self.dim, 0.0)


@dataclass(frozen=True, kw_only=True)
class Ackley(AnyDimension):
    """Ackley on [-32.768, 32.768]^d: one narrow peak in the centre of an almost flat, rippled plain."""

    name: ClassVar[str] = "ackley"
    function: ClassVar[str] = "Ackley"
    bounds: ClassVar[tuple[float, float]] = (-32.768, 32.768)
    peak: ClassVar[float] = 0.0


@dataclass(frozen=True, kw_only=True)
class Levy(AnyDimension):
    """Levy on [-10, 10]^d: many ridges, a global maximum at (1, ..., 1)."""

    name: ClassVar[str] = "levy"
    function: ClassVar[str] = "Levy"
    bounds: ClassVar[tuple[float, float]] = (-10.0, 10.0)
    peak: ClassVar[float] = 1.0


@dataclass(frozen=True, kw_only=True)
class Rosenbrock(AnyDimension):
    """Rosenbrock on [-5, 10]^d: a curved ridge with its maximum at (1, ..., 1)."""

    name: ClassVar[str] = "rosenbrock"
    function: ClassVar[str] = "Rosenbrock"
    least: ClassVar[int] = 2
    bounds: ClassVar[tuple[float, float]] = (-5.0, 10.0)
    peak: ClassVar[float] = 1.0
