-- One binding per logical key and platform, and beside it the sealed secret or none: what was sealed before is
-- replaced, and removed when the new binding points elsewhere. Both stand or neither does.
-- Locks: the binding, then its sealed secret; unbinding takes them in the same order.
create or replace function fn.bind_credential(
    p_workspace_id uuid, p_auth_ref text, p_platform text, p_secret_ref text,
    p_sealed_name text, p_key_id text, p_nonce bytea, p_ciphertext bytea
) returns void
language plpgsql as $$
begin
    insert into credential_bindings (workspace_id, auth_ref, platform, secret_ref)
    values (p_workspace_id, p_auth_ref, p_platform, p_secret_ref)
    on conflict (workspace_id, auth_ref, platform) do update
       set secret_ref = excluded.secret_ref, rotated_at = now(), updated_at = now();
    if p_ciphertext is null then
        delete from sealed_secrets where workspace_id = p_workspace_id and name = p_sealed_name;
        return;
    end if;
    insert into sealed_secrets (workspace_id, name, key_id, nonce, ciphertext)
    values (p_workspace_id, p_sealed_name, p_key_id, p_nonce, p_ciphertext)
    on conflict (workspace_id, name) do update
       set key_id = excluded.key_id, nonce = excluded.nonce, ciphertext = excluded.ciphertext, updated_at = now();
end
$$;
