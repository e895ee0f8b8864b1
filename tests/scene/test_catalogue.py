"""Every scene is what its entry says: physically possible, and dangerous exactly where a reaction is wanted."""

import math
from itertools import pairwise

import pytest

from rt_sched.errors import DataError
from rt_sched.units import NS_PER_MS, NS_PER_S
from sensors.scene.catalogue import SCENES, Reaction, build_world, expected, find_scene
from sensors.scene.outcome import braking, coasting, contact, drive, gap_m, last_chance_ns
from sensors.scene.scenarios import hazard
from sensors.scene.trajectory import Phase, Shift, Trajectory
from sensors.scene.truth import lead_state
from sensors.scene.weather import CONDITIONS
from sensors.scene.world import EgoVehicle, World


@pytest.fixture(scope="module")
def worlds() -> dict[str, World]:
    return {scene.name: build_world(scene, duration_s=scene.duration_s) for scene in SCENES.values()}


@pytest.mark.parametrize("name", SCENES)
def test_in_the_recording_nobody_touches_anybody(worlds: dict[str, World], name: str) -> None:
    world, until_ns = worlds[name], round(SCENES[name].duration_s * NS_PER_S)
    assert contact(world, world.ego.trajectory, until_ns) is None
    for mover in world.actors:
        if mover.trajectory.speed_m_s == 0.0 and not mover.trajectory.phases:
            continue
        # Each drives as the ego vehicle would in its place; the ego vehicle itself was looked at above.
        length_m, width_m, height_m = mover.shape.size_m
        stand_in = EgoVehicle(length_m, width_m, height_m, length_m / 2, mover.trajectory)
        for time_ns in range(0, until_ns, 100 * NS_PER_MS):
            state = mover.trajectory.state_at(time_ns)
            for actor in world.actors:
                if actor is not mover and abs(actor.trajectory.state_at(time_ns).x_m - state.x_m) < 12.0:
                    assert gap_m(stand_in, state, actor, time_ns) > 0.0, (mover.name, actor.name, time_ns)


@pytest.mark.parametrize("name", SCENES)
def test_a_reaction_is_wanted_exactly_where_doing_nothing_ends_in_a_contact(
    worlds: dict[str, World], name: str
) -> None:
    scene, world = SCENES[name], worlds[name]
    wanted = expected(scene, world)
    assert wanted["reaction"] == scene.reaction.value
    if scene.reaction is Reaction.NONE:
        assert (wanted["hazard_ns"], wanted["contact_ns"], wanted["last_chance_ns"]) == (None, None, None)
        return
    # There is time to see it, to react and to stop, and the danger is over within the recording.
    assert wanted["hazard_ns"] + 300 * NS_PER_MS < wanted["last_chance_ns"] < wanted["contact_ns"]
    assert wanted["contact_ns"] < round(scene.duration_s * NS_PER_S)


@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if scene.reaction is Reaction.NONE])
def test_where_nothing_is_wanted_nobody_comes_close(worlds: dict[str, World], name: str) -> None:
    world = worlds[name]
    for time_ns in range(0, round(SCENES[name].duration_s * NS_PER_S), 50 * NS_PER_MS):
        state = lead_state(world, time_ns)
        assert state is not None
        assert state.gap_m > 2.5
        assert state.ttc_s is None or state.ttc_s > 4.0


@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if scene.reaction is not Reaction.NONE])
def test_without_the_danger_nothing_is_wanted(worlds: dict[str, World], name: str) -> None:
    scene, world = SCENES[name], worlds[name]
    cause = expected(scene, world)["contact_with"]
    removed = build_world(scene, duration_s=scene.duration_s, without=(cause,))
    assert expected(scene, removed)["reaction"] == "none"
    assert removed.lead is None
    assert len(removed.actors) == len(world.actors) - 1


def test_a_recording_that_ends_before_the_danger_wants_nothing(worlds: dict[str, World]) -> None:
    scene, world = SCENES["hazard"], worlds["hazard"]
    assert expected(scene, world, duration_s=1.2)["reaction"] == "none"
    assert expected(scene, world, duration_s=1.3)["reaction"] == "brake"


def test_the_last_chance_is_the_last(worlds: dict[str, World]) -> None:
    world, until_ns = worlds["hazard"], 9 * NS_PER_S
    start_ns = SCENES["hazard"].hazard_ns
    assert start_ns is not None
    last = last_chance_ns(world, start_ns, until_ns)
    assert last is not None
    free = coasting(world.ego.trajectory, start_ns)
    assert contact(world, braking(free, last), until_ns) is None
    assert contact(world, braking(free, last + 10 * NS_PER_MS), until_ns) is not None


