"""Sources of sensor data: recordings of several formats."""
