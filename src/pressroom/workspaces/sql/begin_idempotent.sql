-- One caller at a time does the work behind an idempotency key; everybody later gets its answer.
-- - new: this caller holds the key until locked_until: it does the work, then finishes or forgets
-- - replay: the work was done: status, headers and body are its answer
-- - in_flight: another caller holds the key
-- - mismatch: the key was used for another request
-- A holder that died loses the key when its lock runs out; a key older than p_keep_for counts as absent. The
-- insert decides, so any number of callers at once get one `new`. locked_until tells holders apart: a later
-- holder's is later, so one that was overtaken can no longer finish.
create or replace function fn.begin_idempotent(
    p_workspace_id uuid, p_key text, p_request_hash text, p_lock_for interval, p_keep_for interval
) returns table (state text, locked_until timestamptz, status int, headers jsonb, body bytea)
language plpgsql as $$
#variable_conflict use_column
declare
    v_now  timestamptz := clock_timestamp();
    v_held timestamptz;
    v_row  idempotency_keys;
begin
    if p_lock_for <= '0' or p_keep_for < p_lock_for then
        raise exception 'an idempotency key must be locked for a while and kept at least as long'
            using errcode = 'PR422';
    end if;
    loop
        insert into idempotency_keys as k (workspace_id, key, request_hash, locked_until, expires_at)
        values (p_workspace_id, p_key, p_request_hash, v_now + p_lock_for, v_now + p_keep_for)
        on conflict (workspace_id, key) do update
           set request_hash = excluded.request_hash, locked_until = excluded.locked_until,
               created_at = v_now, expires_at = excluded.expires_at,
               status = null, headers = null, body = null
         where k.expires_at <= v_now
            or (k.status is null and k.locked_until <= v_now and k.request_hash = p_request_hash)
        returning k.locked_until into v_held;
        if found then
            return query select 'new', v_held, null::int, null::jsonb, null::bytea;
            return;
        end if;
        select * into v_row from idempotency_keys where workspace_id = p_workspace_id and key = p_key;
        if found then
            return query select case when v_row.request_hash <> p_request_hash then 'mismatch'
                                     when v_row.status is null then 'in_flight'
                                     else 'replay' end,
                                v_row.locked_until, v_row.status, v_row.headers, v_row.body;
            return;
        end if;
    end loop; -- it was forgotten or purged between the two statements
end
$$;
