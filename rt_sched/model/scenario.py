"""Scenarios: one legal run of a system, told sample by sample and job by job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobChoice:
    """What a system leaves open of one job, chosen.

    `arrival_ns`: of sporadic tasks only. The release follows after `jitter_ns`. `demand_ns`: execution time on the
    element where the job runs, at its first frequency. `suspensions_ns`: length of each of its suspensions. None: the
    longest.
    """

    arrival_ns: int | None = None
    jitter_ns: int = 0
    demand_ns: int | None = None
    suspensions_ns: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """A sample of a sensor: captured when, at its device when."""

    capture_ns: int
    arrival_ns: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What a scenario was kept for: a time of a task or chain. `quantity`: response, reaction, latency or data_age."""

    target: str
    quantity: str
    value_ns: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run from 0 to `horizon_ns` in which nothing is drawn.

    `clocks`: device -> by how much its clock is late, within its declared error. `samples`: sensor -> all its samples;
    other sensors deliver at their nominal instants. `tasks`: task -> its first jobs, in order; of a sporadic task these
    are all. The jobs behind them, and those of other tasks, are released at their arrival and need the longest times;
    other sporadic tasks arrive as densely as they may.
    `system_sha256`, `plan_sha256`: of the system and the plan that it was made for.
    """

    system: str
    horizon_ns: int
    clocks: tuple[tuple[str, int], ...] = ()
    samples: tuple[tuple[str, tuple[SampleChoice, ...]], ...] = ()
    tasks: tuple[tuple[str, tuple[JobChoice, ...]], ...] = ()
    shown: Shown | None = None
    system_sha256: str = ""
    plan_sha256: str = ""
