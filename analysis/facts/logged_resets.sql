/*
about: |
  Rows of `resets`, with the offset to which the client went; as they were logged, where it is not
  known what was delivered.
subject: deliveries
kept: false
like: resets
optional: [resets, client_resets]
*/
select * from client_resets where cause != 'seek'
union all
select * from resets where (select count(*) from client_resets) = 0
