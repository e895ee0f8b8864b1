"""What a run showed, held against its bounds and their assumptions."""
