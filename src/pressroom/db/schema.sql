-- What the migrations add up to, made by `make schema`; a test holds both equal. Do not edit.
-- Runs on an empty database; `pressroom db migrate` then loads the functions.

do $$ begin
    create role pressroom_app nologin;
exception when duplicate_object then null;
end $$;

do $$ begin
    create role pressroom_worker nologin;
exception when duplicate_object then null;
end $$;

CREATE SCHEMA pressroom;

CREATE FUNCTION pressroom.current_workspace() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    select nullif(nullif(current_setting('pressroom.workspace_id', true), '')::uuid,
                  '00000000-0000-0000-0000-000000000000')
$$;

CREATE FUNCTION pressroom.guard_delivery_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pressroom', 'pg_temp'
    AS $$
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

CREATE FUNCTION pressroom.guard_delivery_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pressroom', 'pg_temp'
    AS $$
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

CREATE PROCEDURE pressroom.isolate_tenants(IN p_table regclass, IN p_with_global_rows boolean DEFAULT false)
    LANGUAGE plpgsql
    AS $$
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

CREATE TABLE pressroom.api_tokens (
    workspace_id uuid NOT NULL,
    token_id text NOT NULL,
    token_hash text NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    verbs text[] NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT api_tokens_token_id_check CHECK ((token_id <> ''::text)),
    CONSTRAINT api_tokens_verbs_check CHECK (((cardinality(verbs) > 0) AND (verbs <@ ARRAY['read'::text, 'write'::text, 'operate'::text, 'admin'::text])))
);

CREATE TABLE pressroom.autopost_settings (
    workspace_id uuid NOT NULL,
    key text NOT NULL,
    value jsonb NOT NULL,
    CONSTRAINT autopost_settings_key_check CHECK ((key <> ''::text))
);

CREATE TABLE pressroom.channels (
    workspace_id uuid NOT NULL,
    channel_id text NOT NULL,
    platform text NOT NULL,
    target_id text NOT NULL,
    auth_ref text NOT NULL,
    rate_group text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    title text,
    send_mode text DEFAULT 'mixed'::text NOT NULL,
    rate_rps numeric DEFAULT 1,
    max_parallel integer DEFAULT 1 NOT NULL,
    next_allowed_at timestamp with time zone,
    paused_until timestamp with time zone,
    timezone text,
    window_mode text DEFAULT 'immediate'::text NOT NULL,
    posting_window jsonb,
    dedup_ttl_hours integer DEFAULT 168,
    error_streak integer DEFAULT 0 NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    tags text[],
    route_filter jsonb,
    template_ref text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT channels_channel_id_check CHECK ((channel_id <> ''::text)),
    CONSTRAINT channels_dedup_ttl_hours_check CHECK (((dedup_ttl_hours >= 0) AND (dedup_ttl_hours <= 2160))),
    CONSTRAINT channels_max_parallel_check CHECK ((max_parallel > 0)),
    CONSTRAINT channels_rate_rps_check CHECK ((rate_rps >= (0)::numeric)),
    CONSTRAINT channels_send_mode_check CHECK ((send_mode = ANY (ARRAY['text'::text, 'media'::text, 'mixed'::text]))),
    CONSTRAINT channels_window_mode_check CHECK ((window_mode = ANY (ARRAY['immediate'::text, 'windowed'::text])))
)
WITH (fillfactor='70');

CREATE TABLE pressroom.credential_bindings (
    workspace_id uuid NOT NULL,
    auth_ref text NOT NULL,
    platform text NOT NULL,
    secret_ref text NOT NULL,
    rotated_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT credential_bindings_auth_ref_check CHECK ((auth_ref <> ''::text)),
    CONSTRAINT credential_bindings_platform_check CHECK ((platform <> ''::text)),
    CONSTRAINT credential_bindings_secret_ref_check CHECK ((secret_ref ~ '^(sealed|env|file):.'::text))
);

