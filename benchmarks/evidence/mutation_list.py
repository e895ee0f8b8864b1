"""Mutations of the scheduling kernel: each breaks one rule of the semantics by a replacement of its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """In `rt_sched/<file>` the text `old`, which occurs once, becomes `new`; `rule` is the number in the semantics."""

    rule: int
    says: str
    file: str
    old: str
    new: str


_CHANGES = """\
            if time["next_change"] < len(changes):
                make_changes(m)
"""
_COMPLETIONS = """\
            if time["progress_min_ns"] == instant_ns or time["spins_ended"] > 0:
                completions(m)
"""
_DELIVERIES = """\
            if instant_ns < time["horizon_ns"]:
                deliveries(m)
"""
_EXPIRIES = "            expiries(m)\n"
_ARRIVALS = "                arrivals(m)\n"
_DISPATCH = "                dispatch(m)\n"
_LOOP = f"""\
{_CHANGES}{_COMPLETIONS}{_DELIVERIES}{_EXPIRIES}\
            if instant_ns == time["horizon_ns"]:
                _end(m)
            else:
{_ARRIVALS}{_DISPATCH}"""

#: The same pieces among the phases that the horizon leaves out.
_EXPIRIES_INSIDE = "                expiries(m)\n"
_DELIVERIES_INSIDE = "                deliveries(m)\n"


def _order(*phases: tuple[str, str]) -> str:
    """The loop over the phases with pieces replaced, one after the other."""
    loop = _LOOP
    for old, new in phases:
        if loop.count(old) != 1:
            raise ValueError(f"not once in the loop: {old}")
        loop = loop.replace(old, new)
    return loop


_DRAW = "kernels/draw.py"
_MACHINE = "kernels/machine.py"
_PHASES = "kernels/phases.py"
_JOBS = "kernels/jobs.py"
_DISPATCHING = "kernels/dispatch.py"
_BUDGETS = "kernels/budgets.py"
_SERVERS = "kernels/servers.py"
_LOCKS = "kernels/locks.py"
_PROGRAM = "kernels/program.py"
_MESSAGES = "kernels/messages.py"
_FREQUENCY = "kernels/frequency.py"
_CHANGING = "kernels/changes.py"
_TAKEOVERS = "kernels/takeovers.py"
_SPANS = "kernels/spans.py"
_BUILD = "sim/build.py"

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(1, "the rest of a rational period never adds up", _PHASES, "next_ns += 1\n", "next_ns += 0\n"),
    Mutation(1, "a demand is at least 1", _DRAW, "return max(low + part, 1)", "return max(low + part, 2)"),
    Mutation(
        2,
        "losses before completions",
        _MACHINE,
        _LOOP,
        _order((_CHANGES, ""), (_COMPLETIONS, _COMPLETIONS + _CHANGES)),
    ),
    Mutation(
        2,
        "completions before expiries",
        _MACHINE,
        _LOOP,
        _order((_EXPIRIES, ""), (_COMPLETIONS, _EXPIRIES + _COMPLETIONS)),
    ),
    Mutation(
        2,
        "deliveries before arrivals",
        _MACHINE,
        _LOOP,
        _order((_DELIVERIES, ""), (_ARRIVALS, _ARRIVALS + _DELIVERIES_INSIDE)),
    ),
    Mutation(
        2,
        "expiries before arrivals",
        _MACHINE,
        _LOOP,
        _order((_EXPIRIES, ""), (_ARRIVALS, _ARRIVALS + _EXPIRIES_INSIDE)),
    ),
    Mutation(
        2, "arrivals before dispatch", _MACHINE, _LOOP, _order((_DISPATCH, ""), (_ARRIVALS, _DISPATCH + _ARRIVALS))
    ),
    Mutation(
        3, "a job is ready from its release on", _JOBS, 'if record["release_ns"] > m.clock[0]["now_ns"]:', "if False:"
    ),
    Mutation(
        3,
        "the deadline counts from arrival",
        _JOBS,
        'job["deadline_ns"] = now_ns + state["deadline_ns"]',
        'job["deadline_ns"] = now_ns + state["deadline_ns"] + state["jitter_ns"]',
    ),
    Mutation(
        3,
        "a separation as declared is none too short",
        _JOBS,
        'distance_ns < state["separation_ns"]',
        'distance_ns <= state["separation_ns"]',
    ),
    Mutation(
        3,
        "the next job has its turn when the one before ends",
        _JOBS,
        'following = m.jobs[job]["next_job"]\n    while',
        'following = state["tail_job"] if state["tail_job"] != job else NONE\n    while',
    ),
    Mutation(4, "fifo orders by release", _JOBS, 'key = record["release_ns"]', 'key = record["arrival_ns"]'),
    Mutation(
        4,
        "edf orders by absolute deadline",
        _JOBS,
        'key = record["deadline_ns"]',
        'key = record["deadline_ns"] - record["arrival_ns"]',
    ),
    Mutation(
        4,
        "only a strictly better key preempts",
        _DISPATCHING,
        "(_key(m, state, task) < _key(m, state, running) and",
        "(_key(m, state, task) <= _key(m, state, running) and",
    ),
    Mutation(
        4,
        "earlier release wins a tie",
        _DISPATCHING,
        "release_ns < best_release_ns or",
        "release_ns > best_release_ns or",
    ),
    Mutation(
        4,
        "fifo is non-preemptive",
        _BUILD,
        "processor.preemptive and processor.policy != Policy.FIFO",
        "processor.preemptive",
    ),
    Mutation(
        5,
        "a job goes back to its last core",
        _DISPATCHING,
        'if last != NONE and m.cores[last]["running"] == NONE:',
        "if False:",
    ),
    Mutation(5, "the worst key gives way", _DISPATCHING, "return key > other_key", "return key < other_key"),
    Mutation(
        5,
        "among equals the latest release gives way",
        _DISPATCHING,
        "return release_ns > other_release_ns",
        "return release_ns < other_release_ns",
    ),
    Mutation(
        5,
        "among equals the highest task gives way",
        _DISPATCHING,
        "return task > other_task",
        "return task < other_task",
    ),
    Mutation(
        5,
        "only strictly better keys preempt on several cores",
        _DISPATCHING,
        "if worst != len(m.cores) and _key(m, state, task) < _key(",
        "if worst != len(m.cores) and _key(m, state, task) <= _key(",
    ),
    Mutation(5, "preemption points limit preemption", _DISPATCHING, 'if running["limited"] == 1:', "if False:"),
    Mutation(
        5,
        "a non-preemptive processor does not preempt",
        _DISPATCHING,
        'if m.processors[processor]["preemptive"] == 0:',
        "if False:",
    ),
    Mutation(
        6,
        "a slice begins with its switch cost",
        _SPANS,
        'state["usable"] = span["switch_ns"] == 0',
        'state["usable"] = 1',
    ),
    Mutation(
        6, "an idle slice stays idle without slack sharing", _DISPATCHING, 'or state["slack_sharing"] == 1)', "or True)"
    ),
    Mutation(
        6,
        "a slice's own job preempts one that uses its slack",
        _DISPATCHING,
        'if running["in_slice"] == 0 and m.tasks[task]["in_slice"] == 1:',
        "if False:",
    ),
    Mutation(6, "jobs are preempted at slice ends", _SPANS, 'if core["running"] != NONE:', "if False:"),
    Mutation(
        6,
        "an entry is empty unless its job is ready when it begins",
        _SPANS,
        'if m.tasks[task]["hold"] == 0 else NONE',
        "",
    ),
    Mutation(
        6,
        "the end of an entry is an overrun",
        _BUDGETS,
        'm.jobs[job]["overrun"] = 1\n        note_head(m, EVENT_OVERRUN, task, NONE)\n    if state["enforced"]',
        'pass\n    if state["enforced"]',
    ),
    Mutation(
        7,
        "a resume pays the switch cost, too",
        _DISPATCHING,
        'prefix_ns = m.processors[processor]["switch_ns"]',
        'prefix_ns = m.processors[processor]["switch_ns"] if m.jobs[job]["executed_ns"] == 0 else 0',
    ),
    Mutation(
        7,
        "another core costs a migration",
        _DISPATCHING,
        'prefix_ns += m.processors[processor]["migration_ns"]',
        "prefix_ns += 0",
    ),
    Mutation(7, "switch costs are non-preemptive", _DISPATCHING, 'm.cores[core]["doing"] == SLICE_SWITCH or ', ""),
    Mutation(
        8,
        "executed = Q with work left is an overrun",
        _BUDGETS,
        'executed_ns >= state["budget_ns"] and m.jobs',
        'executed_ns > state["budget_ns"] and m.jobs',
    ),
    Mutation(
        8,
        "enforcement waits for the release of locks",
        _BUDGETS,
        ' and state["held"] == 0 and state["fixed"] == 0:',
        ":",
    ),
    Mutation(
        8,
        "budgets are enforced at multiples of the granularity",
        _BUILD,
        "-(-task.budget_ns // task.budget_granularity_ns) * task.budget_granularity_ns",
        "task.budget_ns",
    ),
    Mutation(8, "the action comes once a job", _BUDGETS, '    state["enforce_ns"] = NEVER_NS\n', ""),
    Mutation(
        8,
        "fail_over ends the job",
        _BUDGETS,
        "if action in (OVERRUN_ABORT, OVERRUN_FAIL_OVER):",
        "if action == OVERRUN_ABORT:",
    ),
    Mutation(
        8, "skip_next suppresses the next job", _BUDGETS, 'state["suppress_next"] = 1', 'state["suppress_next"] = 0'
    ),
    Mutation(
        8,
        "a degraded job needs at most the degraded demand",
        _JOBS,
        'min(declared_ns, state["degraded_ns"])',
        'state["degraded_ns"]',
    ),
    Mutation(
        8,
        "degrade concerns the next job only",
        _JOBS,
        '        state["degrade_next"] = 0\n        declared',
        "        declared",
    ),
    Mutation(
        8,
        "a server starts anew from a + D >= d + P on",
        _SERVERS,
        'new = job["deadline_ns"] >= state["server_ns"]',
        'new = job["deadline_ns"] > state["server_ns"]',
    ),
    Mutation(
        8,
        "throttling postpones the server's deadline",
        _SERVERS,
        'state["server_ns"] += missing * period_ns',
        'state["server_ns"] += 0',
    ),
    Mutation(8, "an arrival pays once", _SERVERS, 'new = job["number"] > state["server_ns"]', "new = True"),
    Mutation(
        8,
        "what is left goes to the next job",
        _JOBS,
        'state["credit_ns"] = state["enforce_ns"] - m.jobs[job]["executed_ns"]',
        'state["credit_ns"] = state["enforced_ns"]',
    ),
    Mutation(
        8, "a throttled job waits for the next arrival", _SERVERS, 'state["hold"] | HOLD_BUDGET)', 'state["hold"])'
    ),
    Mutation(8, "deadline action skip_next", _PHASES, 'state["suppress_next"] = 1', 'state["suppress_next"] = 0'),
    Mutation(
        8,
        "deadline action abort, for jobs that wait behind another",
        _PHASES,
        "            strike(m, task, job)\n",
        "            pass\n",
    ),
    Mutation(
        8,
        "a budget used up is enforced after a release in dispatch",
        _DISPATCHING,
        "        if _budget_is_used_up(m, task, job):\n            _check_later(m, task)\n\n",
        "\n",
    ),
    Mutation(
        8,
        "a budget used up is enforced after a spin that ends in dispatch",
        _DISPATCHING,
        "            if _budget_is_used_up(m, task, job):\n                _check_later(m, task)\n",
        "",
    ),
    Mutation(
        8,
        "a lock owner is not aborted",
        _JOBS,
        '    if state["held"] > 0:\n        state["doomed"] = 1\n        return\n',
        "",
    ),
    Mutation(
        9,
        "reaching C_LO switches",
        _BUDGETS,
        'executed_ns == state["low_budget_ns"] and',
        'executed_ns == state["low_budget_ns"] + 1 and',
    ),
    Mutation(9, "LO jobs are suppressed in HI mode", _JOBS, '(processor["high"] == 1 and state["high"] == 0)', "False"),
    Mutation(9, "all LO jobs are aborted at the switch", _BUDGETS, "            strike_backlog(m, task)\n", ""),
    Mutation(
        9,
        "HI mode lasts until the processor idles",
        _DISPATCHING,
        'if m.tasks[m.links[place]]["head_job"] != NONE:',
        'if m.tasks[m.links[place]]["hold"] & HOLD_ON_CORE:',
    ),
    Mutation(
        10,
        "a suspension lasts at least its minimum",
        _PROGRAM,
        'length_ns = step["min_ns"] + uniform(step["max_ns"] - step["min_ns"], bits)',
        'length_ns = uniform(step["max_ns"], bits)',
    ),
    Mutation(10, "a suspended job leaves its core", _PROGRAM, 'state["hold"] | HOLD_SUSPENDED)', 'state["hold"])'),
    Mutation(
        11,
        "inputs under LET are read at arrival only",
        _DISPATCHING,
        'inputs_complete(m, job) if m.tasks[task]["let"] == 1 else read_inputs(m, job)',
        "read_inputs(m, job)",
    ),
    Mutation(
        11,
        "LET outputs are published at a + D only",
        _PHASES,
        'if state["let"] == 0:\n            publish',
        "if True:\n            publish",
    ),
    Mutation(
        11, "an unfinished LET job publishes nothing", _MESSAGES, 'if m.jobs[job]["status"] == COMPLETED:', "if True:"
    ),
    Mutation(
        11,
        "a link sends one message after the other",
        _MESSAGES,
        'max(lane["busy_until_ns"], clock["now_ns"])',
        'clock["now_ns"]',
    ),
    Mutation(
        11,
        "the latency does not occupy the link",
        _MESSAGES,
        'lane["busy_until_ns"] = transfer["end_ns"]',
        'lane["busy_until_ns"] = transfer["visible_ns"]',
    ),
    Mutation(
        12,
        "a full queue drops what it says",
        _MESSAGES,
        'state["drop_policy"] == DROP_NEWEST',
        'state["drop_policy"] != DROP_NEWEST',
    ),
    Mutation(
        12,
        "the depth of a queue counts",
        _MESSAGES,
        'state["count"] == state["depth"]',
        'state["count"] + 1 == state["depth"]',
    ),
    Mutation(
        12,
        "an empty required input skips the job",
        _JOBS,
        'complete = complete and edge["required"] == 0',
        "complete = True",
    ),
    Mutation(
        12,
        "a register is never consumed",
        _JOBS,
        "            m.inputs[job, slot] = message\n",
        '            m.inputs[job, slot] = message\n            edge["register"] = NONE\n',
    ),
    Mutation(
        13,
        "partners at the tolerance match",
        _BUILD,
        'row["tolerance_ns"] = task.tolerance_ns',
        'row["tolerance_ns"] = max(task.tolerance_ns - 1, 0)',
    ),
    Mutation(
        13,
        "only messages too old are dropped",
        _MESSAGES,
        'elif newest_ns - capture_of(m, head) > state["tolerance_ns"]:',
        "elif newest_ns > capture_of(m, head):",
    ),
    Mutation(
        13, "a pair has the oldest stamp", _MESSAGES, "return oldest_ns if matched", "return newest_ns if matched"
    ),
    Mutation(
        14,
        "keys are inherited transitively",
        _LOCKS,
        'state["key_ns"] < owner["key_ns"]:\n                    owner["key_ns"] = state["key_ns"]',
        'state["base_key_ns"] < owner["key_ns"]:\n                    owner["key_ns"] = state["base_key_ns"]',
    ),
    Mutation(
        14,
        "keys are inherited at all",
        _LOCKS,
        'owner["key_ns"] = state["key_ns"]',
        'owner["key_ns"] = owner["key_ns"] - 0; break',
    ),
    Mutation(14, "no key passes between different policies", _LOCKS, "if alike and ", "if "),
    Mutation(
        14,
        "the immediate ceiling raises the owner",
        _LOCKS,
        'owner["key_ns"] = min(owner["key_ns"], lock["level"])',
        'owner["key_ns"] = owner["key_ns"]',
    ),
    Mutation(
        14,
        "no start at the system ceiling",
        _DISPATCHING,
        'm.tasks[task]["deadline_ns"] < state["ceiling_ns"]',
        'm.tasks[task]["deadline_ns"] <= state["ceiling_ns"]',
    ),
    Mutation(14, "an msrp job is not preempted", _DISPATCHING, ' or running["fixed"] > 0:', ":"),
    Mutation(
        14,
        "a spin that ends in dispatch ends at that instant",
        _DISPATCHING,
        "            go_on(m, task)\n",
        '            set_timer(m, task, clock["now_ns"] + 1)\n',
    ),
    Mutation(
        14,
        "an uncontended lock of msrp makes non-preemptive from the request on",
        _LOCKS,
        '    if spins:\n        state["fixed"] += 1\n',
        "",
    ),
    Mutation(
        14,
        "a boosted owner falls back when it unlocks",
        _LOCKS,
        '            state["key_ns"] = state["base_key_ns"]\n',
        "            pass\n",
    ),
    Mutation(
        15,
        "work left is rounded up",
        _FREQUENCY,
        "(rest * old_khz + new_khz - 1) // new_khz",
        "rest * old_khz // new_khz",
    ),
    Mutation(
        15,
        "memory-bound work left is not rescaled",
        _FREQUENCY,
        'compute_ns = left_ns - min(left_ns, job["memory_ns"])',
        "compute_ns = left_ns",
    ),
    Mutation(
        15,
        "memory-bound work of new jobs is not rescaled",
        _FREQUENCY,
        "compute_ns = max(declared_ns - memory_ns, 0)",
        "compute_ns = declared_ns",
    ),
    Mutation(
        15,
        "what lies ahead inside a job moves with its demand",
        _FREQUENCY,
        '        m.steps[step]["at_ns"] = executed_ns + _rescaled(',
        "        _ = executed_ns + _rescaled(",
    ),
    Mutation(
        16,
        "jobs of a removed task abort",
        _CHANGING,
        "        strike_backlog(m, task)\n        abort_head(m, task)\n",
        "        pass\n",
    ),
    Mutation(
        16,
        "messages activate no task that is not there",
        _MESSAGES,
        'if state["role"] != READ and m.tasks[state["target"]]["active"] == 0:',
        "if False:",
    ),
    Mutation(
        16,
        "an added task arrives at once when its latency is over",
        _CHANGING,
        '["arrival_timers"] + task, now_ns)\n',
        '["arrival_timers"] + task, now_ns + 1)\n',
    ),
    Mutation(
        16,
        "the owner of a lock that moves aborts at once",
        _TAKEOVERS,
        '    if state["head_job"] != NONE:\n',
        '    if state["head_job"] != NONE and state["held"] == 0:\n',
    ),
    Mutation(16, "a task that moves has its new level", _TAKEOVERS, '    state["level"] = declared["level"]\n', ""),
    Mutation(16, "a task that moves forgets skip_next", _TAKEOVERS, '    state["suppress_next"] = 0\n', ""),
    Mutation(
        16,
        "the server of a task that moves begins anew",
        _TAKEOVERS,
        'state["server_ns"] = declared["server_ns"]',
        "pass",
    ),
    Mutation(
        16,
        "equal jobs of a processor go by task, also those that came",
        _TAKEOVERS,
        'while place > new["first_task"] and m.links[place - 1] > task:',
        "while False:",
    ),
    Mutation(
        16,
        "arrivals that are left out are counted from the change on",
        _TAKEOVERS,
        '    state["first_number"] = state["next_number"]\n',
        "",
    ),
    Mutation(
        16,
        "demands come from the profile of the variant",
        _TAKEOVERS,
        "m.quantiles[task, point] = m.quantiles[len(m.tasks) + row, point]",
        "pass",
    ),
    Mutation(
        16,
        "arrivals that are left out make no job",
        _JOBS,
        'elif left_out != NONE or state["suppress_next"] == 1',
        'elif state["suppress_next"] == 1',
    ),
    Mutation(
        16,
        "a message that makes a job now is not done again",
        _PHASES,
        'if state["active"] == 1 and state["next_number"] == number:',
        'if state["active"] == 1:',
    ),
    Mutation(
        16,
        "a kept pair lies within the tolerance",
        _MESSAGES,
        'if complete and newest_ns - oldest_ns <= state["tolerance_ns"]:\n            arrive_rarely',
        "if complete:\n            arrive_rarely",
    ),
    Mutation(
        16,
        "of several kept messages the one captured last is done again",
        _MESSAGES,
        "if first == NONE or capture_ns > newest_ns:",
        "if first == NONE or capture_ns < newest_ns:",
    ),
    Mutation(
        16,
        "a job that goes on keeps its memory-bound part",
        _FREQUENCY,
        'compute_ns = left_ns - min(left_ns, job["memory_ns"])',
        'compute_ns = left_ns - min(left_ns, state["memory_ns"])',
    ),
    Mutation(
        6,
        "a processor returns into a slice that begins then",
        _CHANGING,
        'm.spans[state["span"]]["start_ns"] < now_ns\n',
        'm.spans[state["span"]]["start_ns"] <= now_ns\n',
    ),
    Mutation(11, "a link is free when it returns", _CHANGING, '    lane["busy_until_ns"] = 0\n', ""),
    Mutation(11, "what was on a lost link stays lost", _CHANGING, '    lane["next"] = NONE\n', ""),
    Mutation(
        11,
        "a loss leaves nothing to publish",
        _CHANGING,
        "            _give_up(m, task)\n",
        "            pass\n",
    ),
    Mutation(
        8,
        "a lost arrival uses up skip_next",
        _JOBS,
        'if processor["lost"] == 1:\n        state["suppress_next"] = 0\n',
        'if processor["lost"] == 1:\n',
    ),
    Mutation(17, "draws depend on the job number", _DRAW, "    word = mix(word ^ np.uint64(index))\n", ""),
    Mutation(
        17,
        "every purpose has its own draws",
        _JOBS,
        'job["number"], PURPOSE_JITTER))',
        'job["number"], PURPOSE_JITTER - 1))',
    ),
    Mutation(
        18,
        "nothing is delivered at the horizon",
        _MACHINE,
        _LOOP,
        _order((_DELIVERIES, _DELIVERIES.replace("<", "<="))),
    ),
    Mutation(
        18,
        "a deadline at the horizon is judged",
        _MACHINE,
        _LOOP,
        _order((_EXPIRIES, '            if instant_ns < time["horizon_ns"]:\n    ' + _EXPIRIES)),
    ),
)
