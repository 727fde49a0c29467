-- queued | retry -> sending: takes what is due, channel by channel after p_after_channel, the oldest of each,
-- and commits the attempt and its send_attempt event before anybody calls a platform.
-- Only open channels count (enabled, not paused, room below max_parallel); their rows are locked in order and
-- those that another dispatcher holds are skipped, so dispatchers share channels and never a delivery.
-- What is in flight is counted from the open leases, again under the locks.
create or replace function fn.take_due(
    p_workspace_id uuid, p_run_id text, p_limit int default 100, p_per_channel int default 100,
    p_after_channel text default '', p_visit int default 20
) returns table (
    lease_id bigint, delivery_id uuid, channel_id text, message_id uuid, attempt int, rendered_text text,
    render_meta jsonb, trace_id text, due_at timestamptz)
language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_ids      uuid[];
    v_rows     tid[];
    v_channels text[];
    v_counts   int[];
    v_lease    bigint;
    v_taken    int;
    v_event    bytea := fn.event_id_prefix(2);
    v_meta     jsonb := jsonb_build_object('phase', 'before', 'workflow_run_id', p_run_id);
begin
    if exists (select from workspaces w where w.workspace_id = p_workspace_id and w.status <> 'active') then
        return;
    end if;

    -- Closed and full channels are stepped over, one probe each, however much they have due.
    with recursive busy as materialized (
        select b.channel_id, sum(b.n)::int as n
          from delivery_leases l, unnest(l.channels, l.counts) as b(channel_id, n)
         where l.workspace_id = p_workspace_id and l.open > 0
         group by b.channel_id),
    seen as (
        select p_after_channel as channel_id, false as open, 0 as n
        union all
        select following.channel_id, following.open, seen.n + following.open::int
          from seen,
               lateral (select head.channel_id,
                               head.due_at <= now() and c.enabled and coalesce(c.paused_until, '-infinity') <= now()
                               and coalesce((select b.n from busy b where b.channel_id = head.channel_id), 0)
                                   < c.max_parallel as open
                          from (select q.channel_id, q.due_at from delivery_queue q
                                 where q.workspace_id = p_workspace_id and q.channel_id > seen.channel_id
                                 order by q.channel_id, q.due_at limit 1) head  -- the limit first: it is the scan
                          join channels c on c.workspace_id = p_workspace_id and c.channel_id = head.channel_id
                       ) following
         where seen.n < p_visit),
    locked as materialized (
        select c.channel_id
          from channels c
         where c.workspace_id = p_workspace_id
           and c.channel_id = any(array(select seen.channel_id from seen where seen.open))
         order by c.channel_id
           for no key update of c skip locked)
    select array_agg(channel_id order by channel_id) into v_channels from locked;
    if v_channels is null then
        return;
    end if;

    with busy as materialized (
        select b.channel_id, sum(b.n)::int as n
          from delivery_leases l, unnest(l.channels, l.counts) as b(channel_id, n)
         where l.workspace_id = p_workspace_id and l.open > 0
         group by b.channel_id),
    picked as materialized (
        select top.ctid as row, top.delivery_id, c.channel_id
          from channels c
          left join busy b on b.channel_id = c.channel_id,
               lateral (select q.ctid, q.delivery_id, q.due_at from delivery_queue q
                         where q.workspace_id = p_workspace_id and q.channel_id = c.channel_id
                           and q.due_at <= now() and not q.slotted
                         order by q.due_at
                         limit greatest(least(p_per_channel, c.max_parallel - coalesce(b.n, 0)), 0)) top
         where c.workspace_id = p_workspace_id and c.channel_id = any(v_channels)
           and c.enabled and coalesce(c.paused_until, '-infinity') <= now()
         order by top.due_at
         limit p_limit)
    select array_agg(delivery_id), array_agg(row),
           (select array_agg(channel_id order by channel_id) from (select distinct channel_id from picked) p),
           (select array_agg(n order by channel_id)
              from (select channel_id, count(*)::int as n from picked group by channel_id) p)
      into v_ids, v_rows, v_channels, v_counts
      from picked;
    if v_ids is null then
        return;
    end if;

    perform set_config('pressroom.engine', 'on', true);
    v_lease := fn.open_lease(p_workspace_id, p_run_id, v_channels, v_counts, v_ids);
    return query
    with gone as (
        delete from delivery_queue q where q.ctid = any(v_rows) and q.delivery_id = any(v_ids)),
    taken as (
        update deliveries d
           set status = 'sending', attempt = d.attempt + 1, claimed_at = now(), claim_token = p_run_id,
               sending_started_at = now(), next_retry_at = null, updated_at = now()
         where d.workspace_id = p_workspace_id and d.delivery_id = any(v_ids) and d.status in ('queued', 'retry')
           and d.not_before <= now()
        returning d.delivery_id, d.channel_id, d.message_id, d.attempt, d.rendered_text, d.render_meta, d.trace_id,
                  d.not_before),
    audited as (
        insert into events (workspace_id, id, delivery_id, message_id, channel_id, action, attempt, result, meta)
        select p_workspace_id, fn.event_id(v_event, t.delivery_id), t.delivery_id, t.message_id, t.channel_id,
               'send_attempt', t.attempt, 'ok',
               v_meta || jsonb_build_object('trace_id', t.trace_id, 'idempotency_key', t.delivery_id)
          from taken t)
    select v_lease, t.delivery_id, t.channel_id, t.message_id, t.attempt, t.rendered_text, t.render_meta,
           t.trace_id, t.not_before
      from taken t;
    get diagnostics v_taken = row_count;
    perform set_config('pressroom.engine', 'off', true);
    if v_taken < cardinality(v_ids) then
        perform fn.recount_lease(p_workspace_id, v_lease);
    end if;
end
$$;
