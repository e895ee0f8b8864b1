"""What several commands read, and how arguments name it."""
