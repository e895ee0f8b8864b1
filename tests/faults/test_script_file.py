"""Fault scripts: everything wrong is told at once with line and column; what is right is read as it is written."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system, load_system_text
from rt_sched.errors import ConfigError
from rt_sched.faults.kinds import BY_NAME, KINDS
from rt_sched.faults.script import Damage, Event, Trigger
from rt_sched.faults.script_file import load_script
from rt_sched.faults.timing import strikes_of
from rt_sched.units import NS_PER_S

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = """
rt_sched: 1
name: small
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
sensors:
  eye: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /eye}
  top: {kind: lidar, rate: 10Hz, attached_to: ecu, topic: /top, arrival: capture}
tasks:
  see: {runs_on: ecu.cpu, inputs: {image: eye}, execution: {wcet: 12ms}}
"""


@pytest.fixture(scope="module")
def system():
    return load_system_text(SYSTEM, file_name="small.yaml", base_dir=".", stages=None)


@pytest.fixture
def read(tmp_path, system):
    def script(faults, head="rt_sched_faults: 1"):
        path = tmp_path / "script.yaml"
        path.write_text(f"{head}\nfaults:\n" + "".join(f"  {line}\n" for line in faults), encoding="utf-8")
        return load_script(path, system)

    return script


@pytest.fixture
def problems(read):
    def found(faults, head="rt_sched_faults: 1"):
        with pytest.raises(ConfigError) as error:
            read(faults, head)
        return [(one.line, one.column, one.message) for one in error.value.problems]

    return found


def test_the_watch_over_sensors_is_struck_like_a_task(read, problems):
    kill, stall = read(
        [
            "a: {kind: process.kill, target: rt-health, at: 1s}",
            "b: {kind: process.stall, target: rt-health, at: 1s, stall: 9ms}",
        ]
    ).faults
    assert (kill.target, stall.target) == ("rt-health", "rt-health")
    found = problems(
        [
            "a: {kind: overrun, target: rt-health, demand: 9ms}",
            "b: {kind: process.kill, target: rt-health, at: 1s, restart: 9ms}",
        ]
    )
    assert [(line, message.partition(";")[0]) for line, _, message in found] == [
        (3, "unknown task 'rt-health'"),
        (4, "rt-health is started again by the supervisor that watches over it"),
    ]


def test_what_is_right_is_read(read):
    script = read(
        [
            "dark: {kind: camera.black, target: eye, at: 1.5s, for: 20ms}",
            "cut: {kind: payload.corrupt, target: eye, on: {sample: 12, of: eye, after: 1ms}, share: 0.3, how: flip}",
            "slow: {kind: process.stall, target: see, on: {fault: dark}, stall: 5ms}",
            "more: {kind: overrun, target: see, jobs: [7, 3], demand: 20ms}",
            "blind: {kind: lidar.sector, target: top, on: {job: 2, of: see}, from: -30.5deg, to: 30 deg}",
        ],
        "rt_sched_faults: 1\nseed: 9\nsystem: small",
    )
    dark, cut, slow, more, blind = script.faults
    assert script.seed == 9
    assert (dark.trigger, dark.lasts_ns) == (Trigger(1_500_000_000), 20_000_000)
    assert (cut.trigger, cut.share, cut.how) == (
        Trigger(1_000_000, Event.SAMPLE, "eye", 12),
        Fraction(3, 10),
        Damage.FLIP,
    )
    assert (slow.trigger, slow.stall_ns) == (Trigger(0, Event.FAULT, "dark"), 5_000_000)
    assert (more.trigger, more.jobs) == (Trigger(0, Event.JOB, "see", 3), (3, 7))
    assert (blind.trigger, blind.from_deg, blind.to_deg) == (
        Trigger(0, Event.JOB, "see", 2),
        Fraction("-30.5"),
        Fraction(30),
    )


@pytest.mark.parametrize(
    ("fault", "column", "message"),
    [
        ("{target: eye, at: 1s}", 6, "a fault needs the key 'kind', such as kind: camera.black"),
        ("{kind: camera.blak, target: eye, at: 1s}", 13, "unknown kind of fault 'camera.blak'; did you mean"),
        ("{kind: camera.black, at: 1s}", 6, "a fault needs the key 'target', such as target: the name of a camera"),
        ("{kind: camera.black, target: top, at: 1s}", 35, "unknown camera 'top'; valid: eye"),
        ("{kind: camera.black, target: eye}", 6, "say when it begins: at: 1.5s, or on: {sample: 12, of: front_wide}"),
        ("{kind: camera.black, target: eye, at: 1s, on: {sample: 1, of: eye}}", 48, "'at' and 'on' exclude each other"),
        ("{kind: camera.black, target: eye, at: -1s}", 44, "'-1s' must not be negative"),
        ("{kind: camera.black, target: eye, at: 1s, for: 0ms}", 53, "'0ms' must be"),
        ("{kind: camera.black, target: eye, at: 1s, by: 2ms}", 48, "'by' means nothing to camera.black"),
        ("{kind: camera.blur, target: eye, at: 1s, radius: 0}", 55, "expected a whole number from 1 to 100"),
        ("{kind: lidar.sector, target: top, at: 1s, from: 1deg}", 6, "a fault needs the key 'to', such as to: 30deg"),
        ("{kind: lidar.sector, target: top, at: 1s, from: 1deg, to: 1deg}", 64, "the sector is empty"),
        ("{kind: lidar.sector, target: top, at: 1s, from: 1, to: 2deg}", 54, "expected a direction such as 30deg"),
        ("{kind: message.delay, target: eye, at: 1s}", 6, "a fault needs the key 'by', such as by: 40ms"),
        ("{kind: message.delay, target: eye, at: 1s, by: 0ms}", 53, "'0ms' changes nothing"),
        ("{kind: message.delay, target: eye, at: 1s, by: -2ms}", 53, "'-2ms' must not be negative"),
        ("{kind: message.drop, target: eye, at: 1s, share: 1.5}", 55, "expected a share of more than 0 and at most 1"),
        ("{kind: message.drop, target: eye, at: 1s, share: .inf}", 55, "expected a share"),
        ("{kind: message.drop, target: eye, at: 1s, share: .nan}", 55, "expected a share"),
        ("{kind: message.drop, target: eye, at: 1s, share: 1e-999999999}", 55, "expected a share"),
        ("{kind: message.drop, target: eye, at: 1s, share: 0x2}", 55, "expected a share"),
        ("{kind: message.drop, target: eye, at: 1s, share: 1.00000000000000000001}", 55, "expected a share"),
        ("{kind: message.reorder, target: top, at: 1s}", 38, "messages of top arrive by their stamps"),
        ("{kind: overrun, target: see, at: 1s, demand: 20ms}", 35, "an overrun strikes jobs by number: jobs: [3]"),
        ("{kind: overrun, target: see, jobs: [], demand: 20ms}", 41, "the list is empty"),
        ("{kind: process.kill, target: see, on: {}}", 44, "say which event"),
        ("{kind: process.kill, target: see, on: {sample: 1}}", 44, "an event needs the key 'of', such as of: the name"),
        ("{kind: process.kill, target: see, on: {job: 1, of: eye}}", 57, "unknown task 'eye'; did you mean 'see'?"),
        ("{kind: process.kill, target: see, on: {fault: g}}", 52, "unknown fault 'g'"),
        ("{kind: process.kill, target: see, on: {fault: f}}", 3, "f waits for itself"),
        ("{kind: arbiter.kill, at: 1s}", 6, "small has no arbiter"),
        ("{kind: arbiter.kill, target: see, at: 1s}", 27, "arbiter.kill has no target: there is one arbiter"),
    ],
)
def test_a_mistake_is_told_where_it_stands(problems, fault, column, message):
    found = problems([f"f: {fault}"])
    assert any((line, at) == (3, column) and text.startswith(message) for line, at, text in found), found


def test_all_mistakes_are_told_at_once(problems):
    found = problems(
        ["a: {kind: camera.black, target: ey, at: 1}", "b: {kind: overrun, target: see}"],
        "rt_sched_faults: 2\nsystem: large\nseed: -1\nfoo: 1",
    )
    assert len(found) == 7


@pytest.mark.parametrize(
    "fault",
    [
        "kind: message.delay, target: eye, at: 1s, by: 99999s",
        "kind: clock.step, target: eye, at: 1s, by: 5",
        "kind: lidar.sector, target: top, at: 1s, from: 0deg, to: 400deg",
        "kind: lidar.sector, target: top, at: 1s, from: 0, to: 0deg",
    ],
)
def test_a_value_that_cannot_be_read_is_one_mistake(problems, fault):
    assert len(problems([f"a: {{{fault}}}"])) == 1


@pytest.mark.parametrize(("written", "meant"), [("0x1", Fraction(1)), ("1_0e-2", Fraction(1, 10))])
def test_a_share_is_read_as_yaml_writes_numbers(read, written, meant):
    [fault] = read([f"f: {{kind: message.drop, target: eye, at: 1s, share: {written}}}"]).faults
    assert fault.share == meant


def test_every_key_of_a_kind_is_one_of_the_table(system):
    from rt_sched.faults.script_spec import FAULT

    for kind in KINDS:
        assert set(kind.keys) <= set(FAULT.names)
        assert set(kind.needs) <= set(kind.keys)
    assert len(BY_NAME) == len(KINDS)


@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "faults").glob("*.yaml")), ids=lambda file: file.stem)
def test_the_examples_are_right(file):
    from fault_cases import drive

    (named,) = re.findall(r"^system: (\w+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    system = load_system(ROOT / "examples" / f"{named}.yaml", stages=ImportedStages())
    script = load_script(file, system)
    horizon_ns = drive().horizon_ns if system.name == drive().system.name else 4 * NS_PER_S  # the whole recording
    strikes = strikes_of(script, str(file), horizon_ns, drive().sample_ns, drive().job_ns)
    assert len(strikes) == len(script.faults)


def test_events_become_instants(read):
    script = read(
        [
            "last: {kind: camera.loss, target: eye, on: {fault: mid, after: 5ms}, for: 7ms}",
            "mid: {kind: process.kill, target: see, on: {job: 4, of: see, after: 2ms}, restart: 3ms}",
            "first: {kind: camera.black, target: eye, on: {sample: 1, of: eye}}",
        ]
    )
    strikes = strikes_of(script, "f", 10**9, lambda _, n: 1000 * n, lambda _, n: 10**6 * n)
    assert [(one.fault.name, one.begin_ns, one.end_ns) for one in strikes] == [
        ("first", 1000, None),
        ("mid", 6_000_000, 9_000_000),
        ("last", 11_000_000, 18_000_000),
    ]
    assert [strikes[1].holds(time_ns) for time_ns in (5_999_999, 6_000_000, 8_999_999, 9_000_000)] == [0, 1, 1, 0]


def test_each_of_the_jobs_that_overrun_has_its_instant(read):
    script = read(["f: {kind: overrun, target: see, jobs: [7, 3, 9], demand: 50ms}"])
    (strike,) = strikes_of(script, "f", 10**9, lambda *_: None, lambda _, n: 10**6 * n if n < 9 else None)
    assert strike.jobs == ((3, 3_000_000), (7, 7_000_000))
    assert strike.begin_ns == 3_000_000


def test_what_never_begins_is_told_fault_by_fault(read):
    script = read(
        [
            "never: {kind: camera.black, target: eye, on: {sample: 9, of: eye}}",
            "late: {kind: camera.black, target: eye, at: 2s}",
            "fine: {kind: camera.black, target: eye, at: 1s}",
        ]
    )
    with pytest.raises(ConfigError) as error:
        strikes_of(script, "f", 2 * 10**9, lambda *_: None, lambda *_: None)
    assert [(one.line, one.column, one.path, one.message) for one in error.value.problems] == [
        (3, 3, "faults.never", "what sets it off does not happen in this run"),
        (4, 3, "faults.late", "it begins at 2s; the run ends at 2s"),
    ]
