-- sending -> retry | failed_permanent | dead, for deliveries of one lease whose send did not succeed: TRANSIENT
-- errors wait and try again until max_attempts, PERMANENT ones end. Each writes the outcome of its attempt and
-- its result. Returns the new status of each delivery that was still under way in this attempt.
create or replace function fn.settle_failed(
    p_workspace_id uuid, p_lease_id bigint, p_delivery_ids uuid[], p_attempts int[], p_errors jsonb[]
) returns table (delivery_id uuid, status text, next_retry_at timestamptz)
language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_max_attempts int := fn.number_setting(p_workspace_id, 'max_attempts', 1, 100)::int;
    v_channels     text[];
    v_counts       int[];
    v_settled      jsonb;
    v_outcome      bytea := fn.event_id_prefix(4);
    v_result       bytea := fn.event_id_prefix(5);
begin
    perform set_config('pressroom.engine', 'on', true);
    with failed as materialized (
        select id, attempt, error,
               case when error ->> 'category' = 'PERMANENT' then 'failed_permanent'
                    when attempt >= v_max_attempts then 'dead'
                    else 'retry' end as status,
               now() + fn.retry_delay(p_workspace_id, attempt, error) as retry_at
          from unnest(p_delivery_ids, p_attempts, p_errors) as f(id, attempt, error)),
    settled as (
        update deliveries d
           set status = f.status, last_error = f.error, updated_at = now(),
               next_retry_at = case when f.status = 'retry' then f.retry_at end,
               claimed_at = null, claim_token = null, sending_started_at = null
          from failed f
         where d.workspace_id = p_workspace_id and d.delivery_id = f.id and d.status = 'sending'
           and d.attempt = f.attempt
        returning d.delivery_id, d.channel_id, d.message_id, d.attempt, d.status, d.last_error, d.next_retry_at,
                  d.trace_id),
    due as (
        insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id)
        select p_workspace_id, channel_id, next_retry_at, delivery_id from settled where status = 'retry'),
    audited as (
        insert into events (workspace_id, id, delivery_id, message_id, channel_id, action, attempt, result, error, meta)
        select p_workspace_id, fn.event_id(v_outcome, delivery_id), delivery_id, message_id, channel_id,
               'send_attempt', attempt, 'error', last_error,
               jsonb_build_object('phase', 'outcome', 'trace_id', trace_id) from settled
        union all
        select p_workspace_id, fn.event_id(v_result, delivery_id), delivery_id, message_id, channel_id,
               case status when 'retry' then 'retry_scheduled' when 'dead' then 'dead_letter' else status end,
               attempt, 'error', last_error,
               jsonb_strip_nulls(jsonb_build_object('trace_id', trace_id, 'next_retry_at', next_retry_at)) from settled)
    select jsonb_agg(jsonb_build_object('id', delivery_id, 'channel', channel_id, 'status', status, 'at', next_retry_at))
      into v_settled from settled;
    perform set_config('pressroom.engine', 'off', true);

    select array_agg(channel_id), array_agg(n) into v_channels, v_counts
      from (select s ->> 'channel' as channel_id, count(*)::int as n
              from jsonb_array_elements(v_settled) s group by 1) per_channel;
    perform fn.close_lease(p_workspace_id, p_lease_id, v_channels, v_counts, p_delivery_ids);
    return query
    select (s ->> 'id')::uuid, s ->> 'status', (s ->> 'at')::timestamptz from jsonb_array_elements(v_settled) s;
end
$$;
