-- How long a failed attempt waits: what the platform asked for plus up to the base, else base * factor^(attempt-1)
-- up to the maximum, of which a random half is kept.
create or replace function fn.retry_delay(p_workspace_id uuid, p_attempt int, p_error jsonb) returns interval
language sql volatile as $$
    select interval '1 second' * case
        when p_error ? 'retry_after_ms' then (p_error ->> 'retry_after_ms')::float8 / 1000 + random() * base
        else least(base * factor ^ (p_attempt - 1), longest) * (0.5 + random() / 2) end
      from (select fn.required_setting(p_workspace_id, 'retry_base_seconds')::float8 as base,
                   fn.required_setting(p_workspace_id, 'retry_factor')::float8 as factor,
                   fn.required_setting(p_workspace_id, 'retry_max_seconds')::float8 as longest) s
$$;
