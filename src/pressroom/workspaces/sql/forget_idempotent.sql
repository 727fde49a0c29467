-- in flight -> absent: the work failed in a way that is not its answer, so the next caller does it again.
-- False when this holder was overtaken; then nothing changes.
create or replace function fn.forget_idempotent(p_workspace_id uuid, p_key text, p_locked_until timestamptz)
returns boolean
language plpgsql as $$
begin
    delete from idempotency_keys
     where workspace_id = p_workspace_id and key = p_key
       and locked_until = p_locked_until and status is null;
    return found;
end
$$;