CREATE TABLE pressroom.deliveries (
    workspace_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    message_id uuid NOT NULL,
    enqueue_batch_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    scheduled_for timestamp with time zone,
    not_after timestamp with time zone,
    hash_version integer NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    not_before timestamp with time zone DEFAULT now() NOT NULL,
    claimed_at timestamp with time zone,
    sending_started_at timestamp with time zone,
    sent_at timestamp with time zone,
    next_retry_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    claim_token text,
    provider_message_id text,
    last_error jsonb,
    channel_id text NOT NULL,
    content_hash text NOT NULL,
    trace_id text,
    template_version text,
    render_meta jsonb,
    rendered_text text,
    CONSTRAINT deliveries_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'claimed'::text, 'sending'::text, 'sent'::text, 'retry'::text, 'deduped'::text, 'failed_permanent'::text, 'dead'::text])))
)
WITH (fillfactor='50', toast_tuple_target='256', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE pressroom.delivery_leases (
    workspace_id uuid NOT NULL,
    lease_id bigint NOT NULL,
    run_id text NOT NULL,
    taken_at timestamp with time zone DEFAULT now() NOT NULL,
    open integer NOT NULL,
    channels text[] NOT NULL,
    counts integer[] NOT NULL,
    delivery_ids uuid[] NOT NULL
)
WITH (fillfactor='25');
ALTER TABLE ONLY pressroom.delivery_leases ALTER COLUMN delivery_ids SET STORAGE EXTERNAL;

ALTER TABLE pressroom.delivery_leases ALTER COLUMN lease_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pressroom.delivery_leases_lease_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE pressroom.delivery_queue (
    workspace_id uuid NOT NULL,
    channel_id text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    delivery_id uuid NOT NULL,
    slotted boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE TABLE pressroom.events (
    workspace_id uuid NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    delivery_id uuid,
    message_id uuid,
    channel_id text,
    ts timestamp with time zone DEFAULT now() NOT NULL,
    action text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    result text NOT NULL,
    error jsonb,
    payload_ref text,
    meta jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT events_action_check CHECK ((action = ANY (ARRAY['enqueue'::text, 'validation_failed'::text, 'send_attempt'::text, 'sent'::text, 'retry_scheduled'::text, 'dedup_suppressed'::text, 'failed_permanent'::text, 'dead_letter'::text, 'channel_paused'::text, 'channel_disabled'::text, 'channel_enabled'::text, 'message_tag_mismatch'::text, 'sending_lease_expired'::text, 'claimed_lease_expired'::text, 'manual_requeue'::text, 'auth_rotated'::text, 'ingress_rate_limited'::text, 'ingress_payload_rejected'::text, 'ingress_dedup_dropped'::text, 'cancelled'::text, 'expired'::text, 'edited'::text, 'recalled'::text]))),
    CONSTRAINT events_result_check CHECK ((result = ANY (ARRAY['ok'::text, 'error'::text])))
)
PARTITION BY RANGE (ts);

CREATE TABLE pressroom.events_default (
    workspace_id uuid CONSTRAINT events_workspace_id_not_null NOT NULL,
    id uuid DEFAULT gen_random_uuid() CONSTRAINT events_id_not_null NOT NULL,
    delivery_id uuid,
    message_id uuid,
    channel_id text,
    ts timestamp with time zone DEFAULT now() CONSTRAINT events_ts_not_null NOT NULL,
    action text CONSTRAINT events_action_not_null NOT NULL,
    attempt integer DEFAULT 0 CONSTRAINT events_attempt_not_null NOT NULL,
    result text CONSTRAINT events_result_not_null NOT NULL,
    error jsonb,
    payload_ref text,
    meta jsonb DEFAULT '{}'::jsonb CONSTRAINT events_meta_not_null NOT NULL,
    CONSTRAINT events_action_check CHECK ((action = ANY (ARRAY['enqueue'::text, 'validation_failed'::text, 'send_attempt'::text, 'sent'::text, 'retry_scheduled'::text, 'dedup_suppressed'::text, 'failed_permanent'::text, 'dead_letter'::text, 'channel_paused'::text, 'channel_disabled'::text, 'channel_enabled'::text, 'message_tag_mismatch'::text, 'sending_lease_expired'::text, 'claimed_lease_expired'::text, 'manual_requeue'::text, 'auth_rotated'::text, 'ingress_rate_limited'::text, 'ingress_payload_rejected'::text, 'ingress_dedup_dropped'::text, 'cancelled'::text, 'expired'::text, 'edited'::text, 'recalled'::text]))),
    CONSTRAINT events_result_check CHECK ((result = ANY (ARRAY['ok'::text, 'error'::text])))
);

CREATE TABLE pressroom.heartbeats (
    loop text NOT NULL,
    process text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    passed_at timestamp with time zone DEFAULT now() NOT NULL,
    progress_at timestamp with time zone,
    every interval NOT NULL,
    error text
);

CREATE TABLE pressroom.idempotency_keys (
    workspace_id uuid NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    locked_until timestamp with time zone NOT NULL,
    status integer,
    headers jsonb,
    body bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);

CREATE TABLE pressroom.messages (
    workspace_id uuid NOT NULL,
    message_id uuid NOT NULL,
    hash_version integer DEFAULT 1 NOT NULL,
    content_hash text NOT NULL,
    normalization_version integer,
    payload jsonb NOT NULL,
    tags text[],
    source jsonb,
    source_ref text,
    first_seen_trace_id text NOT NULL,
    first_ingest_run_id text NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    last_ingest_run_id text NOT NULL,
    seen_count bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE pressroom.platform_limits (
    workspace_id uuid NOT NULL,
    platform text NOT NULL,
    rate_group text NOT NULL,
    rate_rps numeric,
    next_allowed_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT platform_limits_rate_rps_check CHECK ((rate_rps >= (0)::numeric))
)
WITH (fillfactor='25');

CREATE TABLE pressroom.sealed_secrets (
    workspace_id uuid NOT NULL,
    name text NOT NULL,
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT sealed_secrets_name_check CHECK ((name <> ''::text))
);

CREATE TABLE pressroom.workspace_endpoints (
    workspace_id uuid NOT NULL,
    endpoint_id text NOT NULL,
    kind text NOT NULL,
    secret_hash text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    ingress_rps numeric DEFAULT 5 NOT NULL,
    max_payload_bytes integer DEFAULT 262144 NOT NULL,
    hash_drop_window_sec integer DEFAULT 10 NOT NULL,
    meta jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT workspace_endpoints_endpoint_id_check CHECK ((endpoint_id <> ''::text)),
    CONSTRAINT workspace_endpoints_hash_drop_window_sec_check CHECK ((hash_drop_window_sec >= 0)),
    CONSTRAINT workspace_endpoints_ingress_rps_check CHECK ((ingress_rps > (0)::numeric)),
    CONSTRAINT workspace_endpoints_kind_check CHECK ((kind = ANY (ARRAY['webhook_push'::text, 'bot_webhook'::text]))),
    CONSTRAINT workspace_endpoints_max_payload_bytes_check CHECK ((max_payload_bytes > 0))
);

CREATE TABLE pressroom.workspaces (
    workspace_id uuid NOT NULL,
    name text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT workspaces_name_check CHECK ((name <> ''::text)),
    CONSTRAINT workspaces_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text])))
);

