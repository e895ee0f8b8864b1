"""A system with one LiDAR, whose backup path is all that there is, on recordings that ship."""

SYSTEM = """
rt_sched: 1
name: one_lidar
devices: {orin: {soc: agx-orin, power_mode: MAXN}, gateway: {soc: safety-mcu}}
sensors:
  lidar_top: {kind: lidar, rate: 10Hz, latency: 4ms, jitter: 0.5ms, attached_to: orin, topic: /lidar/top/*}
  imu: {kind: imu, rate: 200Hz, latency: 0.2ms, jitter: 0.05ms, attached_to: orin, topic: /imu/*}
tasks:
  backup:
    {stage: "safety.backup:LidarCorridor", runs_on: orin.cpu, inputs: {points: lidar_top},
     execution: {bcet: 1ms, wcet: 17ms}, deadline: 20ms, parameters: {lidar: lidar_top, ego_front_m: 3.75}}
  arbiter:
    {stage: "safety.arbiter_stage:Arbiter", runs_on: gateway.mcu, activation: {rate: 100Hz},
     inputs: {backup: {from: backup, required: false}}, execution: {bcet: 50us, wcet: 500us}, deadline: 5ms,
     parameters: {startup_grace_ms: 100, backup_age_limit_ms: 140, view_age_limit_ms: {lidar_top: 200}}}
safety: {arbiter: arbiter, primary: backup, recovery_limit: 500ms}
"""
