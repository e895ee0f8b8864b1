"""Static time-triggered tables: what `table` elements start when, over one hyperperiod."""
