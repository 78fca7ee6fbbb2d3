"""What a reviewer sees first in MLflow: saved views of its charts, and the report's colours. The forms are MLflow's own."""

import json
from collections.abc import Mapping, Sequence

from orchestrator.campaign.campaign import Campaign
from orchestrator.experiments import KIND
from orchestrator.review.figures import PALETTE

Json = Mapping[str, object]
Charts = Mapping[str, Sequence[Sequence[str]]]
"""From the headings of a view to the metrics of each chart under it. MLflow titles a chart by its metrics."""

CHARTS_VIEW, STUDIES_VIEW, SWEEPS_VIEW = "regret", "studies", "sweeps"
"""The view that the printed link opens, the one that always shows every study by itself, and the one of others' sweeps."""
COLOUR = "mlflow.runColor"
"""Tag with the colour of a run in MLflow's charts; the colours of its groups are hashed, and two may be the same."""
MEAN_CHARTS: Charts = {
    "Mean over seeds": [["cumulative_regret"], ["recommended_regret"], ["simple_regret"]],
    "Mean and one standard error to either side": [
        ["cumulative_regret", "cumulative_regret_low", "cumulative_regret_high"],
        ["recommended_regret", "recommended_regret_low", "recommended_regret_high"],
        ["simple_regret", "simple_regret_low", "simple_regret_high"],
    ],
    "Best true value so far, mean over seeds": [["best_so_far"]],
}
STUDY_CHARTS: Charts = {
    "Regret of every study": [["cumulative_regret"], ["simple_regret"]],
    "Values: the best true one so far, and what was reported": [["best_so_far"], ["observed"]],
    "Trust: suspects at the time, and the weight of each trial in the end": [["suspects"], ["weight"]],
}
MEAN_RESOURCE: Charts = {
    "Mean over seeds, by steps spent": [["recommended_regret_by_resource"], ["simple_regret_by_resource"]]
}
STUDY_RESOURCE: Charts = {"By steps spent, and what was spent": [["simple_regret_by_resource"], ["resource_spent"]]}
"""Where a scheduler stops trials on their way."""
SWEEP_CHARTS: Charts = {
    "Best so far: as reported, and as believed": [["best_reported", "best_believed"]],
    "Trials that the others contradict": [["suspects"]],
}
SWEEP_COLUMNS = ("believed_best", "believed_best_expected", "final_suspects", "trials")
RANK = "metrics.`final_cumulative_regret`"


def colours(campaign: Campaign) -> dict[tuple[str, str], str]:
    """The report's colours by adversary and algorithm."""
    pairs = [(v.label, a.label) for v in campaign.adversaries for a in campaign.algorithms]
    return {pair: PALETTE[i % len(PALETTE)] for i, pair in enumerate(pairs)}


def live_views(campaign: Campaign) -> dict[str, str]:
    """Tags of an experiment while its studies run: every study is a line in its algorithm's colour."""
    return _tags({CHARTS_VIEW: studies_view(campaign), STUDIES_VIEW: studies_view(campaign)})


def final_views(campaign: Campaign) -> dict[str, str]:
    """The same at the end: first the means over seeds."""
    return _tags({CHARTS_VIEW: means_view(campaign), STUDIES_VIEW: studies_view(campaign)})


def sweep_views() -> dict[str, str]:
    """Tags of an experiment that holds sweeps of others' own Tuners: the curves of each, and its trials as a table."""
    return _tags({SWEEPS_VIEW: _view("sweep", SWEEP_CHARTS, [f"metrics.`{name}`" for name in SWEEP_COLUMNS])})


def _tags(views: Mapping[str, Json]) -> dict[str, str]:
    return {f"mlflow.sharedViewState.{name}": json.dumps(view) for name, view in views.items()}


def means_view(campaign: Campaign) -> Json:
    """One line for each algorithm and adversary, the best first."""
    charts = MEAN_CHARTS if campaign.scheduler is None else {**MEAN_CHARTS, **MEAN_RESOURCE}
    return _view("mean", charts, _columns(campaign, "seeds")) | {"orderByKey": RANK}


def studies_view(campaign: Campaign) -> Json:
    """One line for each study, in the order they started."""
    charts = STUDY_CHARTS if campaign.scheduler is None else {**STUDY_CHARTS, **STUDY_RESOURCE}
    return _view("study", charts, _columns(campaign, "seed")) | {"orderByKey": "attributes.start_time"}


def _columns(campaign: Campaign, seeds: str) -> list[str]:
    adversary = ["params.`adversary`"] if len(campaign.adversaries) > 1 else []
    return [RANK, "metrics.`final_simple_regret`", "metrics.`final_suspects`", *adversary, f"params.`{seeds}`"]


def _view(kind: str, charts: Charts, columns: Sequence[str]) -> dict[str, object]:
    return {
        "searchFilter": f"tags.`{KIND}` = '{kind}'",
        "orderByAsc": True,
        "runsHiddenMode": "SHOW_ALL",
        "groupBy": None,
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "autoRefreshEnabled": True,
        "selectedColumns": list(columns),
        "compareRunSections": [_section(heading) for heading in charts],
        "compareRunCharts": [_chart(keys, heading) for heading, group in charts.items() for keys in group],
    }


def _section(heading: str) -> Json:
    return {"uuid": heading, "name": heading, "display": True, "isReordered": True, "columns": 2}


def _chart(keys: Sequence[str], heading: str) -> Json:
    return {
        "uuid": f"chart-{'-'.join(keys)}",
        "type": "LINE",
        "metricKey": keys[0],
        "selectedMetricKeys": list(keys),
        "metricSectionId": heading,
        "runsCountToCompare": 100,
        "deleted": False,
        "isGenerated": False,
        "lineSmoothness": 0,
        "scaleType": "linear",
        "xAxisScaleType": "linear",
        "xAxisKey": "step",
        "selectedXAxisMetricKey": "",
        "yAxisKey": "metric",
        "yAxisExpressions": [],
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
    }
