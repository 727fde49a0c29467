-- The example workspace: an endpoint, two channels of the sandbox Telegram and their shared limit.
-- Plain SQL that may be run again. The endpoint's secret is the one whose sha256 the setting
-- pressroom.seed_push_secret_hash holds; without it nobody knows the secret, so rotate it:
-- `pressroom endpoint rotate example-push`.

insert into pressroom.workspaces (workspace_id, name)
values ('00000000-0000-7000-8000-000000000001', 'Example')
on conflict do nothing;

insert into pressroom.workspace_endpoints (workspace_id, endpoint_id, kind, secret_hash, meta)
values (
    '00000000-0000-7000-8000-000000000001', 'example-push', 'webhook_push',
    coalesce(nullif(current_setting('pressroom.seed_push_secret_hash', true), ''),
             encode(sha256(gen_random_uuid()::text::bytea), 'hex')),
    '{"title": "Push door of the example workspace"}')
on conflict (workspace_id, endpoint_id) do update
    set secret_hash = excluded.secret_hash, updated_at = now();

insert into pressroom.platform_limits (workspace_id, platform, rate_group, rate_rps)
values ('00000000-0000-7000-8000-000000000001', 'telegram', 'example', 25)
on conflict do nothing;

insert into pressroom.channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group, title, tags,
                                route_filter, settings)
values
    ('00000000-0000-7000-8000-000000000001', 'news', 'telegram', '-1001000000001', 'example', 'example',
     'Example news', '{example}', null, '{"base_url": "http://telegram.sandbox"}'),
    ('00000000-0000-7000-8000-000000000001', 'deals', 'telegram', '-1001000000002', 'example', 'example',
     'Example deals', '{example}', '{"exclude": ["news-only"]}', '{"base_url": "http://telegram.sandbox"}')
on conflict do nothing;
