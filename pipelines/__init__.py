"""Perception stages: camera, LiDAR, IMU, fusion and decision."""
