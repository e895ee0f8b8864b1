"""Who waits for a core: every processor has a list of the tasks whose oldest job does.

The list of processors with many tasks is a heap, the first to get a core in front, where nothing changes the order of
jobs that wait; that of all others is in no order and looked through. `m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.compiled import part, routine


@part
def set_hold(m, task, hold):
    """Why the oldest job of `task` does not wait for a core: HOLD_ bits, 0 when it does.

    Its key and its release are what they are as long as it waits, where `ordered` lists rely on them.
    """
    state = m.tasks[task]
    waited = state["hold"] == 0
    state["hold"] = hold
    if waited == (hold == 0):
        return
    processor = m.processors[state["processor"]]
    first = processor["first_waiting"]
    end = first + processor["waiting"]
    if waited:
        end -= 1
        place = state["waiting_place"]
        task = m.links[end]
    else:
        place = end
        end += 1
    processor["waiting"] = end - first
    m.links[place] = task
    m.tasks[task]["waiting_place"] = place
    if processor["ordered"] == 1 and place < end:
        _put_in_order(m.links, m.tasks, m.jobs, first, end, place)


@routine
def _put_in_order(links, tasks, jobs, first, end, place):
    """Move the task at `place` of the heap from `first` to `end`, whose others are in order, to where it belongs."""
    task = links[place]
    while place > first:
        above = first + ((place - first - 1) >> 1)
        other = links[above]
        if not _is_before(tasks, jobs, task, other):
            break
        links[place] = other
        tasks[other]["waiting_place"] = place
        place = above
    below = 2 * place - first + 1
    while below < end:
        if below + 1 < end and _is_before(tasks, jobs, links[below + 1], links[below]):
            below += 1
        other = links[below]
        if not _is_before(tasks, jobs, other, task):
            break
        links[place] = other
        tasks[other]["waiting_place"] = place
        place = below
        below = 2 * place - first + 1
    links[place] = task
    tasks[task]["waiting_place"] = place


@part
def _is_before(tasks, jobs, task, other):
    """Whether the oldest job of `task` gets a core before that of `other`: by key, release, index."""
    key, other_key = tasks[task]["key_ns"], tasks[other]["key_ns"]
    if key != other_key:
        return key < other_key
    release_ns, other_release_ns = (
        jobs[tasks[task]["head_job"]]["release_ns"],
        jobs[tasks[other]["head_job"]]["release_ns"],
    )
    if release_ns != other_release_ns:
        return release_ns < other_release_ns
    return task < other