def test_a_car_that_is_told_nothing_runs_into_the_lead() -> None:
    outcome = drive(hazard(), [], 6 * NS_PER_S)
    wanted = expected(SCENES["hazard"], hazard())
    assert outcome.contact_ns == pytest.approx(wanted["contact_ns"], abs=10 * NS_PER_MS)
    # The lead has stopped by then.
    assert outcome.impact_m_s == pytest.approx(13.0)


def test_the_modelled_car_stops_as_physics_says() -> None:
    # 13 m/s with 8 m/s^2: after 0.1 s of dead time, the ramp of 0.2 s costs 8 * 0.2 / 2 m/s of speed.
    outcome = drive(hazard(), [(2 * NS_PER_S, -8.0)], 8 * NS_PER_S)
    assert outcome.contact_ns is None
    ramp_s = 8.0 / 40.0
    assert outcome.stopped_ns == pytest.approx((2.1 + ramp_s / 2 + 13.0 / 8.0) * NS_PER_S, abs=5 * NS_PER_MS)
    way_m = 13.0 * (2.1 + ramp_s / 2) + 13.0**2 / 16.0
    lead_m = 22.0 + 13.0 * 1.2 + 13.0**2 / 12.0
    assert outcome.least_gap_m == pytest.approx(lead_m - way_m, abs=0.1)


def test_a_request_to_accelerate_is_not_followed() -> None:
    assert drive(hazard(), [(0, 5.0)], 6 * NS_PER_S) == drive(hazard(), [], 6 * NS_PER_S)


@pytest.mark.parametrize("conditions", CONDITIONS)
def test_conditions_change_light_and_air_and_nothing_that_moves(conditions: str) -> None:
    scene = SCENES["cut_in"]
    plain = build_world(scene, duration_s=3.0)
    world = build_world(scene, duration_s=3.0, conditions=conditions)
    assert (world.actors, world.ego, world.terrain, world.lead) == (plain.actors, plain.ego, plain.terrain, plain.lead)
    assert (world == plain) == (conditions == "day")


def test_a_longer_drive_has_a_longer_street() -> None:
    scene = SCENES["no_hazard"]
    ends = []
    for duration_s in (4.0, 60.0):
        world = build_world(scene, duration_s=duration_s)
        end_m = world.ego_at(round(duration_s * NS_PER_S)).x_m
        beyond = [prop for prop in world.props if prop.x_m > end_m + 60.0]
        assert len(beyond) > 20
        ends.append(max(prop.x_m for prop in world.props))
    assert ends[1] > ends[0] + 500.0


def test_unknown_names_are_answered_with_what_there_is() -> None:
    with pytest.raises(DataError, match=r"no scene 'hazzard'; did you mean hazard\? valid: hazard, no_hazard"):
        find_scene("hazzard")
    with pytest.raises(DataError, match=r"no conditions 'snow'; valid: day, night, rain, night_rain"):
        build_world(SCENES["hazard"], duration_s=1.0, conditions="snow")
    with pytest.raises(DataError, match=r"scene hazard has no actor 'deer'; it has lead, follower, passing"):
        build_world(SCENES["hazard"], duration_s=1.0, without=("deer",))


def test_a_change_of_lane_is_smooth_and_arrives() -> None:
    course = Trajectory(5.0, 3.5, 0.0, 10.0, (Phase(0, 0.0),), (Shift(NS_PER_S, 2 * NS_PER_S, -3.5),))
    states = [course.state_at(t) for t in range(0, 4 * NS_PER_S, NS_PER_MS)]
    assert (states[0].y_m, states[-1].y_m) == (3.5, pytest.approx(0.0))
    assert states[0].yaw_rad == states[-1].yaw_rad == 0.0
    assert states[2000].y_m == pytest.approx(1.75)
    for before, after in pairwise(states):
        assert 0.0 <= before.y_m - after.y_m < 0.004
        # The heading is that of the course, and turns without a jerk.
        assert abs(after.yaw_rad - before.yaw_rad) < 0.001
        drift = math.atan2(after.y_m - before.y_m, after.x_m - before.x_m)
        assert (before.yaw_rad + after.yaw_rad) / 2 == pytest.approx(drift, abs=1e-6)
