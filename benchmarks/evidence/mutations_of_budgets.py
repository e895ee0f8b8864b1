"""Mutations of what the semantics say of demand, budgets, mixed criticality and suspension: rules 8 to 10."""

from __future__ import annotations

from mutation import BUDGETS, BUILD, DISPATCHING, JOBS, PHASES, PROGRAM, SERVERS, Mutation

BUDGET_MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        8,
        "executed = Q with work left is an overrun",
        BUDGETS,
        'executed_ns >= state["budget_ns"] and m.jobs',
        'executed_ns > state["budget_ns"] and m.jobs',
    ),
    Mutation(
        8,
        "enforcement waits for the release of locks",
        BUDGETS,
        ' and state["held"] == 0 and state["fixed"] == 0:',
        ":",
    ),
    Mutation(
        8,
        "budgets are enforced at multiples of the granularity",
        BUILD,
        "-(-task.budget_ns // task.budget_granularity_ns) * task.budget_granularity_ns",
        "task.budget_ns",
    ),
    Mutation(8, "the action comes once a job", BUDGETS, '    state["enforce_ns"] = NEVER_NS\n', ""),
    Mutation(
        8,
        "fail_over ends the job",
        BUDGETS,
        "if action in (OVERRUN_ABORT, OVERRUN_FAIL_OVER):",
        "if action == OVERRUN_ABORT:",
    ),
    Mutation(
        8, "skip_next suppresses the next job", BUDGETS, 'state["suppress_next"] = 1', 'state["suppress_next"] = 0'
    ),
    Mutation(
        8,
        "a degraded job needs at most the degraded demand",
        JOBS,
        'min(declared_ns, state["degraded_ns"])',
        'state["degraded_ns"]',
    ),
    Mutation(
        8,
        "degrade concerns the next job only",
        JOBS,
        '        state["degrade_next"] = 0\n        declared',
        "        declared",
    ),
    Mutation(
        8,
        "a server starts anew from a + D >= d + P on",
        SERVERS,
        'new = job["deadline_ns"] >= state["server_ns"]',
        'new = job["deadline_ns"] > state["server_ns"]',
    ),
    Mutation(
        8,
        "throttling postpones the server's deadline",
        SERVERS,
        'state["server_ns"] += missing * period_ns',
        'state["server_ns"] += 0',
    ),
    Mutation(8, "an arrival pays once", SERVERS, 'new = job["number"] > state["server_ns"]', "new = True"),
    Mutation(
        8,
        "what is left goes to the next job",
        JOBS,
        'state["credit_ns"] = state["enforce_ns"] - m.jobs[job]["executed_ns"]',
        'state["credit_ns"] = state["enforced_ns"]',
    ),
    Mutation(
        8, "a throttled job waits for the next arrival", SERVERS, 'state["hold"] | HOLD_BUDGET)', 'state["hold"])'
    ),
    Mutation(8, "deadline action skip_next", PHASES, 'state["suppress_next"] = 1', 'state["suppress_next"] = 0'),
    Mutation(
        8,
        "deadline action abort, for jobs that wait behind another",
        PHASES,
        "            strike(m, task, job)\n",
        "            pass\n",
    ),
    Mutation(
        8,
        "a budget used up is enforced after a release in dispatch",
        DISPATCHING,
        "        if _budget_is_used_up(m, task, job):\n            _check_later(m, task)\n\n",
        "\n",
    ),
    Mutation(
        8,
        "a budget used up is enforced after a spin that ends in dispatch",
        DISPATCHING,
        "            if _budget_is_used_up(m, task, job):\n                _check_later(m, task)\n",
        "",
    ),
    Mutation(
        8,
        "a lock owner is not aborted",
        JOBS,
        '    if state["held"] > 0:\n        state["doomed"] = 1\n        return\n',
        "",
    ),
    Mutation(
        9,
        "reaching C_LO switches",
        BUDGETS,
        'executed_ns == state["low_budget_ns"] and',
        'executed_ns == state["low_budget_ns"] + 1 and',
    ),
    Mutation(9, "LO jobs are suppressed in HI mode", JOBS, '(processor["high"] == 1 and state["high"] == 0)', "False"),
    Mutation(9, "all LO jobs are aborted at the switch", BUDGETS, "            strike_backlog(m, task)\n", ""),
    Mutation(
        9,
        "HI mode lasts until the processor idles",
        DISPATCHING,
        'if m.tasks[m.links[place]]["head_job"] != NONE:',
        'if m.tasks[m.links[place]]["hold"] & HOLD_ON_CORE:',
    ),
    Mutation(
        10,
        "a suspension lasts at least its minimum",
        PROGRAM,
        'length_ns = step["min_ns"] + uniform(step["max_ns"] - step["min_ns"], bits)',
        'length_ns = uniform(step["max_ns"], bits)',
    ),
    Mutation(10, "a suspended job leaves its core", PROGRAM, 'state["hold"] | HOLD_SUSPENDED)', 'state["hold"])'),
    Mutation(
        8,
        "a lost arrival uses up skip_next",
        JOBS,
        'if processor["lost"] == 1:\n        state["suppress_next"] = 0\n',
        'if processor["lost"] == 1:\n',
    ),
)
