"""What a pipeline stage is.

A stage class is named `module:Class` in the system file. Its lifecycle:

    stage = Class(**params)          # parameters from the system file; cheap, validates them, raises ValueError
    stage.start(context)             # loads models, allocates, compiles; before the first job
    for each job:
        ready = stage.preprocess(job, inputs)    # work outside the deadline that may run ahead (decode ahead); pure
        outputs = stage.process(job, ready)      # the work that the schedule accounts for
        stage.postprocess(job, outputs)          # after publication; never changes outputs
    stage.stop()

A stage may have a method `stop_job()`, by which another thread asks it to give up the job that is in `process`, as its
budget is nearly used: `process` then raises `JobStopped` as soon as it can. Paced runs use it.

A stage that uses a resource of the system enters its section with `with job.section("bus"):`, and says so by
`enters_sections`. In paced runs that locks; in lockstep, where the schedule models who holds what, it takes nothing. Of
any other stage whose task declares sections the whole of `preprocess`, `process` and `postprocess` is one.

A stage reads only its inputs, its parameters and the job's times: no wall clock, no global state, no randomness.
A stateless stage may be called from several threads at once; a stateful one is called job after job. When its task
goes on elsewhere, or after its device was lost, another instance serves it from then on: what it remembered is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from rt_sched.errors import DataError
from rt_sched.messages.authentication import Authenticator
from rt_sched.ports.sections import Sections


class Rejected(DataError):
    """Raised by a stage that cannot use its input: nothing is published for this job, the reason is counted."""


class JobStopped(Exception):
    """Raised by `process` after `stop_job`: the job is given up, and publishes nothing."""


@dataclass(frozen=True, slots=True)
class Feeder:
    """The task that an input comes from: its name, its stage as "module:Class", and that stage's parameters.

    `feeders`: the tasks that feed it in turn, by its inputs; one task further back than `StageContext.feeders`.
    """

    task: str
    stage: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    feeders: Mapping[str, Feeder] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StageContext:
    """What a stage may know about the system at start.

    `task`: name of the task it serves. `sensors`: name -> properties (kind, calibration) of every sensor.
    `base_dir`: folder that relative paths in the system file refer to. `max_disparity_ns`: largest difference of the
    capture stamps that one job may combine, None without a limit; a stage that combines inputs keeps it.
    `feeders`: input name -> the task that it is connected to; an input from a sensor has none. With it stages that must
    fit each other say so at start. `sources`: connected input -> "task.port", or the sensor, that it comes from.
    `authenticator`: for stages that check the headers of their inputs themselves, of messages that must carry a tag.
    `rests_on`: connected input -> the sensors that its messages may rest on.
    """

    task: str
    base_dir: Path
    sensors: Mapping[str, SensorDescription] = field(default_factory=dict)
    max_disparity_ns: int | None = None
    feeders: Mapping[str, Feeder] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    authenticator: Authenticator | None = None
    rests_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SensorDescription:
    """Geometry of one sensor, as plain numbers.

    `intrinsics`: fx, fy, cx, cy in pixels of an image `image_width` x `image_height`; None when unknown.
    `sensor_to_vehicle`: 3 rows of 4: rotation and translation in metres; None when unknown.
    """

    name: str
    kind: str
    period_ns: int
    image_width: int | None = None
    image_height: int | None = None
    intrinsics: tuple[float, float, float, float] | None = None
    sensor_to_vehicle: tuple[tuple[float, float, float, float], ...] | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """What a stage takes for lost when it has grown too old, which it looks at whenever one of its jobs arrives.

    `sensor`: whose newest sample behind the newest message of `input` is looked at; None: that message itself, by its
    capture stamp. `age_limit_ns`: the largest age at the arrival of a job that is still good.
    """

    input: str
    sensor: str | None
    age_limit_ns: int


@dataclass(frozen=True, slots=True)
class JobContext:
    """Times of the job being processed, on the run's own clock (virtual in lockstep).

    All message stamps are on the same time line. `weights`: by sensor the factor of its weight in the fusion under the
    takeover that was in force when the job arrived; sensors that are not named keep theirs. `new_readers`: how often,
    up to the job's end, a reader of its outputs has begun without a past; stages that send changes only send everything
    when that grows.
    """

    task: str
    number: int
    arrival_ns: int
    start_ns: int
    finish_ns: int
    deadline_ns: int
    weights: tuple[tuple[str, Fraction], ...] = ()
    new_readers: int = 0
    degraded: bool = False
    sections: Sections | None = field(default=None, compare=False, repr=False)

    def section(self, resource: str) -> AbstractContextManager[bool]:
        """The job holds the resource meanwhile; given is whether its last owner died in a section of it, so that what
        it guards may be half-written. Raises DeploymentError where the task declares no such section.
        """
        return nullcontext(False) if self.sections is None else self.sections.hold(resource)


@runtime_checkable
class Stage(Protocol):
    """See the module's docstring. `inputs` and `outputs` map port names to message types.

    An input name that ends in `*` is a pattern: it stands for any number of inputs with that prefix.
    Every declared output is published by every job that is not rejected. An input that the system file
    marks as not required may be None.
    """

    inputs: ClassVar[Mapping[str, type]]
    outputs: ClassVar[Mapping[str, type]]
    stateful: ClassVar[bool]

    def start(self, context: StageContext) -> None: ...
    def preprocess(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]: ...
    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]: ...
    def postprocess(self, job: JobContext, outputs: Mapping[str, Any]) -> None: ...
    def stop(self) -> None: ...


class StageBase:
    """Defaults for the optional parts of the lifecycle.

    `optional_inputs` names those of `inputs` that a system file may leave unconnected: `process` then gets a mapping
    without them. `checks_e2e`: the stage checks the headers of its inputs itself and gets damaged messages too; for
    others the runtime does, and a damaged message counts as none. `enters_sections`: see the module's docstring.
    `sensor_parameters`: parameters that name sensors (a name, a list of names, or a mapping from names), with the kinds
    of sensor that they may name; loading checks them.
    """

    stateful: ClassVar[bool] = False
    optional_inputs: ClassVar[frozenset[str]] = frozenset()
    checks_e2e: ClassVar[bool] = False
    enters_sections: ClassVar[bool] = False
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def start(self, context: StageContext) -> None:
        """Nothing to prepare."""

    def preprocess(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Nothing runs ahead."""
        return inputs

    def postprocess(self, job: JobContext, outputs: Mapping[str, Any]) -> None:
        """Nothing to do after publication."""

    def stop(self) -> None:
        """Nothing to release."""

    def watches(self, context: StageContext) -> tuple[Watch, ...]:
        """What the stage watches over, told without being started; nothing."""
        return ()
