-- enabled -> disabled, with a successor: the new row is made first, then the old one is disabled and stays for
-- audit. Of two rotations of one endpoint the second is refused, because the row that it means is disabled by
-- then. The successor of `site` and of `site.2` is `site.N`, N being one more than the highest so far.
-- Locks: the workspace row, so that successors are numbered one after the other; then the endpoint.
create or replace function fn.rotate_endpoint(p_workspace_id uuid, p_endpoint_id text, p_secret_hash text)
returns text
language plpgsql as $$
declare
    v_old  workspace_endpoints;
    v_base text := left(regexp_replace(p_endpoint_id, '\.[0-9]{1,6}$', ''), 90); -- leaves room for the number
    v_new  text;
begin
    perform from workspaces where workspace_id = p_workspace_id for no key update;
    select * into v_old
      from workspace_endpoints
     where workspace_id = p_workspace_id and endpoint_id = p_endpoint_id
       for update;
    if not found then
        raise exception 'there is no endpoint %', p_endpoint_id
            using errcode = 'PR404', hint = 'see the list of endpoints of this workspace';
    end if;
    if not v_old.enabled then
        raise exception 'endpoint % is disabled, so there is nothing to rotate', p_endpoint_id
            using errcode = 'PR409', hint = 'if it was rotated meanwhile, rotate its successor';
    end if;
    select v_base || '.' || (1 + coalesce(max(substr(endpoint_id, length(v_base) + 2)::int), 1)) into v_new
      from workspace_endpoints
     where workspace_id = p_workspace_id
       and starts_with(endpoint_id, v_base || '.')
       and substr(endpoint_id, length(v_base) + 2) ~ '^[0-9]{1,6}$';
    insert into workspace_endpoints (
        workspace_id, endpoint_id, kind, secret_hash, ingress_rps, max_payload_bytes, hash_drop_window_sec, meta)
    values (p_workspace_id, v_new, v_old.kind, p_secret_hash, v_old.ingress_rps, v_old.max_payload_bytes,
            v_old.hash_drop_window_sec, v_old.meta || jsonb_build_object('rotated_from', p_endpoint_id));
    update workspace_endpoints
       set enabled = false, updated_at = now()
     where workspace_id = p_workspace_id and endpoint_id = p_endpoint_id;
    return v_new;
end
$$;
