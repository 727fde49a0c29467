-- A loop says that it passed; p_worked, that its work went on; p_error, that the pass failed.
create or replace function fn.beat(p_loop text, p_process text, p_every interval, p_worked boolean, p_error text)
returns void
language sql as $$
    insert into heartbeats (loop, process, every, progress_at, error)
    values (p_loop, p_process, p_every, case when p_worked then now() end, p_error)
    on conflict (loop, process) do update
        set passed_at = now(), every = excluded.every, error = excluded.error,
            progress_at = coalesce(excluded.progress_at, heartbeats.progress_at)
$$;
