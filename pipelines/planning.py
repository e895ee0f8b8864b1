"""Planning: what the vehicle should do about the situation ahead."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.parameters import checked_number
from rt_sched.messages import MotionPlan, Situation
from rt_sched.ports import JobContext, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S

Float = npt.NDArray[np.float64]

#: What surely closes in no faster than this is no emergency.
_LEAST_CLOSING_M_S = 1e-3

#: Steps of the speed profile.
_STEP_NS = 100 * NS_PER_MS
_STEPS = 30


class Plan(StageBase):
    """Situation -> a plan: collision warning, emergency braking and the speed of the next three seconds.

    Input `situation`: Situation; output `plan`: MotionPlan.

    Every object in the way is judged by its time to collision and by the deceleration that just keeps the distance.
    The firmest answer of all objects is planned:

    - emergency: `emergency_deceleration_m_s2`, from a time to collision of `emergency_ttc_s` or a needed deceleration
      of `emergency_needed_m_s2` on, until the time to collision has grown to `release_ttc_s`. Below `full_closing_m_s`
      the time that begins it shrinks in proportion to the closing speed, as the time does that braking takes: a slow
      approach leaves the way to brake gently, and little noise makes much of its time to collision. To begin, the
      emergency must stand out of the noise: the closing speed is first taken `confidence_sigmas` standard deviations to
      the harmless side (where the vehicle's own speed is not known, what is needed shrinks with its square), and the
      object must be in the way with a probability of `emergency_in_path`, its closing speed known to
      `emergency_closing_sigma_m_s`: what only cameras place, with a detector of moderate accuracy, is braked for, but
      not in an emergency;
    - brake: the needed deceleration, at least `brake_deceleration_m_s2`, from `brake_ttc_s` on;
    - warn: `warn_deceleration_m_s2`, from `warn_ttc_s` on.

    Else the wanted acceleration is 0. `warning` is set from `warn_ttc_s` on. The speed profile keeps the wanted
    deceleration until the object that decides comes no nearer, or until the vehicle stands where its speed is known.
    A situation that is not valid gives a plan that is not. Raises ValueError for a parameter out of range.
    """

    inputs: ClassVar[Mapping[str, type]] = {"situation": Situation}
    outputs: ClassVar[Mapping[str, type]] = {"plan": MotionPlan}
    stateful: ClassVar[bool] = True

    def __init__(
        self,
        *,
        warn_ttc_s: float = 3.0,
        brake_ttc_s: float = 2.4,
        emergency_ttc_s: float = 1.6,
        release_ttc_s: float = 2.2,
        full_closing_m_s: float = 6.0,
        confidence_sigmas: float = 0.5,
        emergency_in_path: float = 0.75,
        emergency_closing_sigma_m_s: float = 1.5,
        warn_deceleration_m_s2: float = 1.0,
        brake_deceleration_m_s2: float = 3.0,
        emergency_deceleration_m_s2: float = 8.0,
        emergency_needed_m_s2: float = 5.0,
    ) -> None:
        self._warn_ttc_s = checked_number("warn_ttc_s", warn_ttc_s, low=0.1, high=20.0, unit="s")
        self._brake_ttc_s = checked_number("brake_ttc_s", brake_ttc_s, low=0.1, high=self._warn_ttc_s, unit="s")
        self._emergency_ttc_s = checked_number(
            "emergency_ttc_s", emergency_ttc_s, low=0.1, high=self._brake_ttc_s, unit="s"
        )
        self._release_ttc_s = checked_number(
            "release_ttc_s", release_ttc_s, low=self._emergency_ttc_s, high=20.0, unit="s"
        )
        self._full_closing_m_s = checked_number("full_closing_m_s", full_closing_m_s, low=0.01, high=30.0, unit="m/s")
        self._sigmas = checked_number("confidence_sigmas", confidence_sigmas, low=0.0, high=5.0)
        self._emergency_m_s2 = checked_number(
            "emergency_deceleration_m_s2", emergency_deceleration_m_s2, low=0.1, high=10.0, unit="m/s^2"
        )
        self._needed_m_s2 = checked_number(
            "emergency_needed_m_s2", emergency_needed_m_s2, low=0.1, high=self._emergency_m_s2, unit="m/s^2"
        )
        self._brake_m_s2 = checked_number(
            "brake_deceleration_m_s2", brake_deceleration_m_s2, low=0.1, high=self._emergency_m_s2, unit="m/s^2"
        )
        self._in_path = checked_number("emergency_in_path", emergency_in_path, low=0.0, high=1.0)
        self._closing_sigma_m_s = checked_number(
            "emergency_closing_sigma_m_s", emergency_closing_sigma_m_s, low=0.01, high=20.0, unit="m/s"
        )
        self._warn_m_s2 = checked_number(
            "warn_deceleration_m_s2", warn_deceleration_m_s2, low=0.0, high=self._brake_m_s2, unit="m/s^2"
        )
        self._emergency = False

    def start(self, context: StageContext) -> None:
        """Forgets an emergency of an earlier run."""
        self._emergency = False

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        situation: Situation = inputs["situation"]
        ttc = situation.times_to_collision_s
        if not situation.valid:
            return {"plan": _plan(situation, valid=False)}
        urgent = self._urgent(situation)
        if self._emergency:
            urgent |= ttc <= self._release_ttc_s
        self._emergency = bool(urgent.any())
        brake, warn = ttc <= self._brake_ttc_s, ttc <= self._warn_ttc_s
        decelerations = np.where(warn, self._warn_m_s2, 0.0)
        firm = np.clip(situation.needed_m_s2, self._brake_m_s2, self._emergency_m_s2)
        decelerations = np.where(brake, firm, decelerations)
        decelerations = np.where(urgent, self._emergency_m_s2, decelerations)
        if not decelerations.any():
            return {"plan": _plan(situation, warning=bool(warn.any()))}
        # The firmest answer; among equals the object that is hit first.
        row = int(np.lexsort((ttc, -decelerations))[0])
        wanted = float(decelerations[row])
        times, changes = _profile(wanted, float(situation.closing_m_s[row]), situation.speed_m_s)
        plan = _plan(
            situation,
            warning=bool(warn.any()) or self._emergency,
            emergency=self._emergency,
            track_id=int(situation.track_ids[row]),
            acceleration=-wanted,
            profile=(times, changes),
        )
        return {"plan": plan}

    def _urgent(self, situation: Situation) -> npt.NDArray[np.bool_]:
        """Which objects call for emergency braking even when noise has made them look too dangerous."""
        closing = situation.closing_m_s - self._sigmas * situation.closing_sigmas_m_s
        closes = np.isfinite(situation.times_to_collision_s) & (closing > _LEAST_CLOSING_M_S)
        ttc = np.divide(situation.gaps_m, closing, out=np.full_like(closing, np.inf), where=closes)
        needed = situation.needed_m_s2
        if situation.speed_m_s is None:
            # It hangs on the closing speed alone then, by its square.
            sure_share = np.divide(closing, situation.closing_m_s, out=np.zeros_like(closing), where=closes)
            needed = needed * sure_share**2
        hard = closes & (needed >= self._needed_m_s2)
        sure = (situation.in_path >= self._in_path) & (situation.closing_sigmas_m_s <= self._closing_sigma_m_s)
        soon = ttc <= self._emergency_ttc_s * np.clip(closing / self._full_closing_m_s, 0.0, 1.0)
        return (soon | hard) & sure


def _profile(wanted_m_s2: float, closing_m_s: float, speed_m_s: float | None) -> tuple[npt.NDArray[np.int64], Float]:
    """Times after now and changes of speed until then, braking until nothing closes in or the vehicle stands."""
    times_ns = _STEP_NS * np.arange(1, _STEPS + 1, dtype=np.int64)
    enough = max(closing_m_s, 0.0)
    if speed_m_s is not None:
        enough = min(enough, max(speed_m_s, 0.0))
    return times_ns, np.maximum(-wanted_m_s2 * (times_ns / NS_PER_S), -enough)


def _plan(
    situation: Situation,
    *,
    valid: bool = True,
    warning: bool = False,
    emergency: bool = False,
    track_id: int | None = None,
    acceleration: float = 0.0,
    profile: tuple[npt.NDArray[np.int64], Float] | None = None,
) -> MotionPlan:
    finite = situation.times_to_collision_s[np.isfinite(situation.times_to_collision_s)]
    first_s = float(finite.min()) if valid and finite.size else None
    times, changes = profile if profile is not None else _profile(0.0, 0.0, situation.speed_m_s)
    return MotionPlan(
        capture_time_ns=situation.capture_time_ns,
        data_time_ns=situation.data_time_ns,
        valid=valid,
        warning=warning,
        emergency=emergency,
        track_id=track_id,
        time_to_collision_ns=None if first_s is None else math.floor(first_s * NS_PER_S),
        acceleration_m_s2=acceleration,
        speed_m_s=situation.speed_m_s,
        times_ns=times,
        speed_changes_m_s=changes,
        views=situation.views,
    )
