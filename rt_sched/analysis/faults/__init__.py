"""What faults and changes of mode do to bounds: the state before, the transition, and the state after."""
