-- The ground of every room: tenants and their secrets, the way of one message, and who may see what.
-- Columns, keys and types follow docs/spec/autopost.md section 4; departures are listed in docs/spec/changes.md.

create schema pressroom;
create schema fn;

grant usage on schema pressroom, fn to pressroom_app, pressroom_worker;
alter default privileges in schema pressroom grant select, insert, update, delete on tables to pressroom_app, pressroom_worker;

-- The tenant that the application role acts for, set for each transaction; null sees nothing. The nil
-- workspace is no tenant: whoever acts for it reads the global rows and writes nothing.
create function pressroom.current_workspace() returns uuid
language sql stable parallel safe as $$
    select nullif(nullif(current_setting('pressroom.workspace_id', true), '')::uuid,
                  '00000000-0000-0000-0000-000000000000')
$$;

-- Every tenant table calls this once: the application sees its tenant's rows, the worker sees all,
-- a global row (nil workspace) is readable where the table says so.
create procedure pressroom.isolate_tenants(p_table regclass, p_with_global_rows boolean default false)
language plpgsql as $$
begin
    execute format('alter table %s enable row level security', p_table);
    execute format(
        'create policy tenant on %s to pressroom_app using (workspace_id = pressroom.current_workspace()) '
        'with check (workspace_id = pressroom.current_workspace())', p_table);
    execute format('create policy worker on %s to pressroom_worker using (true) with check (true)', p_table);
    if p_with_global_rows then
        execute format(
            'create policy global_rows on %s for select to pressroom_app '
            'using (workspace_id = ''00000000-0000-0000-0000-000000000000'')', p_table);
    end if;
end
$$;

---------------------------------------------------------------------------------------------------- workspaces

create table pressroom.workspaces (
    workspace_id uuid primary key,
    name         text not null check (name <> ''),
    status       text not null default 'active' check (status in ('active', 'paused', 'disabled')),
    created_at   timestamptz not null default now()
);
call pressroom.isolate_tenants('pressroom.workspaces');

create table pressroom.workspace_endpoints (
    workspace_id         uuid not null references pressroom.workspaces,
    endpoint_id          text not null check (endpoint_id <> ''),
    kind                 text not null check (kind in ('webhook_push', 'bot_webhook')),
    secret_hash          text not null,
    enabled              boolean not null default true,
    ingress_rps          numeric not null default 5 check (ingress_rps > 0),
    max_payload_bytes    int not null default 262144 check (max_payload_bytes > 0),
    hash_drop_window_sec int not null default 10 check (hash_drop_window_sec >= 0),
    meta                 jsonb not null default '{}',
    created_at           timestamptz not null default now(),
    updated_at           timestamptz not null default now(),
    primary key (workspace_id, endpoint_id)
);
create unique index workspace_endpoints_by_secret on pressroom.workspace_endpoints (kind, secret_hash) where enabled;
call pressroom.isolate_tenants('pressroom.workspace_endpoints');

-- One row for each workspace that a token opens; the nil workspace opens all of them.
create table pressroom.api_tokens (
    workspace_id uuid not null,
    token_id     text not null check (token_id <> ''),
    token_hash   text not null,
    title        text not null default '',
    verbs        text[] not null check (cardinality(verbs) > 0
                                        and verbs <@ array['read', 'write', 'operate', 'admin']),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    created_at   timestamptz not null default now(),
    primary key (workspace_id, token_id)
);
create unique index api_tokens_by_hash on pressroom.api_tokens (token_hash, workspace_id);
call pressroom.isolate_tenants('pressroom.api_tokens');

create table pressroom.credential_bindings (
    workspace_id uuid not null references pressroom.workspaces,
    auth_ref     text not null check (auth_ref <> ''),
    platform     text not null check (platform <> ''),
    secret_ref   text not null check (secret_ref ~ '^(sealed|env|file):.'),
    rotated_at   timestamptz,
    updated_at   timestamptz not null default now(),
    primary key (workspace_id, auth_ref, platform)
);
call pressroom.isolate_tenants('pressroom.credential_bindings');

-- Ciphertext only: AES-256-GCM under the key named by key_id, with workspace and name as associated data.
create table pressroom.sealed_secrets (
    workspace_id uuid not null references pressroom.workspaces,
    name         text not null check (name <> ''),
    key_id       text not null,
    nonce        bytea not null,
    ciphertext   bytea not null,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    primary key (workspace_id, name)
);
call pressroom.isolate_tenants('pressroom.sealed_secrets');

