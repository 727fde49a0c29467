-- How long a failed attempt waits: what the platform asked for plus up to the base, else base * factor^(attempt-1)
-- up to the maximum, of which a random half is kept.
create or replace function fn.retry_delay(p_workspace_id uuid, p_attempt int, p_error jsonb) returns interval
language sql volatile as $$
    select interval '1 second' * case
        when p_error ? 'retry_after_ms' then least((p_error ->> 'retry_after_ms')::numeric / 1000, 2592000)::float8 + random() * base
        else least(base * factor ^ (p_attempt - 1), longest) * (0.5 + random() / 2) end
      from (select fn.number_setting(p_workspace_id, 'retry_base_seconds', 0, 3600) as base,
                   fn.number_setting(p_workspace_id, 'retry_factor', 1, 100) as factor,
                   fn.number_setting(p_workspace_id, 'retry_max_seconds', 1, 86400) as longest) s
$$;
