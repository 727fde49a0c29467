-- Since when the oldest delivery waits that could be sent now: its workspace active, its channel open and with
-- room. Only workspaces count in which nothing was taken up for p_idle_for. One probe per channel with due work,
-- and null when nothing waits.
create or replace function fn.oldest_open_due_at(p_idle_for interval default '0') returns timestamptz
language sql stable as $$
    with recursive busy as materialized (
        select l.workspace_id, b.channel_id, sum(b.n)::int as n
          from delivery_leases l, unnest(l.channels, l.counts) as b(channel_id, n)
         where l.open > 0
         group by l.workspace_id, b.channel_id),
    seen as (
        (select q.workspace_id, q.channel_id, q.due_at from delivery_queue q
          order by q.workspace_id, q.channel_id, q.due_at limit 1)
        union all
        select following.workspace_id, following.channel_id, following.due_at
          from seen,
               lateral (select q.workspace_id, q.channel_id, q.due_at from delivery_queue q
                         where (q.workspace_id, q.channel_id) > (seen.workspace_id, seen.channel_id)
                         order by q.workspace_id, q.channel_id, q.due_at limit 1) following)
    select min(seen.due_at)
      from seen
      join workspaces w on w.workspace_id = seen.workspace_id and w.status = 'active'
      join channels c on c.workspace_id = seen.workspace_id and c.channel_id = seen.channel_id
      left join busy b on b.workspace_id = seen.workspace_id and b.channel_id = seen.channel_id
     where seen.due_at <= now() and c.enabled and coalesce(c.paused_until, '-infinity') <= now()
       and coalesce(b.n, 0) < c.max_parallel
       and not exists (select from delivery_leases l
                        where l.workspace_id = seen.workspace_id and l.taken_at > now() - p_idle_for)
$$;
