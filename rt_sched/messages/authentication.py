"""Authentication of protected messages by a key that sender and receiver share: HMAC (RFC 2104) with SHA-256.

As in AUTOSAR's Secure Onboard Communication, content and freshness go into one tag: here the header (data id,
counter, length, stamp, checksum, source) and the canonical bytes of the message. The tag is sent in full, 256 bits. Who
lacks the key can neither make a message nor change one; what was sent before is told by counter and stamp.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

#: What the key is used for, so that a tag of another use never fits.
_USE = b"rt-sched message 1\0"
#: Shortest key, in bytes: that of the hash, below which RFC 2104 advises against it.
LEAST_KEY_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class Authenticator:
    """`key`: the shared secret. `protects`: names of the message types that carry a tag, and must."""

    key: bytes = field(repr=False)
    protects: frozenset[str]

    def covers(self, message: object) -> bool:
        """Whether messages of this type carry a tag."""
        return type(message).__name__ in self.protects

    def tag(self, *parts: bytes) -> bytes:
        """Of parts whose lengths follow from their content, in order."""
        return hmac.digest(self.key, _USE + b"".join(parts), "sha256")

    def fits(self, tag: bytes, *parts: bytes) -> bool:
        """Whether this is their tag, in a time that does not depend on where it differs."""
        return hmac.compare_digest(tag, self.tag(*parts))
