"""What goes in: samples decoded ahead, and published at their instants."""
