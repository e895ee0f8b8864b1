"""The loss of devices: signs of life, the watch over them, and standbys that go on with their tasks."""
