"""The scene is the hazard that it claims to be, and the shipped truth says the same."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rt_sched.units import NS_PER_MS
from sensors.scene.catalogue import SCENES, expected
from sensors.scene.render import CameraRenderer
from sensors.scene.rig import Rig
from sensors.scene.scenarios import EGO_BRAKES_NS, LEAD_BRAKES_NS, no_hazard
from sensors.scene.truth import image_boxes, lead_state, truth_frames, truth_head
from sensors.scene.world import World
from sensors.scene.writer import EPOCH_NS

INSTANTS_NS = range(0, 4_000 * NS_PER_MS, 10 * NS_PER_MS)


def test_gap_closes_to_about_six_metres_without_collision(world: World) -> None:
    states = [lead_state(world, t) for t in INSTANTS_NS]
    gaps = [state.gap_m for state in states if state is not None]
    times = [state.ttc_s for state in states if state is not None and state.ttc_s is not None]
    assert gaps[0] == pytest.approx(22.0)
    assert 5.0 < min(gaps) < 7.0
    assert 1.0 < min(times) < 1.5


def test_known_gap_and_time_to_collision(world: World) -> None:
    # 1.5 s after the lead began to brake: 22 - 6 / 2 * 1.5^2 m apart, 9 m/s closing.
    state = lead_state(world, EGO_BRAKES_NS)
    assert EGO_BRAKES_NS - LEAD_BRAKES_NS == 1500 * NS_PER_MS
    assert state is not None
    assert state.gap_m == pytest.approx(15.25)
    assert state.closing_speed_m_s == pytest.approx(9.0)
    assert state.ttc_s == pytest.approx(15.25 / 9.0)


def test_nobody_touches_anybody(world: World) -> None:
    bodies = [(a.name, a.shape.size_m, a.trajectory) for a in world.actors]
    ego_length = world.ego.length_m
    for time_ns in range(0, 4_000 * NS_PER_MS, 100 * NS_PER_MS):
        ego = world.ego_at(time_ns)
        boxes = [("ego", ego.x_m + world.ego.front_m - ego_length / 2, ego.y_m, ego_length, world.ego.width_m)]
        for name, (length, width, _), trajectory in bodies:
            state = trajectory.state_at(time_ns)
            boxes.append((name, state.x_m, state.y_m, length, width))
        for i, (name_a, xa, ya, la, wa) in enumerate(boxes):
            for name_b, xb, yb, lb, wb in boxes[i + 1 :]:
                apart = abs(xa - xb) > (la + lb) / 2 or abs(ya - yb) > (wa + wb) / 2
                assert apart, f"{name_a} and {name_b} overlap at {time_ns} ns"


def test_calm_companion_keeps_the_gap() -> None:
    calm = no_hazard()
    for time_ns in INSTANTS_NS:
        state = lead_state(calm, time_ns)
        assert state is not None
        assert (state.gap_m, state.ttc_s) == (pytest.approx(22.0), None)


def test_a_world_without_lead_has_no_lead_state(world: World) -> None:
    assert lead_state(replace(world, lead=None), 0) is None


@pytest.mark.parametrize("name", ["front_wide", "front_standard", "front_tele"])
def test_box_frames_exactly_the_pixels_of_the_lead(world: World, rig: Rig, name: str) -> None:
    camera = next(c for c in rig.cameras if c.name == name)
    unshaded = replace(world, lighting=replace(world.lighting, shadow=0.0))
    absent = replace(unshaded, actors=tuple(a for a in world.actors if a.name != "lead"))
    time_ns = 3_000 * NS_PER_MS
    with_lead, without = (CameraRenderer(w, camera, 5).render(time_ns, 0).astype(int) for w in (unshaded, absent))
    rows, columns = np.nonzero(np.abs(with_lead - without).max(axis=2) > 12)
    box = next(b for b in image_boxes(world, camera, time_ns) if b.actor == "lead")
    seen = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    assert seen == pytest.approx((box.x_min, box.y_min, box.x_max, box.y_max), abs=2.0)
    assert box.visible == 1.0
    assert not box.truncated


def test_visible_share_tells_hidden_actors(world: World, rig: Rig) -> None:
    tele = next(c for c in rig.cameras if c.name == "front_tele")
    lead = world.actor("lead")
    hidden = replace(lead, name="hidden", trajectory=replace(lead.trajectory, x_m=lead.trajectory.x_m + 8.0))
    boxes = {b.actor: b for b in image_boxes(replace(world, actors=(lead, hidden)), tele, 0)}
    assert boxes["lead"].visible == 1.0
    assert boxes["hidden"].visible < 0.1


def test_boxes_at_the_image_border_are_cut_and_say_so(world: World, rig: Rig) -> None:
    cut = 0
    for camera in rig.cameras:
        for time_ns in (0, 900 * NS_PER_MS, 2_100 * NS_PER_MS):
            for box in image_boxes(world, camera, time_ns):
                assert 0.0 <= box.x_min < box.x_max <= camera.width
                assert 0.0 <= box.y_min < box.y_max <= camera.height
                assert 0.0 <= box.visible <= 1.0
                cut += box.truncated
    assert cut > 5


def test_shipped_truth_is_the_truth_of_the_world(world: World, rig: Rig, replay_data: Path) -> None:
    shipped = json.loads((replay_data / "hazard_truth.json").read_text(encoding="utf-8"))
    assert len(shipped["frames"]) == 120
    scene = SCENES["hazard"]
    head = truth_head(
        world,
        epoch_ns=EPOCH_NS,
        duration_ns=shipped["duration_ns"],
        expected=expected(scene, world),
        conditions=scene.conditions,
    )
    frames = list(truth_frames(world, rig, epoch_ns=EPOCH_NS, duration_ns=100 * NS_PER_MS))
    assert json.loads(json.dumps(head | {"frames": frames})) == shipped | {"frames": shipped["frames"][:3]}


def test_no_reader_or_stage_knows_the_truth() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [p for top in ("rt_sched", "pipelines", "safety", "hw", "sensors") for p in (root / top).rglob("*.py")]
    maker = root / "rt_sched" / "app" / "scene.py"
    outside = [p for p in sources if "scene" not in p.relative_to(root).parts and p != maker]
    assert len(outside) > 20
    for path in outside:
        text = path.read_text(encoding="utf-8")
        assert "scene.truth" not in text, path
        assert "hazard_truth" not in text, path
