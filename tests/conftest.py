"""Property tests try the same examples on every run, so that a failure is one that anybody can repeat.

`pytest --hypothesis-profile=search` looks at new examples each time.
"""

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("search", derandomize=False, print_blob=True)
settings.load_profile("same")
