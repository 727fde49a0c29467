-- sending -> sent, for the deliveries of one lease that the platform acknowledged. Only the current attempt
-- counts: a late answer of a superseded one changes nothing. Returns how many were settled.
create or replace function fn.settle_sent(
    p_workspace_id uuid, p_lease_id bigint, p_delivery_ids uuid[], p_attempts int[], p_provider_ids text[],
    p_metas jsonb[]
) returns int
language plpgsql set plan_cache_mode = force_generic_plan set jit = off set enable_nestloop = off as $$
declare
    v_channels text[];
    v_counts   int[];
    v_settled  int;
    v_event    bytea := fn.event_id_prefix(3);
begin
    perform set_config('pressroom.engine', 'on', true);
    with settled as (
        update deliveries d
           set status = 'sent', sent_at = now(), provider_message_id = answer.provider_id, last_error = null,
               updated_at = now()
          from unnest(p_delivery_ids, p_attempts, p_provider_ids, p_metas) as answer(id, attempt, provider_id, meta)
         where d.workspace_id = p_workspace_id and d.delivery_id = any(p_delivery_ids)
           and d.delivery_id = answer.id and d.status = 'sending' and d.attempt = answer.attempt
        returning d.delivery_id, d.channel_id, d.message_id, d.attempt, d.provider_message_id, d.trace_id, answer.meta),
    audited as (
        insert into events (workspace_id, id, delivery_id, message_id, channel_id, action, attempt, result, meta)
        select p_workspace_id, fn.event_id(v_event, s.delivery_id), s.delivery_id, s.message_id, s.channel_id, 'sent',
               s.attempt, 'ok',
               coalesce(s.meta, '{}') || jsonb_build_object(
                   'provider_message_id', s.provider_message_id, 'trace_id', s.trace_id)
          from settled s)
    select coalesce(sum(n), 0), array_agg(channel_id), array_agg(n) into v_settled, v_channels, v_counts
      from (select channel_id, count(*)::int as n from settled group by channel_id) per_channel;

    perform set_config('pressroom.engine', 'off', true);
    perform fn.close_lease(p_workspace_id, p_lease_id, v_channels, v_counts);
    if exists (select from channels c
                where c.workspace_id = p_workspace_id and c.channel_id = any(v_channels) and c.error_streak <> 0) then
        update channels c
           set error_streak = 0
          from (select l.channel_id from channels l
                 where l.workspace_id = p_workspace_id and l.channel_id = any(v_channels) and l.error_streak <> 0
                 order by l.channel_id for no key update) locked
         where c.workspace_id = p_workspace_id and c.channel_id = locked.channel_id;
    end if;
    return v_settled;
end
$$;
