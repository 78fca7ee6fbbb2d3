"""Keep what a campaign found in a few kilobytes, and draw its figure and table again from that.

python results/draw.py                    # every figure and table here, from the stored curves
python results/draw.py --keep forrester   # the run of that name below runs/: store its curves first
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from orchestrator.campaign.runs import Run, storage_root
from orchestrator.review.figures import curves_figure, known_regrets, save_figures
from orchestrator.review.forensics import forensics_table
from orchestrator.review.ranking import printable, regret_table
from orchestrator.review.regret import band_curves, trials_frame
from orchestrator.review.tables import markdown

HERE = Path(__file__).parent
COLUMNS = ["adversary", "algorithm", "seed", "number", "cumulative_regret", "simple_regret"]


def keep(name: str, into: str) -> None:
    """Store the curves of a run, and who lied and was suspected, below this folder."""
    run = Run.open(storage_root(), name)
    frame, folder = trials_frame(run), HERE / into
    folder.mkdir(exist_ok=True)
    chosen = frame.loc[frame["number"] >= run.studies[0].initial, COLUMNS]
    undated = {"method": "gzip", "mtime": 0}
    chosen.to_csv(folder / "curves.csv.gz", index=False, float_format="%.5g", compression=undated)
    (folder / "suspects.md").write_text(markdown(forensics_table(frame).round(2)) + "\n")


def draw(folder: Path) -> None:
    """Figure and table of one stored campaign."""
    frame = pd.read_csv(folder / "curves.csv.gz")
    frame["study"] = frame.groupby(["adversary", "algorithm", "seed"]).ngroup()
    first = int(frame["number"].min())
    shown = known_regrets(frame)
    save_figures(iter([("regret", curves_figure(band_curves(frame, first, list(shown)), shown))]), folder)
    table = markdown(printable(regret_table(frame, first)))
    (folder / "regret.md").write_text(table + "\n")
    print(f"\n{folder.name}\n\n{table}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="RUN", help="the name of a run whose curves are stored first")
    parser.add_argument("--as", dest="into", help="the folder here that they go to (the run's name)")
    args = parser.parse_args()
    if args.keep:
        keep(args.keep, args.into or args.keep)
    for curves in sorted(HERE.glob("*/curves.csv.gz")):
        draw(curves.parent)


if __name__ == "__main__":
    main()
