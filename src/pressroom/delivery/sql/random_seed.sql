-- 64 random bits for the ids of one batch.
create or replace function fn.random_seed() returns bigint
language sql volatile as $$
    select ('x' || right(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint
$$;
