"""A synthetic street scene, recorded by a whole sensor rig: one world drives cameras, LiDAR, IMU and ground truth."""

from sensors.scene.writer import SceneSummary, write_scene

__all__ = ["SceneSummary", "write_scene"]