ALTER TABLE ONLY pressroom.events ATTACH PARTITION pressroom.events_default DEFAULT;

ALTER TABLE ONLY pressroom.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (workspace_id, token_id);

ALTER TABLE ONLY pressroom.autopost_settings
    ADD CONSTRAINT autopost_settings_pkey PRIMARY KEY (workspace_id, key);

ALTER TABLE ONLY pressroom.channels
    ADD CONSTRAINT channels_pkey PRIMARY KEY (workspace_id, channel_id);

ALTER TABLE ONLY pressroom.channels
    ADD CONSTRAINT channels_workspace_id_platform_target_id_key UNIQUE (workspace_id, platform, target_id);

ALTER TABLE ONLY pressroom.credential_bindings
    ADD CONSTRAINT credential_bindings_pkey PRIMARY KEY (workspace_id, auth_ref, platform);

ALTER TABLE ONLY pressroom.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (workspace_id, delivery_id);

ALTER TABLE ONLY pressroom.delivery_leases
    ADD CONSTRAINT delivery_leases_pkey PRIMARY KEY (workspace_id, lease_id);

ALTER TABLE ONLY pressroom.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (workspace_id, id, ts);

ALTER TABLE ONLY pressroom.events_default
    ADD CONSTRAINT events_default_pkey PRIMARY KEY (workspace_id, id, ts);

ALTER TABLE ONLY pressroom.heartbeats
    ADD CONSTRAINT heartbeats_pkey PRIMARY KEY (loop, process);

ALTER TABLE ONLY pressroom.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (workspace_id, key);

ALTER TABLE ONLY pressroom.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (workspace_id, message_id);

