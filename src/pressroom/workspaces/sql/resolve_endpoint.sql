-- The one enabled endpoint behind a secret, before the tenant is known; no row says that there is none.
-- A disabled workspace answers like an unknown endpoint; a paused one still takes in.
create or replace function fn.resolve_endpoint(p_kind text, p_secret_hash text)
returns table (workspace_id uuid, endpoint_id text, max_payload_bytes int)
language sql stable security definer set search_path = pressroom, pg_temp as $$
    select e.workspace_id, e.endpoint_id, e.max_payload_bytes
      from workspace_endpoints e
      join workspaces w on w.workspace_id = e.workspace_id
     where e.kind = p_kind and e.secret_hash = p_secret_hash and e.enabled
       and w.status <> 'disabled'
$$;
