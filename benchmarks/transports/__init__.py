"""What `benchmarks/transport.py` compares: each module moves messages from one process to another in its own way.

peer = Peer(size, in_place)      # in the parent, before it forks
peer.receiver()                  # in the child: yields the content of every message, valid until the next one
peer.sender()                    # in the parent, once the child has begun: send(array), or loan() and publish()
"""

#: Messages that wait at most, in those that have a queue; what is more is lost.
DEPTH = 8
