"""Lies that no evidence of a run could show, each with the reason."""

HIDDEN = (
    ("drop", "samples", "one answer of a broker to the observer is missing",
     ("The observer asks as often as it can, and nothing says how often that is. The history's"
     " numbers show a line that is missing; a row that was never asked for leaves no number.")),
    ("drop", "waits", "a wait of the driver is missing",
     "No check reads the waits: the report shows where the time of a run went."),
    ("shift", "waits", "a wait took longer", "As before."),
    ("drop", "clocks", "one reading of a clock is missing",
     "The others bound the clocks' difference as well; without any, clock_skew is not evaluable."),
    ("drop", "transactions", "a description of a transaction by its coordinator is missing",
     "The observer asks when it likes, as with samples."),
    ("drop", "leader_epoch_starts", "the line of a leader's epoch start is missing",
     ("Kafka 3.9's servers may have another log level; checkpoints and batches show the start"
     " for as long as retention keeps the epoch. The checks claim nothing that these sources"
     " cannot show.")),
    ("drop", "log_start_changes", "the line of an advance of a log start is missing",
     ("The next line, the leader's samples and the end of the run show that the start moved, not"
     " in how many steps.")),
    ("drop", "truncations", "the line of a truncation that removed nothing is missing",
     "A follower truncates to its own end, too: nothing in any log differs."),
    ("drop", "group_events", "a member's revocation at its close is missing",
     "A member that is killed leaves without one, and the next is assigned all the same."),
    ("drop", "polls", "the last deliveries of a member that never committed them are missing",
     ("A member's answer may have arrived and not been written when it was killed: the history ends"
     " there, and its next session begins at the commit.")),
    ("shift", "polls", "all times of a worker are later by less than the clock bound",
     ("Times of different nodes are compared with this bound; a smaller difference decides"
     " nothing.")),
    ("shift", "sends", "a value was meant to be sent some milliseconds earlier",
     "Any time before its acknowledgement, and after the one of the value before, is possible."),
    ("alter", "sends", "a value of unknown outcome that is in no log was never sent at all",
     "A timeout allows both outcomes; the broker that received it may not have appended it."),
    ("alter", "commits", "a commit of unknown outcome that is not stored was never asked for",
     "As above: a timeout allows both outcomes."),
    ("alter", "replica_batches", "the size of a batch in bytes differs in every replica",
     ("Nothing says how a producer's compression and headers add up; one replica that differs from"
     " the others has another checksum as well.")),
    ("swap", "history/*.jsonl", "two lines of a history change places",
     "Lines are read in the order of their numbers, so this changes nothing."),
    ("alter", "run.json", "the run says another seed, command or git head",
     "They say how to repeat a run. Nothing in a run depends on them in a way that it records."),
    ("alter", "plan.json", "the plan asks another question",
     "The question is text for readers."),
    ("drop", "faults", "a fault that changed nothing, and was to change nothing, is missing",
     "An election of the leader that leads already leaves no trace in any log."),
    ("alter", "faults", "a fault's evidence is other than it was",
     ("The evidence is what the driver saw. `landed` is judged, and effects are judged from the"
     " servers' own logs.")),
    ("shift", "epoch_checkpoints", "a checkpoint's first epoch begins below the log start",
     ("Kafka writes the file some time after it deletes a segment, so a kill may leave an"
     " older start; it is corrected when the log is loaded.")),
)  # fmt: skip
"""(verb, table, lie, why no evidence shows it)."""
