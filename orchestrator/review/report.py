"""What a run came to: its trials, who regrets least, what was believed, and what to use."""

import re
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pandas import DataFrame, Series

from objectives import Objective
from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.campaign.sections import Confirmation, Halving, Limits, Resources
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.history import Summary, events_of, planned, summary
from orchestrator.failures import Failures
from orchestrator.machine_records import Record, in_words
from orchestrator.review.answer import Answer, Recommendation, best_of, concluded, recommend
from orchestrator.review.evidence import Evidence, evidence_of
from orchestrator.review.failures import failures_in
from orchestrator.review.posterior import History, histories
from orchestrator.review.ranking import BASELINE, figure, leaders, printable, regret_table, rightest
from orchestrator.review.regret import REGRETS, Bands, band_curves, trials_frame
from orchestrator.review.reporters import records_of
from orchestrator.review.tables import markdown, number
from orchestrator.review.timing import OUT_OF_TIME, sessions

CAREFUL = ("a2-rcgp-ucb", "fc-rcgp-ucb", "diagnostics-gp", "student-t-ucb", BASELINE)
"""Whom to believe first where nobody knows which reports are lies: all that have a model."""

CURVES = (*REGRETS, "best_so_far")


@dataclass(frozen=True)
class Report:
    """What is shown of a run: its trials, what they were for, and where the files go."""

    name: str
    description: str
    studies: tuple[Study, ...]
    frame: DataFrame
    folder: Path
    run: Run | None = None
    """Where the journals are; None when all is known from MLflow alone."""
    live: bool = False
    """Whether it is made while the run goes on: then without what takes long to draw."""

    @classmethod
    def of(cls, run: Run, live: bool = False) -> "Report":
        """The report of a run as its journals tell it."""
        frame, folder = trials_frame(run), run.folder / "report"
        return cls(run.name, run.campaign.description, run.studies, frame, folder, run, live)

    @property
    def initial(self) -> int:
        """Trials before the algorithms choose their own."""
        return self.studies[0].initial

    @cached_property
    def objective(self) -> Objective:
        """What was maximised."""
        return build_objective(self.studies[0])

    @property
    def campaign(self) -> Campaign:
        """What was run, so that it can be run again."""
        return _campaign(self.name, self.description, self.studies) if self.run is None else self.run.campaign

    # --- who regrets least -------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> DataFrame:
        """The regrets after as many trials as the algorithms have in common."""
        return regret_table(self.frame, self.initial)

    @cached_property
    def bands(self) -> dict[str, Bands]:
        """Mean and standard error over seeds by trial, of the regrets and the best so far."""
        return band_curves(self.frame, self.initial, [name for name in CURVES if name in self.frame])

    @property
    def headline(self) -> DataFrame:
        """The regrets under the first adversary that lied: what a reader came for."""
        lied = self.frame.loc[self.frame["corrupted"], "adversary"].unique()
        ranked = self.table["adversary"].unique().tolist()
        adversary = next((a for a in ranked if a in lied), ranked[0] if ranked else None)
        return self.table[self.table["adversary"] == adversary]

    @cached_property
    def leaders(self) -> list[str]:
        """Who regrets least in the headline: several where the seeds do not tell them apart, nobody before there are trials."""
        return leaders(self.headline) if len(self.headline) else []

    @property
    def shown(self) -> DataFrame:
        """The regrets, for people."""
        return printable(self.table) if len(self.table) else DataFrame()

    def by_study(self) -> DataFrame:
        """One row per study, of a run whose journals are here."""
        assert self.run is not None
        frame = self.frame if len(self.frame) else DataFrame(columns=["study", "best_so_far", *REGRETS])
        rows = [_study_row(s, summary(self.run, s), frame[frame["study"] == s.key]) for s in self.studies]
        return DataFrame(rows)

    @property
    def done(self) -> int:
        """Trials that came back."""
        return len(self.frame)

    @cached_property
    def total(self) -> int:
        """Trials that were to be made."""
        run = self.run
        return sum(study.total if run is None else planned(study, events_of(run, study)) for study in self.studies)

    @property
    def state(self) -> str:
        """What is missing, in a sentence; nothing when all studies are complete."""
        if self.done >= self.total:
            return ""
        far = f"{self.done:,} of {self.total:,} trials"
        last = [s.outcome for s in sessions(self.run)][-1:] if self.run else []
        limit = self.run.campaign.limits.total_seconds if self.run else None
        return (
            f"Stopped by its time limit of {limit:g} s after {far}."
            if last == [OUT_OF_TIME]
            else f"Not finished: {far}."
        )

    @property
    def caption(self) -> str:
        """What the table shows, in a line."""
        if self.table.empty:
            return f"{self.state} No algorithm has chosen a trial yet: there is nothing to compare.".strip()
        trials = _reached(self.table["trials"], self.studies[0].trials)
        return f"{self.state} Regret after {trials} trials, {self._over_seeds(self.table)}".strip()

    def _over_seeds(self, table: DataFrame) -> str:
        most = len({study.seed for study in self.studies})
        seeds = _reached(table["seeds"], most)
        return "one seed" if seeds == "1" else f"mean ± standard error over {seeds} seeds"

    def verdict(self) -> str:
        """The result in one sentence, or why there is none yet."""
        if not self.leaders:
            return self.caption.rstrip(".") + "."
        table = {str(row["algorithm"]): row for row in self.headline.to_dict("records")}
        told = " and ".join(f"{name}, {_regret(table[name])}" for name in self.leaders[:3])
        others = [BASELINE] if BASELINE in table and BASELINE not in self.leaders else []
        beside = "".join(f"; {name}: {_regret(table[name])}" for name in others)
        trials = _reached(self.headline["trials"], self.studies[0].trials)
        far = f"after {trials} trials, {self._over_seeds(self.headline)}"
        return f"{self.state} {self._first_words(table)}: {told}{beside} ({far}).".strip()

    def _first_words(self, table: Mapping[str, Mapping[Hashable, Any]]) -> str:
        first = table[self.leaders[0]]
        under = f" under {first['adversary']}" if self.table["adversary"].nunique() > 1 else ""
        if len(table) == 1:
            return f"Cumulative regret{under}"
        if len(self.leaders) > 1:
            return f"No clear winner in cumulative regret{under}"
        wins = f" ({first['wins']} of {first['seeds']} seeds won)" if first["seeds"] > 1 else ""
        return f"Least cumulative regret{' so far' if self.state else ''}{under}{wins}"

    def note(self, link: str = "") -> str:
        """What was run and what came out, in Markdown."""
        more = [f"[Open the report]({link}) with all figures.", ""] if link else []
        table = [] if self.table.empty else [markdown(self.shown)]
        return "\n".join([self.advice, "", self.verdict(), "", self.description, "", *more, *table])

    # --- what to use -------------------------------------------------------------------------------------------------

    @cached_property
    def answer(self) -> Answer | None:
        """The configuration to use; None before the first trial has come back."""
        if self.frame.empty:
            return None
        use = best_of(self._asked(), self.objective, self.frame, self.run)
        return None if use is None else Answer(use, self._plain(use.study))

    @property
    def advice(self) -> str:
        """The answer in one line, or that there is none yet."""
        if self.answer is None:
            return "No trial has come back yet."
        return " ".join(part for part in (self.answer.sentence(), in_words(self.reporters)) if part)

    def _asked(self) -> list[Study]:
        """The studies whose recommendation counts: of those that hand over the best where the truth is known and all is done,
        else of the most careful algorithm that ran. Random search believes every report, and is asked last."""
        against, there = set(self.headline["adversary"]), set(self.frame["study"].unique())
        begun = [s for s in self.studies if s.key in there]
        begun = [s for s in begun if s.adversary.label in against] or begun
        told = rightest(self.headline) if self._truth_is_known() and not self.state else []
        leading = [s for s in begun if s.algorithm.label in told and s.algorithm.name in CAREFUL]
        first = min(leading or begun, key=lambda s: _place(s.algorithm.name))
        return [s for s in begun if s.algorithm == first.algorithm and s.adversary == first.adversary]

    def _truth_is_known(self) -> bool:
        """Whether regret is counted on more than what the trials themselves report."""
        return self.objective.optimum is not None or bool(self.frame["corrupted"].any())

    def _plain(self, study: Study) -> Recommendation | None:
        """What GP-UCB hands over on the same seed against the same adversary."""
        same = [s for s in self.studies if (s.adversary, s.seed) == (study.adversary, study.seed)]
        plain = [s for s in same if s.algorithm.name == BASELINE and s != study]
        return recommend(plain[0], self.objective, self.frame, self.run) if plain else None

    # --- who is doubted, and who reported it ---------------------------------------------------------------------------

    @cached_property
    def judged(self) -> tuple[Study, ...]:
        """The studies by which reports are judged: those of the answer's algorithm under its adversary, all seeds."""
        use = None if self.answer is None else self.answer.use.study
        same = [s for s in self.studies if use and (s.algorithm, s.adversary) == (use.algorithm, use.adversary)]
        return tuple(same)

    @cached_property
    def reporters(self) -> list[Record]:
        """The record of every machine, the worst first."""
        rows = self.frame[self.frame["study"].isin([s.key for s in self.judged])]
        return records_of(rows) if len(rows) else []

    @cached_property
    def evidence(self) -> list[Evidence]:
        """Every suspect and every ruled trial of the judged studies, where the journals are here."""
        return [e for s in self.judged for e in evidence_of(self.run, s, self.frame)] if self.run else []

    @cached_property
    def failures(self) -> Failures | None:
        """How many trials failed, why and where; None where none did."""
        return failures_in(self.frame, self.objective)

    def expected(self) -> "Series[float]":
        """What the model says of each trial in the end, by the frame's index; NaN where its study has not ended."""
        known = {study.key: c.expected for study in self.studies if (c := concluded(self.run, study))}
        pairs = zip(self.frame["study"], self.frame["number"], strict=True)
        values = [known.get(study, {}).get(n, float("nan")) for study, n in pairs]
        return Series(values, index=self.frame.index, dtype=float)

    # --- curves and pictures -----------------------------------------------------------------------------------------

    @cached_property
    def histories(self) -> list[History]:
        """What the optimizers believed over time, where it can be drawn."""
        return [] if self.live else list(histories(self.studies, self.frame, self.objective, self.run))


