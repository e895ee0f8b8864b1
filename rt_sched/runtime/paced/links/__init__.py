"""Links of a paced run: what carries messages from one device to another, although all of them share one host."""
