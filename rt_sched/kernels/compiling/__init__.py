"""How kernels are compiled, kept and loaded; none is in here."""
