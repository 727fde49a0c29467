-- The first half of the ids of a batch's events: the milliseconds, version 7 and a number for the action.
-- The second half is the random half of the delivery's own id, see fn.event_id.
create or replace function fn.event_id_prefix(p_action int) returns bytea
language sql volatile as $$
    select substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
           || substring(int4send(x'7000'::int + p_action) from 3)
$$;
