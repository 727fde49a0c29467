-- A setting of a workspace, else the default of all of them, else null.
create or replace function fn.setting(p_workspace_id uuid, p_key text) returns jsonb
language sql stable as $$
    select value
      from autopost_settings
     where key = p_key and workspace_id in (p_workspace_id, '00000000-0000-0000-0000-000000000000')
     order by workspace_id desc
     limit 1
$$;