-- The stored answer of a write that carried an Idempotency-Key; response is null while it is in flight.
create table pressroom.idempotency_keys (
    workspace_id uuid not null,
    key          text not null check (length(key) between 1 and 255),
    request_hash text not null,
    locked_until timestamptz not null,
    status       int,
    headers      jsonb,
    body         bytea,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz not null,
    primary key (workspace_id, key)
);
create index idempotency_keys_expiry on pressroom.idempotency_keys (expires_at);
call pressroom.isolate_tenants('pressroom.idempotency_keys');

-- What functions need to know; the nil workspace holds the defaults.
create table pressroom.autopost_settings (
    workspace_id uuid not null,
    key          text not null check (key <> ''),
    value        jsonb not null,
    primary key (workspace_id, key)
);
call pressroom.isolate_tenants('pressroom.autopost_settings', p_with_global_rows => true);

insert into pressroom.autopost_settings (workspace_id, key, value)
select '00000000-0000-0000-0000-000000000000', key, value
  from (values ('max_attempts', jsonb '5'),
               ('retry_base_seconds', '2'),
               ('retry_factor', '2'),
               ('retry_max_seconds', '300'),
               ('sending_lease_seconds', '300'),
               ('lease_short_backoff_seconds', '[10, 30]')) as defaults (key, value);

------------------------------------------------------------------------------------------------------ delivery

create table pressroom.channels (
    workspace_id     uuid not null references pressroom.workspaces,
    channel_id       text not null check (channel_id <> ''),
    platform         text not null,
    target_id        text not null,
    auth_ref         text not null,
    rate_group       text not null,
    enabled          boolean not null default true,
    title            text,
    send_mode        text not null default 'mixed' check (send_mode in ('text', 'media', 'mixed')),
    rate_rps         numeric default 1 check (rate_rps >= 0),
    max_parallel     int not null default 1 check (max_parallel > 0),
    next_allowed_at  timestamptz,
    paused_until     timestamptz,
    timezone         text,
    window_mode      text not null default 'immediate' check (window_mode in ('immediate', 'windowed')),
    posting_window   jsonb,
    dedup_ttl_hours  int default 168 check (dedup_ttl_hours between 0 and 2160),
    error_streak     int not null default 0,
    settings         jsonb not null default '{}',
    tags             text[],
    route_filter     jsonb,
    template_ref     text,
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    primary key (workspace_id, channel_id),
    unique (workspace_id, platform, target_id)
) with (fillfactor = 70);
create index channels_enabled on pressroom.channels (workspace_id, enabled);
create index channels_tags on pressroom.channels using gin (tags);
call pressroom.isolate_tenants('pressroom.channels');

create table pressroom.platform_limits (
    workspace_id    uuid not null references pressroom.workspaces,
    platform        text not null,
    rate_group      text not null,
    rate_rps        numeric check (rate_rps >= 0),
    next_allowed_at timestamptz,
    updated_at      timestamptz not null default now(),
    primary key (workspace_id, platform, rate_group)
) with (fillfactor = 25);
call pressroom.isolate_tenants('pressroom.platform_limits');

create table pressroom.messages (
    workspace_id          uuid not null references pressroom.workspaces,
    message_id            uuid not null,
    hash_version          int not null default 1,
    content_hash          text not null,
    normalization_version int,
    payload               jsonb not null,
    tags                  text[],
    source                jsonb,
    source_ref            text,
    first_seen_trace_id   text not null,
    first_ingest_run_id   text not null,
    last_seen_at          timestamptz not null default now(),
    last_ingest_run_id    text not null,
    seen_count            bigint not null default 1,
    created_at            timestamptz not null default now(),
    primary key (workspace_id, message_id),
    unique (workspace_id, hash_version, content_hash)
);
create index messages_created on pressroom.messages (workspace_id, created_at);
create index messages_tags on pressroom.messages using gin (tags);
call pressroom.isolate_tenants('pressroom.messages');

-- The record of one message for one channel. No index names a column that transitions change, so that they
-- stay HOT; what they change stands together, and the wide text that they leave alone stands last.
create table pressroom.deliveries (
    workspace_id        uuid not null,
    delivery_id         uuid not null,
    message_id          uuid not null,
    enqueue_batch_id    uuid,
    created_at          timestamptz not null default now(),
    scheduled_for       timestamptz,
    not_after           timestamptz,
    hash_version        int not null,
    attempt             int not null default 0,
    not_before          timestamptz not null default now(),
    claimed_at          timestamptz,
    sending_started_at  timestamptz,
    sent_at             timestamptz,
    next_retry_at       timestamptz,
    updated_at          timestamptz not null default now(),
    status              text not null default 'queued' check (status in (
                            'queued', 'claimed', 'sending', 'sent', 'retry', 'deduped', 'failed_permanent', 'dead')),
    claim_token         text,
    provider_message_id text,
    last_error          jsonb,
    channel_id          text not null,
    content_hash        text not null,
    trace_id            text,
    template_version    text,
    render_meta         jsonb,
    rendered_text       text,
    primary key (workspace_id, delivery_id),
    foreign key (workspace_id, message_id) references pressroom.messages,
    foreign key (workspace_id, channel_id) references pressroom.channels
) with (fillfactor = 50, toast_tuple_target = 256, autovacuum_vacuum_scale_factor = 0.02);
create unique index deliveries_by_message
    on pressroom.deliveries (workspace_id, message_id, channel_id, enqueue_batch_id);
