"""How messages of a recording are decoded for a run, and how large they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rt_sched.errors import DataError
from rt_sched.ports import RecordedMessage, Recording
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.stage_graph import Outputs
from sensors.decode_ahead import PixelsNeeded, decoded_with_pixels


def decoder(recording: Recording, needs: Mapping[str, Sequence[PixelsNeeded]]) -> Callable[[RecordedMessage], object]:
    """What turns messages into what stages read, pictures with their pixels. `needs`: by topic, as stages say so."""
    return lambda message: decoded_with_pixels(recording.decode(message), needs.get(message.topic, ()))


def largest_messages(
    recording: Recording, topics: Mapping[str, str], decode: Callable[[RecordedMessage], object]
) -> dict[str, int]:
    """Sensor -> bytes, as it is handed on, of the message that is largest as recorded. `topics`: topic -> sensor."""
    largest: dict[str, RecordedMessage] = {}
    messages = recording.messages(list(topics)) if topics else iter(())
    for message in messages:
        known = largest.get(message.topic)
        if message.problem is None and (known is None or len(message.payload.data) > len(known.payload.data)):
            largest[message.topic] = message
    found = {}
    for topic, message in largest.items():
        try:
            found[topics[topic]] = Encoded(Outputs({None: decode(message)})).size
        except DataError:
            continue
    return found
