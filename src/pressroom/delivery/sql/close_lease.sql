-- Takes what was settled off a lease; the last one closes it.
create or replace function fn.close_lease(
    p_workspace_id uuid, p_lease_id bigint, p_channels text[], p_counts int[]
) returns void
language plpgsql as $$
declare
    v_settled int := (select coalesce(sum(n), 0) from unnest(p_counts) n);
begin
    update delivery_leases
       set open = 0, channels = '{}', counts = '{}', delivery_ids = '{}'
     where workspace_id = p_workspace_id and lease_id = p_lease_id and open <= v_settled;
    if not found and v_settled > 0 then
        update delivery_leases l
           set open = l.open - v_settled,
               counts = (select array_agg(held.n - coalesce(settled.n, 0) order by held.position)
                           from unnest(l.channels, l.counts) with ordinality held(channel_id, n, position)
                           left join unnest(p_channels, p_counts) settled(channel_id, n) using (channel_id))
         where l.workspace_id = p_workspace_id and l.lease_id = p_lease_id;
    end if;
end
$$;