call pressroom.isolate_tenants('pressroom.deliveries');

-- What is due, and nothing else: a row here is work, its absence is not.
create table pressroom.delivery_queue (
    workspace_id uuid not null,
    channel_id   text not null,
    due_at       timestamptz not null,
    delivery_id  uuid not null,
    slotted      boolean not null default false
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index delivery_queue_due on pressroom.delivery_queue (workspace_id, channel_id, due_at);
create index delivery_queue_slotted on pressroom.delivery_queue (workspace_id, due_at) where slotted;
call pressroom.isolate_tenants('pressroom.delivery_queue');

-- One reused row per batch that is being sent; the open ones say how much each channel has in flight.
create table pressroom.delivery_leases (
    workspace_id uuid not null,
    lease_id     bigint generated always as identity,
    run_id       text not null,
    taken_at     timestamptz not null default now(),
    open         int not null,
    channels     text[] not null,
    counts       int[] not null,
    delivery_ids uuid[] not null,
    primary key (workspace_id, lease_id)
) with (fillfactor = 25);
alter table pressroom.delivery_leases alter column delivery_ids set storage external;
call pressroom.isolate_tenants('pressroom.delivery_leases');

-- The audit log, one partition a day; fn.make_event_partitions keeps days ahead, the default catches the rest.
create table pressroom.events (
    workspace_id uuid not null,
    id           uuid not null default gen_random_uuid(),
    delivery_id  uuid,
    message_id   uuid,
    channel_id   text,
    ts           timestamptz not null default now(),
    action       text not null check (action in (
                     'enqueue', 'validation_failed', 'send_attempt', 'sent', 'retry_scheduled', 'dedup_suppressed',
                     'failed_permanent', 'dead_letter', 'channel_paused', 'channel_disabled', 'channel_enabled',
                     'message_tag_mismatch', 'sending_lease_expired', 'claimed_lease_expired', 'manual_requeue',
                     'auth_rotated', 'ingress_rate_limited', 'ingress_payload_rejected', 'ingress_dedup_dropped',
                     'cancelled', 'expired', 'edited', 'recalled')),
    attempt      int not null default 0,
    result       text not null check (result in ('ok', 'error')),
    error        jsonb,
    payload_ref  text,
    meta         jsonb not null default '{}',
    primary key (workspace_id, id, ts)
) partition by range (ts);
create index events_by_delivery on pressroom.events (workspace_id, delivery_id, ts) where delivery_id is not null;
create index events_by_time on pressroom.events using brin (ts);
create table pressroom.events_default partition of pressroom.events default;
alter table pressroom.events_default enable row level security;
call pressroom.isolate_tenants('pressroom.events');

-- Whatever changes deliveries by hand keeps to the state machine and to a true queue. Our own functions do
-- both themselves and say so with pressroom.engine, local to their transaction.
create function pressroom.guard_delivery_update() returns trigger
language plpgsql set search_path = pressroom, pg_temp as $$
declare
    v_refused text;
begin
    if current_setting('pressroom.engine', true) = 'on' then
        return null;
    end if;
    select o.status || ' -> ' || n.status into v_refused
      from new_rows n
      join old_rows o using (workspace_id, delivery_id)
     where n.status <> o.status
       and (o.status, n.status) not in (
           ('queued', 'claimed'), ('queued', 'failed_permanent'), ('queued', 'deduped'),
           ('retry', 'claimed'), ('retry', 'failed_permanent'), ('retry', 'deduped'), ('retry', 'dead'),
           ('claimed', 'sending'), ('claimed', 'queued'), ('claimed', 'retry'), ('claimed', 'failed_permanent'),
           ('sending', 'sent'), ('sending', 'retry'), ('sending', 'failed_permanent'), ('sending', 'dead'),
           ('dead', 'retry'), ('failed_permanent', 'retry'))
     limit 1;
    if v_refused is not null then
        raise exception 'a delivery cannot go %', v_refused using errcode = 'PR409';
    end if;
    delete from delivery_queue q
     using new_rows n
      join old_rows o using (workspace_id, delivery_id)
     where q.workspace_id = o.workspace_id and q.channel_id = o.channel_id and q.delivery_id = o.delivery_id
       and o.status in ('queued', 'retry', 'claimed')
       and (n.status, n.channel_id, n.not_before, n.next_retry_at)
           is distinct from (o.status, o.channel_id, o.not_before, o.next_retry_at);
    insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id)
    select n.workspace_id, n.channel_id,
           greatest(n.not_before, case when n.status = 'retry' then n.next_retry_at end), n.delivery_id
      from new_rows n
      join old_rows o using (workspace_id, delivery_id)
     where n.status in ('queued', 'retry')
       and (n.status, n.channel_id, n.not_before, n.next_retry_at)
           is distinct from (o.status, o.channel_id, o.not_before, o.next_retry_at);
    -- What is set to sending by hand is under way like the rest: a lease makes it count and frees it in the end.
    insert into delivery_leases (workspace_id, run_id, open, channels, counts, delivery_ids)
    select n.workspace_id, coalesce(n.claim_token, ''), 1, array[n.channel_id], array[1], array[n.delivery_id]
      from new_rows n
      join old_rows o using (workspace_id, delivery_id)
     where n.status = 'sending' and o.status <> 'sending';
    -- And what is taken out of sending by hand is no longer under way: counted again under the lock.
    perform from delivery_leases held
      where held.open > 0
        and exists (select from new_rows n
                      join old_rows o using (workspace_id, delivery_id)
                     where o.status = 'sending' and n.status <> 'sending'
                       and n.workspace_id = held.workspace_id and n.delivery_id = any(held.delivery_ids))
      order by held.workspace_id, held.lease_id
        for update;
    update delivery_leases l
       set open = still.open, channels = still.channels, counts = still.counts, delivery_ids = still.ids
      from (select held.workspace_id, held.lease_id, coalesce(sum(per.n), 0)::int as open,
                   coalesce(array_agg(per.channel_id order by per.channel_id)
                            filter (where per.n is not null), '{}') as channels,
                   coalesce(array_agg(per.n order by per.channel_id) filter (where per.n is not null), '{}') as counts,
                   coalesce((select array_agg(d.delivery_id) from deliveries d
                              where d.workspace_id = held.workspace_id and d.delivery_id = any(held.delivery_ids)
                                and d.status = 'sending' and coalesce(d.claim_token, '') = held.run_id), '{}') as ids
              from delivery_leases held
              left join lateral (
                   select d.channel_id, count(*)::int as n from deliveries d
                    where d.workspace_id = held.workspace_id and d.delivery_id = any(held.delivery_ids)
                      and d.status = 'sending' and coalesce(d.claim_token, '') = held.run_id
                    group by d.channel_id) per on true
             where held.open > 0
               and exists (select from new_rows n
                             join old_rows o using (workspace_id, delivery_id)
                            where o.status = 'sending' and n.status <> 'sending'
                              and n.workspace_id = held.workspace_id and n.delivery_id = any(held.delivery_ids))
             group by held.workspace_id, held.lease_id, held.delivery_ids, held.run_id) still
     where l.workspace_id = still.workspace_id and l.lease_id = still.lease_id;
    perform pg_notify('pressroom_due', due.workspace_id::text)
       from (select distinct workspace_id from new_rows where status in ('queued', 'retry')) due;
    return null;
