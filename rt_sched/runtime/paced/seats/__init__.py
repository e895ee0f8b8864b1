"""In which class of the kernel each task runs, and when a job that has arrived may."""
