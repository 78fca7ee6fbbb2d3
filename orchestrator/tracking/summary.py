"""What can be said once all studies are over: regret where it had to wait, a mean run for each algorithm, the report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from pandas import DataFrame

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.engine.events import Dated
from orchestrator.engine.history import events_of
from orchestrator.errors import redacted
from orchestrator.experiments import KIND
from orchestrator.review.files import current_files
from orchestrator.review.regret import band_curves, reference
from orchestrator.review.report import Report
from orchestrator.review.resource import is_known, resource_curves
from orchestrator.tracking import entries
from orchestrator.tracking.charts import COLOUR, STUDIES_VIEW, colours, final_views
from orchestrator.tracking.entries import BY_RESOURCE, Entry
from orchestrator.tracking.experiment import NOTE, charts_page, own_runs
from orchestrator.tracking.store import Store
from orchestrator.tracking.tags import MEAN, run_tags

SUMMARY = "summary"
MEANS = ("cumulative_regret", "recommended_regret", "simple_regret", "best_so_far")
LONGEST_NOTE = 8000


class Summary:
    """Writes the end of a campaign; written again, it changes nothing."""

    def __init__(self, run: Run, store: Store, experiment: str, objective: Objective) -> None:
        self._run, self._store, self._experiment, self._objective = run, store, experiment, objective

    def write(
        self, study_runs: Mapping[str, str], on_long_work: Callable[[], None], await_report: Callable[[], object]
    ) -> str:
        """All of it; `study_runs` are the ids of MLflow's runs by study, `on_long_work` is called before drawing. Returns the id
        of the campaign's own run.

        What somebody else is drawing is not drawn twice: `await_report` returns when that is done.
        """
        self._write_regret(study_runs)
        on_long_work()
        report = Report.of(self._run)
        self._write_means(report)
        on_long_work()
        await_report()
        summary = self._write_report(report, current_files(report))
        self._store.tag_experiment(self._experiment, final_views(self._run.campaign))
        return summary

    def _write_regret(self, study_runs: Mapping[str, str]) -> None:
        """The regrets that could not be known before all studies were over."""
        seen = {s.key: entries.by_number(events_of(self._run, s)) for s in self._run.studies}
        best, worst = reference(np.array([o.value for rows in seen.values() for o in rows]), self._objective)
        for study in self._run.studies:
            if entries.needs_no_other(seen[study.key], self._objective):
                continue
            rows = entries.regret_entries(seen[study.key], best, worst, study.initial)
            late = rows
            if study.scheduler is not None:
                late = rows + [
                    e for e in entries.resource_entries(seen[study.key], rows) if e.key.endswith(BY_RESOURCE)
                ]
            self._store.log(study_runs[study.key], entries.bends(late) + entries.final_regret_entries(rows))

    def _write_means(self, report: Report) -> None:
        """A run for each algorithm and adversary, with mean and standard-error curves over the seeds."""
        found = own_runs(self._store, self._experiment, self._run, "mean", MEAN)
        colour, objective = colours(self._run.campaign), self._run.campaign.objective
        for (adversary, algorithm), rows in report.frame.groupby(["adversary", "algorithm"], sort=False):
            label = f"{algorithm}.{adversary}"
            tags = {KIND: "mean", MEAN: label, COLOUR: colour[str(adversary), str(algorithm)]}
            known = found[label].info.run_id if label in found else self._create(self._mean_name(rows), tags)
            self._store.log(known, entries.bends(list(mean_entries(rows))), params=self._mean_params(rows))
            self._store.log_objective(known, objective)
            self._store.end_run(known, "FINISHED", entries.milliseconds(rows["at"].max()))

    def _mean_name(self, rows: DataFrame) -> str:
        """As short as a chart's legend wants it: `a2-rcgp-ucb (mean)`."""
        first, several = rows.iloc[0], len(self._run.campaign.adversaries) > 1
        return f"{first['algorithm']}{'/' + first['adversary'] if several else ''} (mean)"

    def _mean_params(self, rows: DataFrame) -> dict[str, str]:
        first = rows.iloc[0]
        named = {name: str(first[name]) for name in ("algorithm", "adversary", "objective")}
        return named | {"seeds": str(rows["seed"].nunique())}

    def _create(self, name: str, tags: dict[str, str]) -> str:
        """A run beside the studies' own, begun when the first of them did."""
        begun = min(e.at for s in self._run.studies for e in events_of(self._run, s) if isinstance(e, Dated))
        full = name if self._run.campaign.tracking.experiment is None else f"{self._run.name}/{name}"
        return self._store.create_run(self._experiment, entries.milliseconds(begun), run_tags(self._run) | tags, full)

    def _write_report(self, report: Report, files: Sequence[Path]) -> str:
        """A run for the campaign itself, with the report, its figures and the campaign; and the notes. Returns its id."""
        found = own_runs(self._store, self._experiment, self._run, SUMMARY, KIND)
        known = found[SUMMARY].info.run_id if found else self._create(SUMMARY, {KIND: SUMMARY})
        self._store.write(known, redacted((self._run.folder / "campaign.yaml").read_text()), "campaign.yaml")
        for path in files:
            self._store.upload(known, path)
        self._store.tag(known, NOTE, report.note()[:LONGEST_NOTE])
        page = f"#/experiments/{self._experiment}/runs/{known}/artifacts/report.html"
        studies = f"[Every study by itself]({charts_page(self._experiment, STUDIES_VIEW)}).\n\n"
        note = report.note(page)[: LONGEST_NOTE - len(studies)]
        self._store.tag_experiment(self._experiment, {NOTE: f"{note}\n\n{studies}"})
        self._store.end_run(known, "FINISHED", entries.milliseconds(report.frame["at"].max()))
        return known


def mean_entries(rows: DataFrame) -> Iterator[Entry]:
    """Mean and one standard error to either side, by trial, of the studies of one algorithm under one adversary."""
    at = entries.milliseconds(rows["at"].max())
    for name, ((_, band),) in band_curves(rows, 0, MEANS).items():
        curves = {name: band["mean"]}
        if rows["seed"].nunique() > 1:
            curves |= {f"{name}_low": band["low"], f"{name}_high": band["high"]}
        for key, curve in curves.items():
            finite = curve[np.isfinite(curve)]
            yield from (Entry(key, float(v), int(n), at) for n, v in zip(finite.index, finite, strict=True))
        yield from (Entry(k, v, 0, at) for k, v in entries.number(f"final_{name}", float(band["mean"].iloc[-1])))
    for name in ("recommended_regret", "simple_regret") if is_known(rows) else ():
        for _, band in resource_curves(rows, 0, name):
            finite = band["mean"][np.isfinite(band["mean"])]
            yield from (
                Entry(f"{name}{BY_RESOURCE}", float(v), int(n), at) for n, v in zip(finite.index, finite, strict=True)
            )
