-- sending -> retry | dead, for what was under way in a process that died: its lease ran out. The attempt was
-- counted when it began and is not counted again; whether the platform got the post is unknown. Returns how many.
create or replace function fn.release_expired_leases(p_workspace_id uuid, p_now timestamptz default null) returns int
language plpgsql set jit = off as $$
declare
    v_now          timestamptz := coalesce(p_now, now());
    v_lease_for    interval := interval '1 second'
                       * fn.number_setting(p_workspace_id, 'sending_lease_seconds', 1, 2592000);
    v_max_attempts int := fn.number_setting(p_workspace_id, 'max_attempts', 1, 100)::int;
    v_backoff      jsonb := fn.required_setting(p_workspace_id, 'lease_short_backoff_seconds');
    v_wait_from    float8 := case when jsonb_typeof(v_backoff -> 0) = 'number'
                                  then least(greatest((v_backoff ->> 0)::numeric, 0), 3600) else 10 end;
    v_wait_to      float8 := case when jsonb_typeof(v_backoff -> 1) = 'number'
                                  then least(greatest((v_backoff ->> 1)::numeric, 0), 3600) else 30 end;
    v_error        jsonb := jsonb_build_object(
                       'category', 'TRANSIENT', 'scope', 'delivery', 'code', 'sending_lease_expired',
                       'outcome', 'unknown', 'message', 'the process that was sending it died or lost the database');
    v_expired      bytea := fn.event_id_prefix(6);
    v_dead         bytea := fn.event_id_prefix(5);
    v_released     int;
    v_lease        bigint;
begin
    perform set_config('pressroom.engine', 'on', true);
    with expired as materialized (
        select lease_id, run_id, delivery_ids from delivery_leases
         where workspace_id = p_workspace_id and open > 0 and taken_at < v_now - v_lease_for),
    stuck as materialized (  -- what is locked is being settled just now: it needs no help
        select d.delivery_id
          from expired e
          join deliveries d on d.workspace_id = p_workspace_id and d.delivery_id = any(e.delivery_ids)
         where d.status = 'sending' and coalesce(d.claim_token, '') = e.run_id
           for update of d skip locked),
    released as (
        update deliveries d
           set status = case when d.attempt >= v_max_attempts then 'dead' else 'retry' end,
               next_retry_at = case when d.attempt < v_max_attempts
                                    then v_now + interval '1 second'
                                         * (v_wait_from + random() * (v_wait_to - v_wait_from)) end,
               last_error = v_error, claimed_at = null, claim_token = null, sending_started_at = null,
               updated_at = v_now
         where d.workspace_id = p_workspace_id and d.delivery_id = any(array(select delivery_id from stuck))
        returning d.delivery_id, d.channel_id, d.message_id, d.attempt, d.status, d.next_retry_at, d.trace_id),
    due as (
        insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id)
        select p_workspace_id, channel_id, next_retry_at, delivery_id from released where status = 'retry'),
    audited as (
        insert into events (workspace_id, id, delivery_id, message_id, channel_id, action, attempt, result, error, meta)
        select p_workspace_id, fn.event_id(v_expired, delivery_id), delivery_id, message_id, channel_id,
               'sending_lease_expired', attempt, 'error', v_error, jsonb_build_object('trace_id', trace_id)
          from released
        union all
        select p_workspace_id, fn.event_id(v_dead, delivery_id), delivery_id, message_id, channel_id,
               'dead_letter', attempt, 'error', v_error, jsonb_build_object('trace_id', trace_id)
          from released where status = 'dead')
    select count(*) into v_released from released;
    perform set_config('pressroom.engine', 'off', true);

    -- Deliveries first, leases after: the order of everybody who holds both. Counted again under the lock, since
    -- an answer may have come in between.
    for v_lease in
        select lease_id from delivery_leases
         where workspace_id = p_workspace_id and open > 0 and taken_at < v_now - v_lease_for
         order by lease_id for update skip locked
    loop
        perform fn.recount_lease(p_workspace_id, v_lease);
    end loop;
    delete from delivery_leases
     where workspace_id = p_workspace_id and open = 0 and taken_at < v_now - interval '1 day';
    return v_released;
end
$$;
