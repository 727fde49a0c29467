-- A setting that a function cannot do without: the workspace's own, else the default, else an error.
create or replace function fn.required_setting(p_workspace_id uuid, p_key text) returns jsonb
language plpgsql stable as $$
declare
    v_value jsonb := fn.setting(p_workspace_id, p_key);
begin
    if v_value is null then
        raise exception 'the setting % has no value and no default', p_key using errcode = 'PR404',
            hint = format('insert into autopost_settings values (''00000000-0000-0000-0000-000000000000'', %L, ...)', p_key);
    end if;
    return v_value;
end
$$;
