/*
about: The members that were given records and read committed values only.
subject: transactions
*/
select distinct p.group, member
from polls as p
join planned_groups as g on g.group = p.group
left join planned_members as m on m.group = p.group
  and m.number = cast(nullif(regexp_extract(member, '[.]([0-9]+)$', 1), '') as int)
where coalesce(m.isolation, g.isolation) = 'read_committed'
