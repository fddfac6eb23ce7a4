/*
about: |
  Groups that had members, by their coordinator or by a member's generation. Members that are
  assigned partitions by hand are none.
subject: assignments
kept: false
optional: [group_members]
*/
select group from group_members where member != ''
union
select group from reported_assignments where generation >= 0
