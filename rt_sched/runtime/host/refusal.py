"""Errors of the operating system that say what is missing."""

from __future__ import annotations

from rt_sched.errors import DeploymentError


class Refused(DeploymentError):
    """`what` was asked for and refused, because of `lacking`: a capability, a limit or a feature of the kernel.

    `mend`: a command or step that would allow it, empty where there is none.
    """

    def __init__(self, what: str, lacking: str, mend: str = "") -> None:
        super().__init__(what, lacking, mend)  # as given, so that the error can travel between processes
        self.what = what
        self.lacking = lacking
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.what}: {self.lacking}" + (f"; to mend it: {self.mend}" if self.mend else "")
