-- Says that a run has these deliveries under way; a closed row of the same run is used again.
create or replace function fn.open_lease(
    p_workspace_id uuid, p_run_id text, p_channels text[], p_counts int[], p_delivery_ids uuid[]
) returns bigint
language plpgsql as $$
declare
    v_lease bigint;
begin
    update delivery_leases
       set taken_at = now(), open = cardinality(p_delivery_ids), channels = p_channels, counts = p_counts,
           delivery_ids = p_delivery_ids
     where workspace_id = p_workspace_id
       and lease_id = (select l.lease_id from delivery_leases l
                        where l.workspace_id = p_workspace_id and l.run_id = p_run_id and l.open = 0
                        limit 1 for update skip locked)
    returning lease_id into v_lease;
    if not found then
        insert into delivery_leases (workspace_id, run_id, open, channels, counts, delivery_ids)
        values (p_workspace_id, p_run_id, cardinality(p_delivery_ids), p_channels, p_counts, p_delivery_ids)
        returning lease_id into v_lease;
    end if;
    return v_lease;
end
$$;
