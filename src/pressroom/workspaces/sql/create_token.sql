-- A token: one row for each workspace that it opens, the nil workspace meaning all of them. Its id is taken once
-- in the whole product, so that revoking by id means one token; the lock keeps two callers apart who take it at
-- the same moment for different workspaces.
create or replace function fn.create_token(
    p_workspace_ids uuid[], p_token_id text, p_token_hash text, p_title text, p_verbs text[], p_expires_in interval
) returns void
language plpgsql as $$
declare
    v_unknown uuid;
begin
    perform pg_advisory_xact_lock(hashtextextended('api_token ' || p_token_id, 0));
    if exists (select from api_tokens where token_id = p_token_id) then
        raise exception 'there is a token % already', p_token_id
            using errcode = 'PR409', hint = 'ids of revoked tokens are not used again: choose another one';
    end if;
    select id into v_unknown
      from unnest(p_workspace_ids) id
     where id <> '00000000-0000-0000-0000-000000000000'
       and not exists (select from workspaces w where w.workspace_id = id)
     limit 1;
    if found then
        raise exception 'there is no workspace %', v_unknown using errcode = 'PR404';
    end if;
    insert into api_tokens (workspace_id, token_id, token_hash, title, verbs, expires_at)
    select distinct id, p_token_id, p_token_hash, p_title, p_verbs, now() + p_expires_in
      from unnest(p_workspace_ids) id;
end
$$;
