-- A number that a function cannot do without, between p_least and p_most: the workspace's own where it is one,
-- else the default. What somebody mistyped in one workspace stops nothing there, and nothing elsewhere.
create or replace function fn.number_setting(
    p_workspace_id uuid, p_key text, p_least float8, p_most float8
) returns float8
language plpgsql stable as $$
declare
    v_value jsonb;
begin
    for v_value in
        select value from autopost_settings
         where key = p_key and workspace_id in (p_workspace_id, '00000000-0000-0000-0000-000000000000')
         order by workspace_id desc
    loop
        if jsonb_typeof(v_value) = 'number' and v_value::numeric between p_least::numeric and p_most::numeric then
            return v_value::float8;
        end if;
    end loop;
    raise exception 'the setting % has no default between % and %', p_key, p_least, p_most using errcode = 'PR404',
        hint = format('insert into autopost_settings values (''00000000-0000-0000-0000-000000000000'', %L, ...)', p_key);
end
$$;
