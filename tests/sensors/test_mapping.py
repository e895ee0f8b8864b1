"""Topics to sensors."""

from __future__ import annotations

import itertools

from rt_sched.ports.source import TopicInfo, TopicKind
from sensors.mapping import SensorPattern, match_topics

CAMERA, LIDAR, IMU, OTHER = TopicKind.CAMERA, TopicKind.LIDAR, TopicKind.IMU, TopicKind.OTHER


def topic(name: str, kind: TopicKind = CAMERA, messages: int = 10) -> TopicInfo:
    return TopicInfo(
        name, {CAMERA: "sensor_msgs/msg/Image", LIDAR: "sensor_msgs/msg/PointCloud2"}.get(kind, "x"), kind, messages
    )


def want(kind: TopicKind, *globs: str) -> SensorPattern:
    return SensorPattern(kind, globs)


def test_globs_and_full_names():
    topics = [
        topic("/camera/front/compressed"),
        topic("/camera/rear/compressed"),
        topic("/lidar", LIDAR),
        topic("/x", OTHER),
    ]
    mapping = match_topics(
        topics,
        {
            "rear": want(CAMERA, "/camera/rear/*"),
            "front": want(CAMERA, "/camera/front/*"),
            "top": want(LIDAR, "/lidar"),
        },
    )
    assert list(mapping.sensor_to_topic.items()) == [
        ("rear", "/camera/rear/compressed"),
        ("front", "/camera/front/compressed"),
        ("top", "/lidar"),
    ]
    assert mapping.unmapped_topics == ("/x",)
    assert (mapping.missing_sensors, mapping.ambiguous, mapping.wrong_kind) == ((), (), ())


def test_a_full_name_beats_a_glob_of_an_earlier_sensor():
    mapping = match_topics([topic("/a"), topic("/b")], {"one": want(CAMERA, "/*"), "two": want(CAMERA, "/a")})
    assert mapping.sensor_to_topic == {"one": "/b", "two": "/a"}
    assert mapping.ambiguous == ()


def test_a_full_name_beats_a_glob_of_the_same_sensor():
    mapping = match_topics([topic("/a"), topic("/b")], {"one": want(CAMERA, "/*", "/b")})
    assert mapping.sensor_to_topic == {"one": "/b"}


def test_a_topic_never_serves_two_sensors():
    mapping = match_topics(
        [topic("/a")], {"one": want(CAMERA, "/a"), "two": want(CAMERA, "/a"), "three": want(CAMERA, "*")}
    )
    assert mapping.sensor_to_topic == {"one": "/a"}
    assert mapping.missing_sensors == ("two", "three")


def test_a_broad_glob_leaves_the_narrow_one_its_topic():
    mapping = match_topics(
        [topic("/cam/front"), topic("/cam/left")], {"any": want(CAMERA, "/cam/*"), "front": want(CAMERA, "*front*")}
    )
    assert mapping.sensor_to_topic == {"any": "/cam/left", "front": "/cam/front"}


def test_earlier_globs_come_first_and_empty_topics_last():
    topics = [topic("/a", messages=0), topic("/b"), topic("/c/raw")]
    assert match_topics(topics, {"s": want(CAMERA, "/c/*", "/?")}).sensor_to_topic == {"s": "/c/raw"}
    assert match_topics(topics, {"s": want(CAMERA, "/?")}).sensor_to_topic == {"s": "/b"}
    assert match_topics(topics[:1], {"s": want(CAMERA, "/?")}).sensor_to_topic == {"s": "/a"}


def test_ambiguity_is_told_when_a_matching_topic_stays_unused():
    mapping = match_topics([topic("/b"), topic("/a"), topic("/c")], {"s": want(CAMERA, "/*")})
    assert mapping.sensor_to_topic == {"s": "/a"}
    assert [str(a) for a in mapping.ambiguous] == ["sensor s: /a was taken; /b, /c would match as well"]
    assert mapping.unmapped_topics == ("/b", "/c")


def test_the_wrong_kind_is_told():
    mapping = match_topics([topic("/front", LIDAR)], {"front": want(CAMERA, "*front*")})
    assert mapping.missing_sensors == ("front",)
    assert [str(w) for w in mapping.wrong_kind] == [
        "sensor front: /front matches by name but holds sensor_msgs/msg/PointCloud2, not camera data"
    ]


def test_case_matters_and_signs_of_globs_in_names_match_themselves():
    assert match_topics([topic("/Front")], {"s": want(CAMERA, "/front")}).missing_sensors == ("s",)
    assert match_topics([topic("/cam[0]")], {"s": want(CAMERA, "/cam[0]")}).sensor_to_topic == {"s": "/cam[0]"}


def test_the_order_of_topics_does_not_matter():
    topics = [topic("/a1"), topic("/a2"), topic("/b1"), topic("/l", LIDAR)]
    patterns = {"s1": want(CAMERA, "/a*", "/b*"), "s2": want(CAMERA, "/a*"), "s3": want(LIDAR, "*")}
    results = {tuple(match_topics(order, patterns).sensor_to_topic.items()) for order in itertools.permutations(topics)}
    assert results == {(("s1", "/a2"), ("s2", "/a1"), ("s3", "/l"))}


def test_nothing_to_map():
    assert match_topics([], {"s": want(IMU, "*")}).missing_sensors == ("s",)
    assert match_topics([topic("/a")], {}).unmapped_topics == ("/a",)