ALTER TABLE ONLY pressroom.messages
    ADD CONSTRAINT messages_workspace_id_hash_version_content_hash_key UNIQUE (workspace_id, hash_version, content_hash);

ALTER TABLE ONLY pressroom.platform_limits
    ADD CONSTRAINT platform_limits_pkey PRIMARY KEY (workspace_id, platform, rate_group);

ALTER TABLE ONLY pressroom.sealed_secrets
    ADD CONSTRAINT sealed_secrets_pkey PRIMARY KEY (workspace_id, name);

ALTER TABLE ONLY pressroom.workspace_endpoints
    ADD CONSTRAINT workspace_endpoints_pkey PRIMARY KEY (workspace_id, endpoint_id);

ALTER TABLE ONLY pressroom.workspaces
    ADD CONSTRAINT workspaces_pkey PRIMARY KEY (workspace_id);

CREATE UNIQUE INDEX api_tokens_by_hash ON pressroom.api_tokens USING btree (token_hash, workspace_id);

CREATE INDEX channels_enabled ON pressroom.channels USING btree (workspace_id, enabled);

CREATE INDEX channels_tags ON pressroom.channels USING gin (tags);

CREATE UNIQUE INDEX deliveries_by_message ON pressroom.deliveries USING btree (workspace_id, message_id, channel_id, enqueue_batch_id);

CREATE INDEX delivery_queue_due ON pressroom.delivery_queue USING btree (workspace_id, channel_id, due_at);

CREATE INDEX delivery_queue_slotted ON pressroom.delivery_queue USING btree (workspace_id, due_at) WHERE slotted;

CREATE INDEX events_by_delivery ON ONLY pressroom.events USING btree (workspace_id, delivery_id, ts) WHERE (delivery_id IS NOT NULL);

CREATE INDEX events_by_time ON ONLY pressroom.events USING brin (ts);

CREATE INDEX events_default_ts_idx ON pressroom.events_default USING brin (ts);

CREATE INDEX events_default_workspace_id_delivery_id_ts_idx ON pressroom.events_default USING btree (workspace_id, delivery_id, ts) WHERE (delivery_id IS NOT NULL);

CREATE INDEX idempotency_keys_expiry ON pressroom.idempotency_keys USING btree (expires_at);

CREATE INDEX messages_created ON pressroom.messages USING btree (workspace_id, created_at);

CREATE INDEX messages_tags ON pressroom.messages USING gin (tags);

CREATE UNIQUE INDEX workspace_endpoints_by_secret ON pressroom.workspace_endpoints USING btree (kind, secret_hash) WHERE enabled;

ALTER INDEX pressroom.events_pkey ATTACH PARTITION pressroom.events_default_pkey;

ALTER INDEX pressroom.events_by_time ATTACH PARTITION pressroom.events_default_ts_idx;

ALTER INDEX pressroom.events_by_delivery ATTACH PARTITION pressroom.events_default_workspace_id_delivery_id_ts_idx;

CREATE TRIGGER guard_insert AFTER INSERT ON pressroom.deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION pressroom.guard_delivery_insert();

CREATE TRIGGER guard_update AFTER UPDATE ON pressroom.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION pressroom.guard_delivery_update();

ALTER TABLE ONLY pressroom.channels
    ADD CONSTRAINT channels_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES pressroom.workspaces(workspace_id);

ALTER TABLE ONLY pressroom.credential_bindings
    ADD CONSTRAINT credential_bindings_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES pressroom.workspaces(workspace_id);

ALTER TABLE ONLY pressroom.deliveries
    ADD CONSTRAINT deliveries_workspace_id_channel_id_fkey FOREIGN KEY (workspace_id, channel_id) REFERENCES pressroom.channels(workspace_id, channel_id);

ALTER TABLE ONLY pressroom.deliveries
    ADD CONSTRAINT deliveries_workspace_id_message_id_fkey FOREIGN KEY (workspace_id, message_id) REFERENCES pressroom.messages(workspace_id, message_id);

ALTER TABLE ONLY pressroom.messages
    ADD CONSTRAINT messages_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES pressroom.workspaces(workspace_id);

ALTER TABLE ONLY pressroom.platform_limits
    ADD CONSTRAINT platform_limits_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES pressroom.workspaces(workspace_id);

ALTER TABLE ONLY pressroom.sealed_secrets
    ADD CONSTRAINT sealed_secrets_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES pressroom.workspaces(workspace_id);

