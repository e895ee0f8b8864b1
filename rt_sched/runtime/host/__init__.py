"""What the paced runtime asks of the operating system: one small module for each mechanism of Linux.

    tiers       which of the three tiers this machine allows, tried out in a child process
    scheduling  scheduling classes of threads: OTHER, FIFO, DEADLINE; set, read, and restored by a context manager
                (their data in scheduling_class, reasons of refusals in scheduling_refusal)
    affinity    the cores that a thread may run on
    cpuset      cores for SCHED_DEADLINE alone, in control groups of version 1 and 2; removes what dead owners left
    memory      pages that stay in memory
    sleeping    sleeping until an instant of CLOCK_MONOTONIC; the slack of timers
    mutex       mutexes in shared memory that survive their owner: inheritance, ceiling, plain
    cpu_time    CPU clocks of threads and processes, and timers on them that send a signal: budgets
    signals     signals as something to poll beside processes and heartbeats
    processes   processes by descriptor: told of their end, signalled without mistaking a later process for them;
                `demote` takes every thread of a process off its class
    observed    what the kernel says of a process, whatever was asked of it
    child       a function carried out in a child process that may be killed
    privileges  capabilities and limits of this process
    cgroups     where control groups are mounted, and which one a process is in
    measure     lateness of wake-ups, length of a tick, granularity of CPU timers: measured, not assumed
    refusal     `Refused`: what was refused, what is missing, and how to mend it

Everything works without privileges as far as the kernel lets it; what it does not allow raises `Refused` with the
capability, limit or feature that is missing. Times are integer nanoseconds. Nothing heavy is imported.

A budget is enforced in one of two ways. The worker arms a `CpuTimer` on its own thread with SIGSTOP or SIGKILL: the
default action works inside compiled code, where a handler written in Python would not run. Or the supervisor arms one
on the process clock of the worker and polls a `SignalDescriptor`; it then demotes, stops or kills the worker. Either
way the kernel looks at CPU timers once a tick (`measure.tick_ns`), so a budget is as coarse as that.
"""
