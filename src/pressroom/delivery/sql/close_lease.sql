-- Takes what was settled off a lease; the last one closes it. p_taken_back are those that may be taken again, by the
-- same run too, and must not be found here then.
create or replace function fn.close_lease(
    p_workspace_id uuid, p_lease_id bigint, p_channels text[], p_counts int[], p_taken_back uuid[] default null
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
               delivery_ids = case when p_taken_back is null then l.delivery_ids
                                   else array(select id from unnest(l.delivery_ids) id where id <> all(p_taken_back)) end,
               counts = (select array_agg(held.n - coalesce(settled.n, 0) order by held.position)
                           from unnest(l.channels, l.counts) with ordinality held(channel_id, n, position)
                           left join unnest(p_channels, p_counts) settled(channel_id, n) using (channel_id))
         where l.workspace_id = p_workspace_id and l.lease_id = p_lease_id;
    end if;
end
$$;