ALTER TABLE ONLY pressroom.workspace_endpoints
    ADD CONSTRAINT workspace_endpoints_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES pressroom.workspaces(workspace_id);

ALTER TABLE pressroom.api_tokens ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.autopost_settings ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.channels ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.credential_bindings ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.deliveries ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.delivery_leases ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.delivery_queue ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.events_default ENABLE ROW LEVEL SECURITY;

CREATE POLICY global_rows ON pressroom.autopost_settings FOR SELECT TO pressroom_app USING ((workspace_id = '00000000-0000-0000-0000-000000000000'::uuid));

ALTER TABLE pressroom.idempotency_keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.messages ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.platform_limits ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.sealed_secrets ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON pressroom.api_tokens TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.autopost_settings TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.channels TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.credential_bindings TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.deliveries TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.delivery_leases TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.delivery_queue TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.events TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.idempotency_keys TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.messages TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.platform_limits TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.sealed_secrets TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.workspace_endpoints TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY tenant ON pressroom.workspaces TO pressroom_app USING ((workspace_id = pressroom.current_workspace())) WITH CHECK ((workspace_id = pressroom.current_workspace()));

CREATE POLICY worker ON pressroom.api_tokens TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.autopost_settings TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.channels TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.credential_bindings TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.deliveries TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.delivery_leases TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.delivery_queue TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.events TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.idempotency_keys TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.messages TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.platform_limits TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.sealed_secrets TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.workspace_endpoints TO pressroom_worker USING (true) WITH CHECK (true);

CREATE POLICY worker ON pressroom.workspaces TO pressroom_worker USING (true) WITH CHECK (true);

ALTER TABLE pressroom.workspace_endpoints ENABLE ROW LEVEL SECURITY;

ALTER TABLE pressroom.workspaces ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA pressroom TO pressroom_app;
GRANT USAGE ON SCHEMA pressroom TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.api_tokens TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.api_tokens TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.autopost_settings TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.autopost_settings TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.channels TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.channels TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.credential_bindings TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.credential_bindings TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.deliveries TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.deliveries TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.delivery_leases TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.delivery_leases TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.delivery_queue TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.delivery_queue TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.events TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.events TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.events_default TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.events_default TO pressroom_worker;

GRANT SELECT ON TABLE pressroom.heartbeats TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.heartbeats TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.idempotency_keys TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.idempotency_keys TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.messages TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.messages TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.platform_limits TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.platform_limits TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.sealed_secrets TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.sealed_secrets TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.workspace_endpoints TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.workspace_endpoints TO pressroom_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.workspaces TO pressroom_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pressroom.workspaces TO pressroom_worker;

ALTER DEFAULT PRIVILEGES IN SCHEMA pressroom GRANT SELECT,INSERT,DELETE,UPDATE ON TABLES TO pressroom_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA pressroom GRANT SELECT,INSERT,DELETE,UPDATE ON TABLES TO pressroom_worker;


CREATE SCHEMA fn;
GRANT USAGE ON SCHEMA fn TO pressroom_app, pressroom_worker;

CREATE TABLE public.pressroom_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY public.pressroom_migrations
    ADD CONSTRAINT pressroom_migrations_pkey PRIMARY KEY (number);

INSERT INTO pressroom.autopost_settings VALUES ('00000000-0000-0000-0000-000000000000', 'max_attempts', '5');
INSERT INTO pressroom.autopost_settings VALUES ('00000000-0000-0000-0000-000000000000', 'retry_base_seconds', '2');
INSERT INTO pressroom.autopost_settings VALUES ('00000000-0000-0000-0000-000000000000', 'retry_factor', '2');
INSERT INTO pressroom.autopost_settings VALUES ('00000000-0000-0000-0000-000000000000', 'retry_max_seconds', '300');
INSERT INTO pressroom.autopost_settings VALUES ('00000000-0000-0000-0000-000000000000', 'sending_lease_seconds', '300');
INSERT INTO pressroom.autopost_settings VALUES ('00000000-0000-0000-0000-000000000000', 'lease_short_backoff_seconds', '[10, 30]');

INSERT INTO public.pressroom_migrations (number, name, checksum) VALUES (1, '0001_foundation', '293db55fd17345952b54b4846e3b47089397cf54ed1d1b26d252eac0d13f6893');
