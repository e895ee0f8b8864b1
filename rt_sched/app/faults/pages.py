"""What became of faults, as a page: of a campaign, and beside the report of a run whose script struck it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rt_sched.errors import DeploymentError
from rt_sched.faults.spread import by_kind
from rt_sched.report.campaign_page import campaign_page
from rt_sched.report.text import plural

#: In the folder of a run with a fault script.
PAGE, DOCUMENT = "faults.html", "faults.json"


def write_campaign(document: Mapping[str, Any], page: Path) -> None:
    """The page of a campaign; raises DeploymentError when it cannot be written."""
    lead = f"{plural(len(document['runs']), 'run')} with one fault each, drawn from seed {document['seed']}"
    _write(page, campaign_page(document, f"{lead}; clock {document['clock']}."))


def write_run(document: Mapping[str, Any]) -> None:
    """Page and document of a run into its folder, where stages ran; raises DeploymentError as above."""
    if document["run"] is None:
        return
    folder, rows = Path(document["run"]["folder"]), document["faults"]
    lead = f"{plural(len(rows), 'fault')} of {document['script']} in one run; clock {document['clock']}."
    _write(folder / DOCUMENT, json.dumps(document, indent=2) + "\n")
    _write(folder / PAGE, campaign_page({**document, "kinds": by_kind(rows), "runs": rows}, lead))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"cannot write {path}: {error.strerror or error}") from error
