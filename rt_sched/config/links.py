"""The section `links`, and what inputs send over them."""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.config import fields, quantities
from rt_sched.config.edges import InputDraft
from rt_sched.config.problems import Problems, listed, unknown
from rt_sched.config.table import Key, Spec, Table, named_entries
from rt_sched.config.tasks import TaskDraft, message_bytes
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Device, Link, Sensor

LINK = Spec(
    "link",
    "a link",
    (
        Key(
            "bandwidth",
            quantities.bandwidth_bytes_per_s,
            "What it carries a second.",
            required=True,
            example="bandwidth: 10Gbit/s",
        ),
        Key("latency", quantities.time_up_or_zero, "From the end of sending to the arrival.", 0, "0ns"),
        Key("between", fields.texts, "The devices that it connects.", (), "all devices"),
    ),
)


def read_links(node: Node | None, devices: Mapping[str, Device], problems: Problems) -> dict[str, Link]:
    """Name -> link, in file order."""
    named = [] if node is None else named_entries(node, "links", problems)
    return {name: _read_link(name, entry.value, devices, problems) for name, entry in named}


def _read_link(name: str, node: Node, devices: Mapping[str, Device], problems: Problems) -> Link:
    table = Table(node, LINK, problems)
    between: tuple[str, ...] = table.read("between")
    between_node = table.get("between")
    if between_node is not None and between:
        items = between_node.items if between_node.is_sequence else (between_node,)
        strange = [item for item in items if item.is_scalar and not item.is_null and item.text not in devices]
        for item in strange:
            problems.add(item, unknown("device", item.text, devices))
        if len(between) == 1:
            problems.add(between_node, "a link connects at least two devices: between: [orin-1, orin-2]")
        if strange or len(between) == 1:
            between = ()
    return Link(name, table.read("bandwidth") or quantities.MIN_BANDWIDTH_BYTES_PER_S, table.read("latency"), between)


def check_link_use(
    drafts: Mapping[str, TaskDraft],
    sensors: Mapping[str, Sensor],
    links: Mapping[str, Link],
    problems: Problems,
) -> None:
    """Report inputs whose link does not exist, does not reach both ends, or gets messages of unknown size."""
    for draft in drafts.values():
        for item in draft.inputs:
            if item.link is not None and item.link_node is not None:
                _check_one(item, item.link_node, draft, drafts, sensors, links, problems)
            elif item.size_node is not None:
                problems.add(item.size_node, "the size of a message matters on a link only; name one, or leave it out")


def _check_one(
    item: InputDraft,
    node: Node,
    draft: TaskDraft,
    drafts: Mapping[str, TaskDraft],
    sensors: Mapping[str, Sensor],
    links: Mapping[str, Link],
    problems: Problems,
) -> None:
    link = links.get(item.link or "")
    if link is None:
        problems.add(node, unknown("link", item.link or "", links))
        return
    if item.source in sensors:
        senders, sizes = sensors[item.source].attached_to, f"frame_size at the sensor {item.source}"
    elif item.source in drafts:
        senders, sizes = (drafts[item.source].pe[0],), f"output_size at the task {item.source}"
    else:
        return
    if message_bytes(item, drafts, sensors) is None:
        problems.add(node, f"{link.name} needs the size of a message: write size here, or {sizes}")
    if not link.between:
        return
    if draft.pe[0] and draft.pe[0] not in link.between:
        problems.add(
            node,
            f"{link.name} does not reach {draft.pe[0]}, where {draft.name} runs; it connects {listed(link.between)}",
        )
    elif senders and all(senders) and not set(senders) & set(link.between):
        problems.add(
            node,
            f"{link.name} does not reach {listed(senders)}, where {item.source} is; it connects {listed(link.between)}",
        )
