"""The paced executor: one process per task on this machine's own scheduler, wall clock.

    order         what a run is asked to do, and what has become of it
    executor      starts everything, waits, gathers       (this process)
    posts         what the processes of tasks work with: edges, journals, turns, seats
    supervisor    one per device: starts its workers, watches over them, replaces them
    worker        one per task: waits for an arrival, runs the stage, publishes, writes the job down
    feeder        plays the recording: decodes ahead, publishes every sample at its instant

All shared memory is anonymous and inherited through fork, so nothing of it can outlive the processes.
"""
