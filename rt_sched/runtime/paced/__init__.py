"""The paced executor: one process per task on this machine's own scheduler, wall clock.

    order         what a run is asked to do, and what has become of it
    executor      starts everything, waits, gathers       (this process)
    parts         what all processes work with, made before the first of them is forked
    cores         cores of the host, and cpusets
    processes     forks supervisors and the processes beside them, and ends them
    supervisor    one per device: starts its workers, watches over them, replaces them
    posts         what the processes of tasks work with: edges, journals, turns, seats
    jobs/         one process per task: waits for an arrival, runs the stage, publishes, writes the job down
    seats/        tiers: which class each task gets, and when a job that has arrived may run
    feed/         plays the recording: decodes ahead, publishes every sample at its instant
    devices/      signs of life, the watch over devices, and standbys that go on with the tasks of a lost one
    sections/     locks of critical sections, with priority inheritance
    links/        emulated links between devices
    health/       the process that watches sensors
    faults/       what strikes processes, and what supervisors notice of it
    actuator      the process beside the actuators, which brakes by itself when commands stay away

All shared memory is anonymous and inherited through fork, so nothing of it can outlive the processes.
"""
