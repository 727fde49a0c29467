-- The active workspaces with due work, after p_after and then round again; idle ones cost nothing.
create or replace function fn.due_workspaces(
    p_after uuid default '00000000-0000-0000-0000-000000000000', p_limit int default 100
) returns table (workspace_id uuid)
language sql stable as $$
    with recursive seen as (
        (select q.workspace_id from delivery_queue q order by q.workspace_id limit 1)
        union all
        select (select q.workspace_id from delivery_queue q
                 where q.workspace_id > seen.workspace_id order by q.workspace_id limit 1)
          from seen
         where seen.workspace_id is not null)
    select seen.workspace_id
      from seen
      join workspaces w on w.workspace_id = seen.workspace_id and w.status = 'active'
     where exists (select from delivery_queue q where q.workspace_id = seen.workspace_id and q.due_at <= now())
     order by seen.workspace_id <= p_after, seen.workspace_id
     limit p_limit
$$;