def _place(algorithm: str) -> int:
    return CAREFUL.index(algorithm) if algorithm in CAREFUL else len(CAREFUL)


def answer_of(run: Run) -> Answer | None:
    """The configuration that a run says to use; None before its first trial has come back."""
    return Report.of(run).answer


def _reached(counts: "Series[int]", most: int) -> str:
    """How many, and of how many where some are missing."""
    low, high = int(counts.min()), int(counts.max())
    reached = str(low) if low == high else f"{low} to {high}"
    return reached if low >= most else f"{reached} of {most}"


def _regret(row: Mapping[Hashable, Any]) -> str:
    return figure(row["cumulative_regret_mean"], row["cumulative_regret_sem"])


def _campaign(name: str, description: str, studies: tuple[Study, ...]) -> Campaign:
    """The campaign that has these studies."""
    first = studies[0]
    return Campaign(
        name=re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "campaign",
        description=description,
        objective=first.objective,
        algorithms=tuple({s.algorithm.label: s.algorithm for s in studies}.values()),
        adversaries=tuple({s.adversary.label: s.adversary for s in studies}.values()),
        seeds=tuple(sorted({s.seed for s in studies})),
        trials=first.trials,
        initial=first.initial,
        workers=first.workers,
        resources=Resources(cpus=first.cpus, gpus=first.gpus),
        limits=Limits(trial_seconds=first.trial_seconds),
        retries=first.retries,
        crash_value=first.crash_value,
        confirm=None if first.confirm is None else Confirmation(**asdict(first.confirm)),
        scheduler=None if first.scheduler is None else Halving(**asdict(first.scheduler)),
    )


def _study_row(study: Study, figures: Summary, mine: DataFrame) -> dict[str, object]:
    """How far it is, best true value, regret, suspects, corruptions, failures; "-" before its first trial."""
    titles = {"best_so_far": "best"} | REGRETS
    last = {title: number(mine[name].iloc[-1]) if len(mine) else "-" for name, title in titles.items() if name in mine}
    counted = {name: getattr(figures, name) for name in ("suspects", "corrupted", "failed", "fallbacks")}
    spent = {"stopped": int(mine["stopped"].sum()), "steps": f"{mine['resource'].sum():.0f}"} if len(mine) else {}
    more = {"stopped": 0, "steps": "0"} | spent if study.scheduler is not None else {}
    return {"study": study.key, "trials": f"{figures.done}/{figures.total}"} | last | counted | more
