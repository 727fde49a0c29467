-- One post in: the message once, a queued delivery for each channel that its tags reach, an event for each.
-- A channel that has the same content on its way, or sent within its TTL, gets none: dedup_suppressed. The
-- message is written first and alone, so that concurrent calls with one content wait here and then see each
-- other's deliveries.
-- p_raw_payload carries what was prepared in Python under "prepared": payload, content_hash, hash_version,
-- normalization_version, tags, and "renderings", platform -> {text, meta, template_version}; a platform
-- without a rendering fails its deliveries and nobody else's.
create or replace function fn.enqueue_messages_and_deliveries(
    p_workspace_id uuid, p_endpoint_id text, p_kind text, p_raw_payload jsonb, p_now timestamptz default null
) returns table (message_id uuid, queued bigint, suppressed bigint, failed_permanent bigint, send_mode_skipped bigint)
language plpgsql set jit = off as $$
#variable_conflict use_column
declare
    v_now        timestamptz := coalesce(p_now, now());
    v_prepared   jsonb := p_raw_payload -> 'prepared';
    v_type       text := v_prepared -> 'payload' ->> 'type';
    v_hash       text := v_prepared ->> 'content_hash';
    v_version    int := (v_prepared ->> 'hash_version')::int;
    v_renderings jsonb := coalesce(v_prepared -> 'renderings', '{}');
    v_only       jsonb := p_raw_payload -> 'channel_ids';
    v_trace      text := p_raw_payload ->> 'trace_id';
    v_run        text := p_raw_payload ->> 'run_id';
    v_meta       jsonb := jsonb_strip_nulls(jsonb_build_object(
                     'trace_id', v_trace, 'workflow_run_id', coalesce(p_raw_payload ->> 'workflow_run_id', v_run)));
    v_batch      uuid := gen_random_uuid();
    v_ms         bigint := floor(extract(epoch from clock_timestamp()) * 1000);
    v_seed       bigint := fn.random_seed();
    v_enqueue    bytea := fn.event_id_prefix(0);
    v_invalid    bytea := fn.event_id_prefix(1);
    v_message_id uuid;
    v_tags       text[];
    v_new        boolean;
