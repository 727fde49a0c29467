-- When the next delivery falls due that is not due yet; null when none waits. One probe per channel.
create or replace function fn.next_due_at() returns timestamptz
language sql stable as $$
    with recursive seen as (
        (select q.workspace_id, q.channel_id from delivery_queue q order by q.workspace_id, q.channel_id limit 1)
        union all
        select following.workspace_id, following.channel_id
          from seen,
               lateral (select q.workspace_id, q.channel_id from delivery_queue q
                         where (q.workspace_id, q.channel_id) > (seen.workspace_id, seen.channel_id)
                         order by q.workspace_id, q.channel_id limit 1) following)
    select min(upcoming.due_at)
      from seen,
           lateral (select q.due_at from delivery_queue q
                     where q.workspace_id = seen.workspace_id and q.channel_id = seen.channel_id
                       and q.due_at > now()
                     order by q.due_at limit 1) upcoming
$$;
