"""iceoryx2: publish-subscribe in shared memory, woken by its event service."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import iceoryx2
import numpy as np

from rt_sched.transport.leftovers import remove, run_folder, run_name
from transports import DEPTH

TITLE = "iceoryx2"
IN_PLACE = True


class Peer:
    def __init__(self, size: int) -> None:
        iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
        self.run = run_name()
        self.name = iceoryx2.ServiceName.new("benchmark")
        self.size = size

    def _services(self) -> tuple[Any, Any, Any]:
        config = iceoryx2.config.default()
        config.global_cfg.prefix = iceoryx2.FileName.new(self.run)
        config.global_cfg.root_path = iceoryx2.Path.new(str(run_folder(self.run)))
        node = iceoryx2.NodeBuilder.new().config(config).create(iceoryx2.ServiceType.Ipc)
        messages = node.service_builder(self.name).publish_subscribe(iceoryx2.Slice[ctypes.c_uint8])
        service = messages.subscriber_max_buffer_size(DEPTH).enable_safe_overflow(True).open_or_create()
        return node, service, node.service_builder(self.name).event().open_or_create()

    def receiver(self) -> Iterator[memoryview]:
        _node, service, event = self._services()
        subscriber = service.subscriber_builder().create()
        listener = event.listener_builder().create()
        a_while = iceoryx2.Duration.from_millis(500)
        while True:
            sample = subscriber.receive()
            if sample is None:
                listener.timed_wait(a_while)
                continue
            yield _bytes(sample)
            sample.delete()

    def sender(self) -> None:
        self.node, service, event = self._services()
        self.publisher = service.publisher_builder().initial_max_slice_len(self.size).create()
        self.notifier = event.notifier_builder().create()

    def send(self, source: np.ndarray) -> None:
        self.loan()[:] = source.data
        self.publish()

    def loan(self) -> memoryview:
        self.open = self.publisher.loan_slice_uninit(self.size)
        return _bytes(self.open)

    def publish(self) -> None:
        self.open.assume_init().send()
        self.notifier.notify()

    def close(self) -> None:
        self.publisher.delete()
        self.notifier.delete()
        remove(self.run)


def _bytes(sample: Any) -> memoryview:
    return np.frombuffer(sample.payload().as_memory_view(), np.uint8).data