begin
    if p_kind is null or p_kind not in ('push', 'pull') then
        raise exception 'kind is push or pull, not %', coalesce(p_kind, 'null') using errcode = 'PR422';
    end if;
    if v_prepared is null or v_type is null or v_hash is null or v_version is null then
        raise exception 'the post is not prepared' using errcode = 'PR422',
            hint = 'send it through POST /ingest/push';
    end if;
    if exists (select from workspaces w where w.workspace_id = p_workspace_id and w.status = 'disabled') then
        raise exception 'the workspace is disabled: it takes nothing in' using errcode = 'PR409',
            hint = 'pressroom workspace resume';
    end if;
    perform set_config('pressroom.engine', 'on', true);

    insert into messages as m (
        workspace_id, message_id, hash_version, content_hash, normalization_version, payload, tags, source,
        source_ref, first_seen_trace_id, first_ingest_run_id, last_ingest_run_id, last_seen_at, created_at)
    values (
        p_workspace_id, fn.uuid_v7_n(v_ms, v_seed, 0), v_version, v_hash,
        (v_prepared ->> 'normalization_version')::int, v_prepared -> 'payload',
        (select array_agg(tag) from jsonb_array_elements_text(v_prepared -> 'tags') tag),
        p_raw_payload -> 'source', p_raw_payload ->> 'source_ref', v_trace, v_run, v_run, v_now, v_now)
    on conflict (workspace_id, hash_version, content_hash) do update
        set last_seen_at = v_now, last_ingest_run_id = excluded.last_ingest_run_id, seen_count = m.seen_count + 1
    returning m.message_id, m.tags, m.xmax = 0 into v_message_id, v_tags, v_new;
    v_tags := coalesce(v_tags, '{}');

    return query
    with earlier as materialized (
        select d.channel_id, bool_or(d.status in ('queued', 'claimed', 'sending', 'retry')) as inflight,
               max(d.sent_at) filter (where d.status = 'sent') as sent_at
          from deliveries d
         where d.workspace_id = p_workspace_id and d.message_id = v_message_id and not v_new
         group by d.channel_id),
    routed as materialized (
        select row_number() over (order by c.channel_id) as n, c.channel_id,
               c.send_mode in ('mixed', v_type) as wanted,
               v_renderings -> c.platform as rendering, c.platform,
               case when e.inflight then 'inflight'
                    when e.sent_at >= v_now - interval '1 hour' * coalesce(c.dedup_ttl_hours, 168) then 'ttl'
               end as repeats
          from channels c
          left join earlier e on e.channel_id = c.channel_id
         where c.workspace_id = p_workspace_id and c.enabled
           and (v_only is null or v_only ? c.channel_id)
           and (coalesce(jsonb_array_length(c.route_filter -> 'include_any'), 0) = 0
                or c.route_filter -> 'include_any' ?| v_tags)
           and (coalesce(jsonb_array_length(c.route_filter -> 'include_all'), 0) = 0
                or to_jsonb(v_tags) @> (c.route_filter -> 'include_all'))
           and (coalesce(jsonb_array_length(c.route_filter -> 'exclude'), 0) = 0
                or not c.route_filter -> 'exclude' ?| v_tags)),
    fresh as materialized (
        select fn.uuid_v7_n(v_ms, v_seed, n) as delivery_id, channel_id, rendering,
               case when rendering is null then jsonb_build_object(
                   'category', 'PERMANENT', 'scope', 'delivery', 'code', 'validation_failed',
                   'message', format('no platform plug is named %s', platform)) end as error
          from routed
         where wanted and repeats is null),
    delivered as (
        insert into deliveries (
            workspace_id, delivery_id, message_id, enqueue_batch_id, created_at, updated_at, not_before,
            hash_version, content_hash, channel_id, status, last_error, trace_id, template_version, render_meta,
            rendered_text)
        select p_workspace_id, delivery_id, v_message_id, v_batch, v_now, v_now, v_now, v_version, v_hash,
               channel_id, case when error is null then 'queued' else 'failed_permanent' end, error, v_trace,
               rendering ->> 'template_version', rendering -> 'meta', rendering ->> 'text'
          from fresh),
    due as (
        insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id)
        select p_workspace_id, channel_id, v_now, delivery_id from fresh where error is null),
    audited as (
        insert into events (workspace_id, id, delivery_id, message_id, channel_id, action, result, error, meta)
        select p_workspace_id, fn.event_id(v_enqueue, delivery_id), delivery_id, v_message_id, channel_id,
               'enqueue', 'ok', null, v_meta from fresh where error is null
        union all
        select p_workspace_id, fn.event_id(v_invalid, delivery_id), delivery_id, v_message_id, channel_id,
               'validation_failed', 'error', error, v_meta from fresh where error is not null
        union all
        select p_workspace_id, fn.uuid_v7_n(v_ms, v_seed, 1000000 + n), null, v_message_id, channel_id,
               'dedup_suppressed', 'ok', null, v_meta || jsonb_build_object('reason', repeats)
          from routed where wanted and repeats is not null),
    counted as (
        select (select count(*) from fresh where error is null) as queued,
               (select count(*) from routed where wanted and repeats is not null) as suppressed,
               (select count(*) from fresh where error is not null) as failed_permanent,
               (select count(*) from routed where not wanted) as send_mode_skipped)
    select v_message_id, c.queued, c.suppressed, c.failed_permanent, c.send_mode_skipped from counted c;

    perform set_config('pressroom.engine', 'off', true);
    perform pg_notify('pressroom_due', p_workspace_id::text);
end
$$;
