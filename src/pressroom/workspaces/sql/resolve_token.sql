-- What a bearer token opens, before the tenant is known: one row per workspace, the nil workspace meaning all.
create or replace function fn.resolve_token(p_token_hash text)
returns table (workspace_id uuid, token_id text, verbs text[])
language sql stable security definer set search_path = pressroom, pg_temp as $$
    select t.workspace_id, t.token_id, t.verbs
      from api_tokens t
     where t.token_hash = p_token_hash
       and t.revoked_at is null
       and (t.expires_at is null or t.expires_at > now())
$$;
