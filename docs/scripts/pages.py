"""Pages with examples: a system file in YAML, and tables of what its simulation gives.

A comment before each table says how the last system file above it is run:

    <!-- run: 60ms; change: protocol: none => protocol: msrp; fault: lose_front; mode: limp at 20ms -->

Demands are worst cases unless it says `demand: bcet`. The first column of a table is `job`, as in `low 0`, or `chain`,
whose other columns are the largest `reaction`, `latency` and `data age`, or `task`, with its `largest` response and the
`disparity` of its inputs. Chains and tasks also have a `bound`, as in `reaction bound`, and the `method` behind it;
disparities a `disparity bound`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rt_sched.analysis import Bound, analyze
from rt_sched.analysis.result import ModeResult
from rt_sched.config import load_system_text
from rt_sched.lowering import Execution, check_plan, lower, nominal_samples
from rt_sched.model import ModeChange, System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.disparity import measure_disparity
from rt_sched.trace.records import JobStatus, Trace, sample_of
from rt_sched.units import floor_int, format_ns, parse_time

PAGES = Path(__file__).resolve().parents[1] / "concepts"


@dataclass(frozen=True)
class Example:
    """One table of a page. `text`: the system file after the changes; `line`: of the table's first row."""

    page: str
    line: int
    text: str
    orders: dict[str, str]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def system_texts(page: Path) -> list[str]:
    """Every system file on a page, as written."""
    return re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def examples(page: Path) -> list[Example]:
    """Every table of a page that a run stands behind."""
    found: list[Example] = []
    lines = page.read_text().splitlines()
    text: list[str] = []
    inside, orders = False, None
    for number, line in enumerate(lines):
        if line.startswith("```"):
            inside = line == "```yaml"
            text = [] if inside else text
        elif inside:
            text.append(line)
        elif match := re.fullmatch(r"<!-- (run: .*) -->", line):
            orders = dict(re.split(r":\s*", part, maxsplit=1) for part in match[1].split("; "))
        elif line.startswith(("| job", "| chain", "| task")) and orders is not None:
            table = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in _table(lines[number:])]
            source = "\n".join(text)
            if "change" in orders:
                old, new = orders["change"].split(" => ")
                if old not in source:
                    raise ValueError(f"{page.name}:{number}: {old!r} is not in the example")
                source = source.replace(old, new)
            found.append(Example(page.stem, number + 3, source, orders, table[0], tuple(table[2:])))
            orders = None
    return found


def _table(lines: list[str]) -> list[str]:
    rows: list[str] = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(line)
    return rows


def run(example: Example) -> tuple[System, Trace]:
    """The simulation that an example describes."""
    text = f"rt_sched: 1\nname: {example.page}\n{example.text}"
    system = load_system_text(text, file_name=f"{example.page}.md", base_dir=".", stages=None)
    plan = make_plan(system)
    problems = check_plan(system, plan)
    if problems:
        raise ValueError(f"{example.page}.md:{example.line}: {problems}")
    horizon_ns = floor_int(parse_time(example.orders["run"]))
    changes = []
    if "mode" in example.orders:
        mode, time = example.orders["mode"].split(" at ")
        changes.append(ModeChange(floor_int(parse_time(time)), mode))
    scenario = None
    if "fault" in example.orders:
        scenario = next(one for one in system.fault_scenarios if one.name == example.orders["fault"])
    simulation = Simulation(
        lower(
            system,
            plan,
            nominal_samples(system, horizon_ns),
            horizon_ns=horizon_ns,
            execution=Execution(example.orders.get("demand", "wcet")),
            mode_changes=changes,
            scenario=scenario,
        )
    )
    simulation.run()
    return system, simulation.trace()


def chain_cell(system: System, trace: Trace, name: str, column: str) -> str:
    """The largest value of a chain, in the words of a table."""
    (chain,) = (chain for chain in system.chains if chain.name == name)
    if column.endswith(("bound", "method")):
        quantity, what = column.rsplit(" ", 1)
        result = next(one for one in _analysed(system).chains if one.chain == name)
        return _bound_cell(getattr(result, quantity.replace(" ", "_")), what)
    largest_ns = getattr(measure_chain(trace, chain.path), column.replace(" ", "_")).max_ns
    return "–" if largest_ns is None else format_ns(largest_ns)


def task_cell(system: System, trace: Trace, name: str, column: str) -> str:
    """The largest response of a task, or its bound, in the words of a table."""
    if column in ("bound", "method"):
        return _bound_cell(next(one for one in _analysed(system).tasks if one.task == name).bound, column)
    if column == "disparity bound":
        return _bound_cell(next(one for one in _analysed(system).disparities if one.task == name).bound, column)
    if column == "disparity":
        return format_ns(measure_disparity(trace, name).spread.max_ns or 0)
    jobs = trace.jobs
    mine = (jobs.task == trace.task_names.index(name)) & (jobs.finish_ns >= 0)
    return format_ns(int((jobs.finish_ns - jobs.arrival_ns)[mine].max()))


def _analysed(system: System) -> ModeResult:
    return analyze(system, make_plan(system)).modes[0]


def _bound_cell(bound: Bound | None, what: str) -> str:
    if bound is None:
        return "none"
    return f"`{bound.method}`" if what == "method" else format_ns(bound.value_ns)


def cell(system: System, trace: Trace, job: str, column: str) -> str:
    """What the simulation says about a job, in the words of a table."""
    name, number = job.split()
    jobs = trace.jobs
    rows = [
        row
        for row in range(len(jobs))
        if trace.task_names[jobs.task[row]] == name and int(jobs.number[row]) == int(number)
    ]
    if not rows:
        return "never arrives"
    row = rows[0]
    if column == "missed":
        return "yes" if jobs.missed[row] else "no"
    if column == "status":
        return JobStatus(int(jobs.status[row])).name.lower()
    if column == "response":
        done = jobs.finish_ns[row] >= 0
        return format_ns(int(jobs.finish_ns[row] - jobs.arrival_ns[row])) if done else "–"
    if column == "core":
        cores = [
            trace.processor_names[trace.slices.processor[i]]
            for i in range(len(trace.slices))
            if trace.slices.job[i] == row
        ]
        return ", ".join(dict.fromkeys(cores)) or "–"
    if column.startswith("reads "):
        task = next(task for task in system.tasks if task.name == name)
        slot = [given.name for given in task.inputs].index(column.removeprefix("reads "))
        return _message(trace, int(jobs.inputs[row, slot]))
    value = int(getattr(jobs, f"{column}_ns")[row])
    return "–" if value < 0 else format_ns(value)


def _message(trace: Trace, message: int) -> str:
    if message == -1:
        return "nothing"
    row = sample_of(message)
    if row >= 0:
        return f"{trace.sensor_names[trace.samples.sensor[row]]} {trace.samples.number[row]}"
    return f"{trace.task_names[trace.jobs.task[message]]} {trace.jobs.number[message]}"
