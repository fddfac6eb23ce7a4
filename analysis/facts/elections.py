"""Every election of a partition's leader: of what kind it was, and which losses it permits.

Whether records may be lost is decided by the election that lost them, never by a topic's setting
alone. An election permits a loss if its leader came from outside the ISR and the eligible leader
replicas by configuration (`unclean.leader.election.enable`) or by order of an administrator
(KIP-460); or if a fault of the run took the records of the leader: its disk was wiped while in the
ISR, or the tails of all replicas were truncated. The election of the last known leader (KIP-966) is
allowed, but permits no loss: it led with every committed record, so only its disk can lack some.
"""

from analysis.facts.stated import fact_named

elections = fact_named("elections")
