"""Critical sections of paced runs: the mutexes of the resources, and how jobs hold them."""