end
$$;

create function pressroom.guard_delivery_insert() returns trigger
language plpgsql set search_path = pressroom, pg_temp as $$
declare
    v_refused text;
begin
    if current_setting('pressroom.engine', true) = 'on' then
        return null;
    end if;
    select status into v_refused from new_rows where status not in ('queued', 'deduped', 'failed_permanent') limit 1;
    if v_refused is not null then
        raise exception 'a delivery cannot begin as %', v_refused using errcode = 'PR409';
    end if;
    insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id)
    select workspace_id, channel_id, not_before, delivery_id from new_rows where status = 'queued';
    perform pg_notify('pressroom_due', due.workspace_id::text)
       from (select distinct workspace_id from new_rows where status = 'queued') due;
    return null;
end
$$;

create trigger guard_update after update on pressroom.deliveries
    referencing old table as old_rows new table as new_rows
    for each statement execute function pressroom.guard_delivery_update();
create trigger guard_insert after insert on pressroom.deliveries
    referencing new table as new_rows
    for each statement execute function pressroom.guard_delivery_insert();

----------------------------------------------------------------------------------------------------------- ops

-- One row per loop of a process: that it passed, and that its work went on.
create table pressroom.heartbeats (
    loop         text not null,
    process      text not null,
    started_at   timestamptz not null default now(),
    passed_at    timestamptz not null default now(),
    progress_at  timestamptz,
    every        interval not null,
    error        text,
    primary key (loop, process)
);
revoke insert, update, delete on pressroom.heartbeats from pressroom_app;
