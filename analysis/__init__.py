"""The proof: checks in Spark over the trace tables of a run; never talks to a broker."""
