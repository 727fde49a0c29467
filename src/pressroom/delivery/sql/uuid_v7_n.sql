-- A uuid v7 for row p_n of a batch: the milliseconds, a counter, and 62 bits hashed from the batch's random seed.
create or replace function fn.uuid_v7_n(p_milliseconds bigint, p_seed bigint, p_n bigint) returns uuid
language sql immutable parallel safe as $$
    select encode(
        int8send(((p_milliseconds + (p_n >> 12)) << 16) | x'7000'::int | (p_n & 4095))
        || int8send((hashint8extended(p_n, p_seed) & 4611686018427387903) | (-9223372036854775808)),
        'hex')::uuid
$$;
