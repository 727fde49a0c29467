-- The id of a delivery's event, without a random number of its own.
create or replace function fn.event_id(p_prefix bytea, p_delivery_id uuid) returns uuid
language sql immutable parallel safe as $$
    select encode(overlay(uuid_send(p_delivery_id) placing p_prefix from 1 for 8), 'hex')::uuid
$$;
