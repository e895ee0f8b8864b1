"""All processors together: arrivals and responses until they agree, runs that miss, derivations."""
