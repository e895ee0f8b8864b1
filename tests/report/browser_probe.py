"""A page in a real browser, in a frame of any width, and what a probe at its end sees there."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from rt_sched.app.report.files import BROWSERS

BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)
MISSING = f"none of {', '.join(BROWSERS)} on the PATH"
#: Before everything else in the page.
_LISTEN = "<script>window.problems = []; addEventListener('error', (e) => window.problems.push(e.message));</script>"
_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1400,1000"
)


def look(page: str, probe: str, width: int, folder: Path) -> dict[str, Any]:
    """What a copy of the page, with the script `probe` at its end, reports about itself.

    The probe leaves JSON in `parent.document.documentElement.dataset.seen`; `window.problems` are the errors so far.
    The page stands in a frame of the width asked for, since a browser's own window has a least width.
    """
    probed = page.replace("<style>", _LISTEN + "<style>", 1).replace("</body>", probe + "</body>", 1)
    place = folder / "frame.html"
    place.write_text(
        f'<!doctype html><iframe style="border:0" width="{width}" height="900" '
        f'srcdoc="{html.escape(probed)}"></iframe>',
        encoding="utf-8",
    )
    assert BROWSER is not None
    command = [BROWSER, *_QUIET.split(), f"--user-data-dir={folder / 'profile'}", "--dump-dom", place.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert found, done.stdout[-2000:]
    result: dict[str, Any] = json.loads(html.unescape(found.group(1)))
    return result
