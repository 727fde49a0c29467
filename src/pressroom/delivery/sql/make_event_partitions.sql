-- Daily partitions of events, yesterday to p_days_ahead; those that stand are left alone. Rows that the
-- default partition caught for a day keep it from being made: the day stays there and doctor says so.
create or replace function fn.make_event_partitions(p_days_ahead int default 14) returns int
language plpgsql security definer set search_path = pressroom, pg_temp set timezone = 'UTC' as $$
declare
    v_day  date;
    v_name text;
    v_made int := 0;
begin
    for v_day in select d::date from generate_series(current_date - 1, current_date + least(p_days_ahead, 60), '1 day') d loop
        v_name := 'events_' || to_char(v_day, 'YYYYMMDD');
        if to_regclass('pressroom.' || v_name) is not null
           or exists (select 1 from events_default where ts >= v_day and ts < v_day + 1) then
            continue;
        end if;
        execute format('create table pressroom.%I partition of pressroom.events for values from (%L) to (%L)',
                       v_name, v_day::timestamptz, (v_day + 1)::timestamptz);
        execute format('alter table pressroom.%I enable row level security', v_name);
        v_made := v_made + 1;
    end loop;
    return v_made;
end
$$;
