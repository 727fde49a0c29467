-- Sets a lease to what its run really has under way, where some of it was taken, settled or moved by others.
create or replace function fn.recount_lease(p_workspace_id uuid, p_lease_id bigint) returns void
language sql as $$
    with lease as (
        select * from delivery_leases where workspace_id = p_workspace_id and lease_id = p_lease_id),
    under_way as (
        select d.channel_id, count(*)::int as n, array_agg(d.delivery_id) as ids
          from lease l
          join deliveries d on d.workspace_id = p_workspace_id and d.delivery_id = any(l.delivery_ids)
         where d.status = 'sending' and coalesce(d.claim_token, '') = l.run_id
         group by d.channel_id)
    update delivery_leases l
       set open = coalesce((select sum(n) from under_way), 0)::int,
           channels = coalesce((select array_agg(channel_id order by channel_id) from under_way), '{}'),
           counts = coalesce((select array_agg(n order by channel_id) from under_way), '{}'),
           delivery_ids = coalesce((select array_agg(id) from under_way, unnest(ids) id), '{}')
     where l.workspace_id = p_workspace_id and l.lease_id = p_lease_id
$$;
