-- in flight -> done, with the answer that every later caller gets. False when this holder was overtaken: its
-- lock had run out and another caller holds or finished the key; then nothing changes.
create or replace function fn.finish_idempotent(
    p_workspace_id uuid, p_key text, p_locked_until timestamptz, p_status int, p_headers jsonb, p_body bytea
) returns boolean
language plpgsql as $$
begin
    update idempotency_keys
       set status = p_status, headers = p_headers, body = p_body
     where workspace_id = p_workspace_id and key = p_key
       and locked_until = p_locked_until and status is null;
    return found;
end
$$;
