-- What the migrations come to, as Postgres says it. Written by: go test ./internal/postgres -run TestSchema -update

TABLE agent_pool_projects
  organisation text NOT NULL
  pool text NOT NULL
  project text NOT NULL
  CONSTRAINT agent_pool_projects_pkey PRIMARY KEY (pool, project)
  CONSTRAINT agent_pool_projects_pool FOREIGN KEY (organisation, pool) REFERENCES agent_pools(organisation, id) ON DELETE CASCADE
  CONSTRAINT agent_pool_projects_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CREATE INDEX agent_pool_projects_by_project ON public.agent_pool_projects USING btree (project)
TABLE agent_pool_stacks
  organisation text NOT NULL
  pool text NOT NULL
  stack text NOT NULL
  excluded boolean NOT NULL
  CONSTRAINT agent_pool_stacks_pkey PRIMARY KEY (pool, stack, excluded)
  CONSTRAINT agent_pool_stacks_pool FOREIGN KEY (organisation, pool) REFERENCES agent_pools(organisation, id) ON DELETE CASCADE
  CONSTRAINT agent_pool_stacks_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CREATE INDEX agent_pool_stacks_by_stack ON public.agent_pool_stacks USING btree (stack)
TABLE agent_pools
  id text NOT NULL
  organisation text NOT NULL
  name text NOT NULL
  for_all boolean NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT agent_pools_id_check CHECK ((id ~ '^pool_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT agent_pools_in_organisation UNIQUE (organisation, id)
  CONSTRAINT agent_pools_name_check CHECK ((name ~ '^[^[:cntrl:]]{1,90}$'::text))
  CONSTRAINT agent_pools_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id) ON DELETE CASCADE
  CONSTRAINT agent_pools_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX agent_pools_name ON public.agent_pools USING btree (organisation, lower(name))
TABLE agent_tokens
  id text NOT NULL
  organisation text NOT NULL
  pool text NOT NULL
  description text NOT NULL
  digest text NOT NULL
  created_by text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT agent_tokens_description_check CHECK ((length(description) <= 255))
  CONSTRAINT agent_tokens_digest_check CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT agent_tokens_digest_key UNIQUE (digest)
  CONSTRAINT agent_tokens_id_check CHECK ((id ~ '^agt_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT agent_tokens_pkey PRIMARY KEY (id)
  CONSTRAINT agent_tokens_pool FOREIGN KEY (organisation, pool) REFERENCES agent_pools(organisation, id) ON DELETE CASCADE
  CREATE INDEX agent_tokens_by_pool ON public.agent_tokens USING btree (pool)
TABLE audit_entries
  chain text NOT NULL
  sequence bigint NOT NULL
  at timestamp with time zone NOT NULL
  principal_kind text NOT NULL
  principal_id text NOT NULL
  principal_name text NOT NULL
  principal_organisation text NOT NULL
  scope_organisation text NOT NULL
  scope_project text NOT NULL
  scope_stack text NOT NULL
  action text NOT NULL
  object text NOT NULL
  outcome text NOT NULL
  detail jsonb NOT NULL
  previous text NOT NULL
  digest text NOT NULL
  follows bigint GENERATED NULLIF((sequence - 1), 0)
  CONSTRAINT audit_entries_action_check CHECK ((action <> ''::text))
  CONSTRAINT audit_entries_chain FOREIGN KEY (chain, follows, previous) REFERENCES audit_entries(chain, sequence, digest)
  CONSTRAINT audit_entries_detail_check CHECK ((jsonb_typeof(detail) = 'object'::text))
  CONSTRAINT audit_entries_digest UNIQUE (chain, sequence, digest)
  CONSTRAINT audit_entries_digest_check CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT audit_entries_first CHECK (((sequence = 1) = (previous = ''::text)))
  CONSTRAINT audit_entries_outcome_check CHECK ((outcome <> ''::text))
  CONSTRAINT audit_entries_pkey PRIMARY KEY (chain, sequence)
  CONSTRAINT audit_entries_sequence_check CHECK ((sequence >= 1))
  CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE ON public.audit_entries FOR EACH ROW EXECUTE FUNCTION audit_append_only()
  CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON public.audit_entries FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()
TABLE audit_heads
  chain text NOT NULL
  sequence bigint
  digest text
  CONSTRAINT audit_heads_both CHECK (((sequence IS NULL) = (digest IS NULL)))
  CONSTRAINT audit_heads_entry FOREIGN KEY (chain, sequence, digest) REFERENCES audit_entries(chain, sequence, digest)
  CONSTRAINT audit_heads_pkey PRIMARY KEY (chain)
TABLE configurations
  id text NOT NULL
  organisation text NOT NULL
  stack text NOT NULL
  speculative boolean NOT NULL
  provisional boolean NOT NULL
  auto_queue_runs boolean NOT NULL
  source text NOT NULL
  creator_kind text NOT NULL
  creator_id text NOT NULL
  creator_name text NOT NULL
  creator_organisation text NOT NULL
  upload_digest text NOT NULL
  status text NOT NULL
  digest text
  size bigint
  created_at timestamp with time zone NOT NULL
  uploaded_at timestamp with time zone
  archived_at timestamp with time zone
  CONSTRAINT configurations_digest_check CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT configurations_id_check CHECK ((id ~ '^cfg_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT configurations_pkey PRIMARY KEY (id)
  CONSTRAINT configurations_size_check CHECK ((size > 0))
  CONSTRAINT configurations_source_check CHECK ((source = ANY (ARRAY['tfe-api'::text, 'terraform'::text])))
  CONSTRAINT configurations_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CONSTRAINT configurations_status CHECK (
CASE status
    WHEN 'pending'::text THEN (num_nonnulls(digest, size, uploaded_at, archived_at) = 0)
    WHEN 'uploaded'::text THEN ((num_nonnulls(digest, size, uploaded_at) = 3) AND (archived_at IS NULL))
    ELSE ((num_nonnulls(digest, size) = 0) AND (num_nonnulls(uploaded_at, archived_at) = 2))
END)
  CONSTRAINT configurations_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'uploaded'::text, 'archived'::text])))
  CONSTRAINT configurations_upload_digest_check CHECK ((upload_digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT configurations_upload_digest_key UNIQUE (upload_digest)
  CREATE INDEX configurations_by_digest ON public.configurations USING btree (stack, digest)
  CREATE INDEX configurations_by_stack ON public.configurations USING btree (stack, created_at DESC)
TABLE deposit_links
  organisation text NOT NULL
  deposit text NOT NULL
  relation text NOT NULL
  other text
  project text
  stack text
  user_id text
  membership text
  leads_to text NOT NULL GENERATED COALESCE(other, project, stack, user_id, membership)
  added bigint NOT NULL
  CONSTRAINT deposit_links_membership FOREIGN KEY (organisation, membership) REFERENCES memberships(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposit_links_of FOREIGN KEY (organisation, deposit) REFERENCES deposits(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposit_links_other FOREIGN KEY (organisation, other) REFERENCES deposits(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposit_links_pkey PRIMARY KEY (deposit, relation, leads_to)
  CONSTRAINT deposit_links_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposit_links_relation_check CHECK ((relation ~ '^[a-z_]{1,32}$'::text))
  CONSTRAINT deposit_links_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposit_links_to_one CHECK ((num_nonnulls(other, project, stack, user_id, membership) = 1))
  CONSTRAINT deposit_links_user FOREIGN KEY (organisation, user_id) REFERENCES memberships(organisation, user_id) ON DELETE CASCADE
  CREATE INDEX deposit_links_membership ON public.deposit_links USING btree (organisation, membership) WHERE (membership IS NOT NULL)
  CREATE INDEX deposit_links_other ON public.deposit_links USING btree (organisation, other) WHERE (other IS NOT NULL)
  CREATE INDEX deposit_links_project ON public.deposit_links USING btree (organisation, project) WHERE (project IS NOT NULL)
  CREATE INDEX deposit_links_stack ON public.deposit_links USING btree (organisation, stack) WHERE (stack IS NOT NULL)
  CREATE INDEX deposit_links_to ON public.deposit_links USING btree (leads_to)
  CREATE INDEX deposit_links_user ON public.deposit_links USING btree (organisation, user_id) WHERE (user_id IS NOT NULL)
TABLE deposit_secrets
  id text NOT NULL
  deposit text NOT NULL
  value bytea NOT NULL
  CONSTRAINT deposit_secrets_check CHECK ((id ~~ (deposit || '.%'::text)))
  CONSTRAINT deposit_secrets_deposit_fkey FOREIGN KEY (deposit) REFERENCES deposits(id) ON DELETE CASCADE
  CONSTRAINT deposit_secrets_pkey PRIMARY KEY (id)
  CONSTRAINT deposit_secrets_value_check CHECK ((SUBSTRING(value FROM 1 FOR 7) = '\x5345414c454400'::bytea))
  CREATE INDEX deposit_secrets_of ON public.deposit_secrets USING btree (deposit)
TABLE deposits
  id text NOT NULL
  kind text NOT NULL GENERATED split_part(id, '_'::text, 1)
  organisation text NOT NULL
  parent text
  project text
  stack text
  team text
  place text NOT NULL GENERATED COALESCE(parent, project, stack, team, organisation)
  name text
  settings jsonb NOT NULL
  digest text
  size bigint
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  CONSTRAINT deposits_artifact CHECK (((digest IS NULL) = (size IS NULL)))
  CONSTRAINT deposits_digest_check CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT deposits_id_check CHECK ((id ~ '^(pol|pset|par|psv|oac|ntf|mod|mver)_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT deposits_in_one CHECK ((num_nonnulls(parent, project, stack, team) <= 1))
  CONSTRAINT deposits_in_organisation UNIQUE (organisation, id)
  CONSTRAINT deposits_name_check CHECK ((name ~ '^[^[:cntrl:]]{1,255}$'::text))
  CONSTRAINT deposits_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id) ON DELETE CASCADE
  CONSTRAINT deposits_parent FOREIGN KEY (organisation, parent) REFERENCES deposits(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposits_pkey PRIMARY KEY (id)
  CONSTRAINT deposits_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposits_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
  CONSTRAINT deposits_size_check CHECK ((size >= 0))
  CONSTRAINT deposits_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CONSTRAINT deposits_team FOREIGN KEY (organisation, team) REFERENCES teams(organisation, id) ON DELETE CASCADE
  CREATE INDEX deposits_by_place ON public.deposits USING btree (place, kind, created_at)
  CREATE UNIQUE INDEX deposits_name ON public.deposits USING btree (place, kind, lower(name))
TABLE grants
  user_id text
  team_id text
  token_id text
  role text
  organisation text NOT NULL
  project text
  stack text
  id text NOT NULL
  level text
  flags jsonb
  CONSTRAINT grants_flags CHECK (((flags IS NOT NULL) = (NOT (level IS DISTINCT FROM 'custom'::text))))
  CONSTRAINT grants_flags_check CHECK ((jsonb_typeof(flags) = 'object'::text))
  CONSTRAINT grants_id_check CHECK ((id ~ '^grt_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT grants_level CHECK (((team_id IS NOT NULL) OR (num_nulls(level, flags) = 2)))
  CONSTRAINT grants_level_check CHECK ((level = ANY (ARRAY['read'::text, 'plan'::text, 'write'::text, 'maintain'::text, 'admin'::text, 'custom'::text])))
  CONSTRAINT grants_member FOREIGN KEY (organisation, user_id) REFERENCES memberships(organisation, user_id) ON DELETE CASCADE
  CONSTRAINT grants_one UNIQUE NULLS NOT DISTINCT (user_id, team_id, token_id, organisation, project, stack)
  CONSTRAINT grants_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT grants_pkey PRIMARY KEY (id)
  CONSTRAINT grants_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CONSTRAINT grants_role_check CHECK ((role = ANY (ARRAY['reader'::text, 'planner'::text, 'applier'::text, 'maintainer'::text, 'owner'::text])))
  CONSTRAINT grants_scope CHECK (((stack IS NULL) OR (project IS NOT NULL)))
  CONSTRAINT grants_something CHECK (((role IS NOT NULL) OR (flags IS NOT NULL)))
  CONSTRAINT grants_stack FOREIGN KEY (organisation, project, stack) REFERENCES stacks(organisation, project, id) ON UPDATE CASCADE ON DELETE CASCADE
  CONSTRAINT grants_stack_check CHECK ((stack ~ '^stk_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT grants_team FOREIGN KEY (organisation, team_id) REFERENCES teams(organisation, id) ON DELETE CASCADE
  CONSTRAINT grants_to_one CHECK ((num_nonnulls(user_id, team_id, token_id) = 1))
  CONSTRAINT grants_token FOREIGN KEY (organisation, token_id) REFERENCES tokens(organisation, id) ON DELETE CASCADE
  CONSTRAINT grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX grants_place ON public.grants USING btree (organisation, project)
  CREATE INDEX grants_team ON public.grants USING btree (team_id)
  CREATE INDEX grants_token ON public.grants USING btree (token_id)
TABLE installation
  one boolean NOT NULL DEFAULT true
  administrator text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT installation_administrator_fkey FOREIGN KEY (administrator) REFERENCES users(id)
  CONSTRAINT installation_one_check CHECK (one)
  CONSTRAINT installation_pkey PRIMARY KEY (one)
TABLE login_codes
  digest text NOT NULL
  user_id text NOT NULL
  client text NOT NULL
  redirect text NOT NULL
  challenge text NOT NULL
  expires_at timestamp with time zone NOT NULL
  CONSTRAINT login_codes_challenge_check CHECK ((challenge ~ '^[0-9A-Za-z_-]{43}$'::text))
  CONSTRAINT login_codes_client_check CHECK ((client <> ''::text))
  CONSTRAINT login_codes_digest_check CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT login_codes_pkey PRIMARY KEY (digest)
  CONSTRAINT login_codes_redirect_check CHECK ((redirect ~ '^http://localhost:[0-9]{4,5}/login$'::text))
  CONSTRAINT login_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX login_codes_expires ON public.login_codes USING btree (expires_at)
  CREATE INDEX login_codes_user ON public.login_codes USING btree (user_id)
TABLE memberships
  id text NOT NULL
  organisation text NOT NULL
  user_id text
  email text
  created_at timestamp with time zone NOT NULL
  CONSTRAINT memberships_email_check CHECK ((email ~ '^[^@[:cntrl:][:space:]]{1,64}@[^@[:cntrl:][:space:]]{1,255}$'::text))
  CONSTRAINT memberships_id_check CHECK ((id ~ '^mem_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT memberships_in_organisation UNIQUE (organisation, id)
  CONSTRAINT memberships_of_somebody CHECK ((num_nonnulls(user_id, email) >= 1))
  CONSTRAINT memberships_once UNIQUE (organisation, user_id)
  CONSTRAINT memberships_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id) ON DELETE CASCADE
  CONSTRAINT memberships_pkey PRIMARY KEY (id)
  CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX memberships_address ON public.memberships USING btree (lower(email)) WHERE (user_id IS NULL)
  CREATE UNIQUE INDEX memberships_invited ON public.memberships USING btree (organisation, lower(email)) WHERE (user_id IS NULL)
  CREATE INDEX memberships_user ON public.memberships USING btree (user_id)
TABLE organisations
  id text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  settings jsonb NOT NULL DEFAULT '{}'::jsonb
  user_tokens boolean NOT NULL DEFAULT true
  project text NOT NULL
  CONSTRAINT organisations_id_check CHECK ((id ~ '^org_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT organisations_name_check CHECK ((name ~ '^[0-9A-Za-z_][0-9A-Za-z_-]{0,39}$'::text))
  CONSTRAINT organisations_pkey PRIMARY KEY (id)
  CONSTRAINT organisations_project FOREIGN KEY (id, project) REFERENCES projects(organisation, id) DEFERRABLE INITIALLY DEFERRED
  CONSTRAINT organisations_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
  CREATE UNIQUE INDEX organisations_name ON public.organisations USING btree (lower(name))
  CREATE INDEX organisations_of_project ON public.organisations USING btree (project)
TABLE projects
  id text NOT NULL
  organisation text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  settings jsonb NOT NULL DEFAULT '{}'::jsonb
  stacks bigint NOT NULL DEFAULT 0
  CONSTRAINT projects_id_check CHECK ((id ~ '^prj_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT projects_in_organisation UNIQUE (organisation, id)
  CONSTRAINT projects_name_check CHECK ((name ~ '^[0-9A-Za-z_][0-9A-Za-z_ -]{0,39}$'::text))
  CONSTRAINT projects_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT projects_pkey PRIMARY KEY (id)
  CONSTRAINT projects_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
  CONSTRAINT projects_stacks_check CHECK ((stacks >= 0))
  CREATE UNIQUE INDEX projects_name ON public.projects USING btree (organisation, lower(name))
TABLE run_triggers
  id text NOT NULL
  organisation text NOT NULL
  stack text NOT NULL
  source text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT run_triggers_check CHECK ((source <> stack))
  CONSTRAINT run_triggers_id_check CHECK ((id ~ '^trg_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT run_triggers_once UNIQUE (stack, source)
  CONSTRAINT run_triggers_pkey PRIMARY KEY (id)
  CONSTRAINT run_triggers_source FOREIGN KEY (organisation, source) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CONSTRAINT run_triggers_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CREATE INDEX run_triggers_by_source ON public.run_triggers USING btree (source)
TABLE sign_ins
  issuer text NOT NULL
  subject text NOT NULL
  user_id text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT sign_ins_issuer_check CHECK (((issuer ~ '^https?://[^[:cntrl:][:space:]]+$'::text) AND (length(issuer) <= 1000)))
  CONSTRAINT sign_ins_pkey PRIMARY KEY (issuer, subject)
  CONSTRAINT sign_ins_subject_check CHECK ((subject ~ '^[^[:cntrl:]]{1,255}$'::text))
  CONSTRAINT sign_ins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX sign_ins_user ON public.sign_ins USING btree (user_id)
TABLE ssh_keys
  id text NOT NULL
  organisation text NOT NULL
  name text NOT NULL
  value bytea NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT ssh_keys_id_check CHECK ((id ~ '^ssh_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT ssh_keys_name_check CHECK ((name ~ '^[^[:cntrl:]]{1,90}$'::text))
  CONSTRAINT ssh_keys_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id) ON DELETE CASCADE
  CONSTRAINT ssh_keys_pkey PRIMARY KEY (id)
  CONSTRAINT ssh_keys_value_check CHECK ((SUBSTRING(value FROM 1 FOR 7) = '\x5345414c454400'::bytea))
  CREATE UNIQUE INDEX ssh_keys_name ON public.ssh_keys USING btree (organisation, lower(name))
TABLE stacks
  id text NOT NULL
  organisation text NOT NULL
  project text NOT NULL
  name text NOT NULL
  settings jsonb NOT NULL
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  CONSTRAINT stacks_id_check CHECK ((id ~ '^stk_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT stacks_in_organisation UNIQUE (organisation, id)
  CONSTRAINT stacks_in_project UNIQUE (organisation, project, id)
  CONSTRAINT stacks_name_check CHECK ((name ~ '^[0-9A-Za-z_][0-9A-Za-z_-]{0,89}$'::text))
  CONSTRAINT stacks_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT stacks_pkey PRIMARY KEY (id)
  CONSTRAINT stacks_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id)
  CONSTRAINT stacks_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
  CREATE INDEX stacks_by_part ON public.stacks USING gin (trigrams(name)) WITH (fastupdate=off)
  CREATE INDEX stacks_by_project ON public.stacks USING btree (project, lower(name)) INCLUDE (name, organisation, id)
  CREATE UNIQUE INDEX stacks_name ON public.stacks USING btree (organisation, lower(name)) INCLUDE (name, project, id)
  CREATE TRIGGER count_stacks AFTER INSERT OR DELETE OR UPDATE OF project ON public.stacks FOR EACH ROW EXECUTE FUNCTION count_stacks()
  CREATE TRIGGER state_bury BEFORE DELETE ON public.stacks FOR EACH ROW EXECUTE FUNCTION state_bury()
TABLE state_consumers
  organisation text NOT NULL
  stack text NOT NULL
  consumer text NOT NULL
  CONSTRAINT state_consumers_consumer FOREIGN KEY (organisation, consumer) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CONSTRAINT state_consumers_pkey PRIMARY KEY (stack, consumer)
  CONSTRAINT state_consumers_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CREATE INDEX state_consumers_consumer ON public.state_consumers USING btree (consumer)
TABLE state_graves
  stack text NOT NULL
  organisation text NOT NULL
  name text NOT NULL
  serial bigint NOT NULL
  lineage text NOT NULL
  artifact text NOT NULL
  size bigint NOT NULL
  deleted_at timestamp with time zone NOT NULL
  CONSTRAINT state_graves_pkey PRIMARY KEY (stack)
  CREATE INDEX state_graves_organisation ON public.state_graves USING btree (organisation)
TABLE state_locks
  stack text NOT NULL
  id text NOT NULL
  holder_kind text NOT NULL
  holder_id text NOT NULL
  holder_name text NOT NULL
  holder_organisation text NOT NULL
  reason text NOT NULL
  document jsonb
  seen text
  created_at timestamp with time zone NOT NULL
  CONSTRAINT state_locks_document_check CHECK ((jsonb_typeof(document) = 'object'::text))
  CONSTRAINT state_locks_holder_id_check CHECK ((holder_id <> ''::text))
  CONSTRAINT state_locks_id_check CHECK ((id ~ '^lck_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT state_locks_id_key UNIQUE (id)
  CONSTRAINT state_locks_pkey PRIMARY KEY (stack)
  CONSTRAINT state_locks_reason_check CHECK ((length(reason) <= 1000))
  CONSTRAINT state_locks_stack_fkey FOREIGN KEY (stack) REFERENCES stacks(id) ON DELETE CASCADE
TABLE state_quarantine
  id text NOT NULL
  stack text NOT NULL
  artifact text NOT NULL
  size bigint NOT NULL
  serial bigint
  lineage text NOT NULL
  md5 text NOT NULL
  reason text NOT NULL
  created_at timestamp with time zone NOT NULL
  writer_kind text NOT NULL
  writer_id text NOT NULL
  writer_name text NOT NULL
  writer_organisation text NOT NULL
  CONSTRAINT state_quarantine_artifact_check CHECK ((artifact ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT state_quarantine_id_check CHECK ((id ~ '^qua_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT state_quarantine_lineage_check CHECK ((length(lineage) <= 255))
  CONSTRAINT state_quarantine_pkey PRIMARY KEY (id)
  CONSTRAINT state_quarantine_reason_check CHECK ((reason <> ''::text))
  CONSTRAINT state_quarantine_size_check CHECK ((size >= 0))
  CONSTRAINT state_quarantine_stack_fkey FOREIGN KEY (stack) REFERENCES stacks(id) ON DELETE CASCADE
  CREATE INDEX state_quarantine_stack ON public.state_quarantine USING btree (stack, created_at, id)
TABLE state_uploads
  digest text NOT NULL
  stack text NOT NULL
  version text NOT NULL
  body text NOT NULL
  expires_at timestamp with time zone NOT NULL
  CONSTRAINT state_uploads_body_check CHECK ((body = ANY (ARRAY['state'::text, 'json'::text])))
  CONSTRAINT state_uploads_digest_check CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT state_uploads_pkey PRIMARY KEY (digest)
  CONSTRAINT state_uploads_stack_fkey FOREIGN KEY (stack) REFERENCES stacks(id) ON DELETE CASCADE
  CONSTRAINT state_uploads_version_fkey FOREIGN KEY (version) REFERENCES state_versions(id) ON DELETE CASCADE
  CREATE INDEX state_uploads_old ON public.state_uploads USING btree (stack, expires_at)
  CREATE INDEX state_uploads_version ON public.state_uploads USING btree (version)
TABLE state_versions
  id text NOT NULL
  stack text NOT NULL
  status text NOT NULL
  serial bigint NOT NULL
  lineage text NOT NULL
  md5 text NOT NULL
  forced text NOT NULL
  intermediate boolean NOT NULL
  copy_of text
  lock text NOT NULL
  created_at timestamp with time zone NOT NULL
  writer_kind text NOT NULL
  writer_id text NOT NULL
  writer_name text NOT NULL
  writer_organisation text NOT NULL
  finalized_at timestamp with time zone
  sequence bigint
  artifact text
  size bigint
  details text
  json text
  outputs integer NOT NULL
  resources integer NOT NULL
  format integer NOT NULL
  tool text NOT NULL
  encrypted boolean NOT NULL
  previous bigint GENERATED NULLIF((sequence - 1), 0)
  previous_serial bigint
  previous_lineage text
  CONSTRAINT state_versions_artifact_check CHECK ((artifact ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT state_versions_details_check CHECK ((details ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT state_versions_final CHECK ((((status = 'finalized'::text) = (sequence IS NOT NULL)) AND ((status = 'finalized'::text) = (finalized_at IS NOT NULL)) AND ((status = 'finalized'::text) = (artifact IS NOT NULL)) AND ((status = 'finalized'::text) = (size IS NOT NULL))))
  CONSTRAINT state_versions_first CHECK ((((previous IS NULL) = (previous_serial IS NULL)) AND ((previous IS NULL) = (previous_lineage IS NULL))))
  CONSTRAINT state_versions_forced_check CHECK ((forced = ANY (ARRAY[''::text, 'serial'::text, 'lineage'::text])))
  CONSTRAINT state_versions_id_check CHECK ((id ~ '^sv_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT state_versions_json_check CHECK ((json ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT state_versions_lineage CHECK (((forced = 'lineage'::text) OR (previous_lineage IS NULL) OR (previous_lineage = ''::text) OR (lineage = previous_lineage)))
  CONSTRAINT state_versions_lineage_check CHECK ((length(lineage) <= 255))
  CONSTRAINT state_versions_lock_check CHECK ((lock ~ '^lck_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT state_versions_md5_check CHECK ((md5 ~ '^[0-9a-f]{32}$'::text))
  CONSTRAINT state_versions_outputs_check CHECK ((outputs >= 0))
  CONSTRAINT state_versions_pkey PRIMARY KEY (id)
  CONSTRAINT state_versions_previous FOREIGN KEY (stack, previous, previous_serial, previous_lineage) REFERENCES state_versions(stack, sequence, serial, lineage)
  CONSTRAINT state_versions_resources_check CHECK ((resources >= 0))
  CONSTRAINT state_versions_sequence_check CHECK ((sequence >= 1))
  CONSTRAINT state_versions_serial CHECK (((forced <> ''::text) OR (previous_serial IS NULL) OR (serial > previous_serial)))
  CONSTRAINT state_versions_serial_check CHECK ((serial >= 0))
  CONSTRAINT state_versions_size_check CHECK ((size >= 0))
  CONSTRAINT state_versions_stack_fkey FOREIGN KEY (stack) REFERENCES stacks(id) ON DELETE CASCADE
  CONSTRAINT state_versions_stack_sequence_key UNIQUE (stack, sequence)
  CONSTRAINT state_versions_stack_sequence_serial_lineage_key UNIQUE (stack, sequence, serial, lineage)
  CONSTRAINT state_versions_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'finalized'::text, 'discarded'::text])))
  CONSTRAINT state_versions_tool_check CHECK ((length(tool) <= 100))
  CONSTRAINT state_versions_writer_id_check CHECK ((writer_id <> ''::text))
  CREATE INDEX state_versions_artifact ON public.state_versions USING btree (stack, artifact)
  CREATE INDEX state_versions_made ON public.state_versions USING btree (stack, created_at, id)
  CREATE UNIQUE INDEX state_versions_pending ON public.state_versions USING btree (stack) WHERE (status = 'pending'::text)
  CREATE TRIGGER state_append_only BEFORE DELETE OR UPDATE ON public.state_versions FOR EACH ROW EXECUTE FUNCTION state_append_only()
  CREATE TRIGGER state_no_truncate BEFORE TRUNCATE ON public.state_versions FOR EACH STATEMENT EXECUTE FUNCTION state_append_only()
TABLE tagged
  organisation text NOT NULL
  tag text NOT NULL
  project text
  stack text
  value text NOT NULL
  position bigint NOT NULL
  CONSTRAINT tagged_one UNIQUE NULLS NOT DISTINCT (tag, project, stack)
  CONSTRAINT tagged_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CONSTRAINT tagged_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CONSTRAINT tagged_tag FOREIGN KEY (organisation, tag) REFERENCES tags(organisation, id) ON DELETE CASCADE
  CONSTRAINT tagged_thing CHECK ((num_nonnulls(project, stack) = 1))
  CONSTRAINT tagged_value_check CHECK ((length(value) <= 256))
  CREATE INDEX tagged_by_project ON public.tagged USING btree (project, "position")
  CREATE INDEX tagged_by_stack ON public.tagged USING btree (stack, "position")
TABLE tags
  id text NOT NULL
  organisation text NOT NULL
  key text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT tags_id_check CHECK ((id ~ '^tag_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT tags_in_organisation UNIQUE (organisation, id)
  CONSTRAINT tags_key UNIQUE (organisation, key)
  CONSTRAINT tags_key_check CHECK (((length(key) >= 1) AND (length(key) <= 128)))
  CONSTRAINT tags_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id) ON DELETE CASCADE
  CONSTRAINT tags_pkey PRIMARY KEY (id)
TABLE team_memberships
  organisation text NOT NULL
  team_id text NOT NULL
  membership text NOT NULL
  CONSTRAINT team_memberships_member FOREIGN KEY (organisation, membership) REFERENCES memberships(organisation, id) ON DELETE CASCADE
  CONSTRAINT team_memberships_pkey PRIMARY KEY (team_id, membership)
  CONSTRAINT team_memberships_team FOREIGN KEY (organisation, team_id) REFERENCES teams(organisation, id) ON DELETE CASCADE
  CREATE INDEX team_memberships_membership ON public.team_memberships USING btree (membership)
TABLE teams
  id text NOT NULL
  organisation text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  settings jsonb NOT NULL DEFAULT '{}'::jsonb
  CONSTRAINT teams_id_check CHECK ((id ~ '^team_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT teams_in_organisation UNIQUE (organisation, id)
  CONSTRAINT teams_name_check CHECK ((name ~ '^[0-9A-Za-z_][0-9A-Za-z_ -]{0,89}$'::text))
  CONSTRAINT teams_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT teams_pkey PRIMARY KEY (id)
  CONSTRAINT teams_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
  CREATE UNIQUE INDEX teams_name ON public.teams USING btree (organisation, lower(name))
TABLE tokens
  id text NOT NULL
  kind text NOT NULL
  user_id text
  team_id text
  organisation text
  description text NOT NULL
  digest text NOT NULL
  created_at timestamp with time zone NOT NULL
  expires_at timestamp with time zone
  single boolean NOT NULL DEFAULT false
  created_by text NOT NULL DEFAULT ''::text
  last_used_at timestamp with time zone
  CONSTRAINT tokens_check CHECK ((expires_at > created_at))
  CONSTRAINT tokens_description_check CHECK ((length(description) <= 255))
  CONSTRAINT tokens_digest_check CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text))
  CONSTRAINT tokens_digest_key UNIQUE (digest)
  CONSTRAINT tokens_id_check CHECK ((id ~ '^tok_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT tokens_in_organisation UNIQUE (organisation, id)
  CONSTRAINT tokens_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT tokens_owner CHECK (
CASE kind
    WHEN 'user'::text THEN ((user_id IS NOT NULL) AND (team_id IS NULL) AND (organisation IS NULL))
    WHEN 'team'::text THEN ((user_id IS NULL) AND (team_id IS NOT NULL) AND (organisation IS NOT NULL))
    WHEN 'organisation'::text THEN ((user_id IS NULL) AND (team_id IS NULL) AND (organisation IS NOT NULL))
    ELSE false
END)
  CONSTRAINT tokens_pkey PRIMARY KEY (id)
  CONSTRAINT tokens_team FOREIGN KEY (organisation, team_id) REFERENCES teams(organisation, id) ON DELETE CASCADE
  CONSTRAINT tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE UNIQUE INDEX tokens_described ON public.tokens USING btree (team_id, description) WHERE ((team_id IS NOT NULL) AND (description <> ''::text))
  CREATE INDEX tokens_of ON public.tokens USING btree (COALESCE(user_id, team_id, organisation))
  CREATE UNIQUE INDEX tokens_single ON public.tokens USING btree (COALESCE(team_id, organisation)) WHERE single
  CREATE INDEX tokens_team ON public.tokens USING btree (team_id)
  CREATE INDEX tokens_user ON public.tokens USING btree (user_id)
TABLE users
  id text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  email text
  unconfirmed_email text
  site_admin boolean NOT NULL DEFAULT false
  CONSTRAINT users_email_check CHECK ((email ~ '^[^@[:cntrl:][:space:]]{1,64}@[^@[:cntrl:][:space:]]{1,255}$'::text))
  CONSTRAINT users_id_check CHECK ((id ~ '^usr_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT users_name_check CHECK ((name ~ '^[^[:cntrl:]]{1,255}$'::text))
  CONSTRAINT users_pkey PRIMARY KEY (id)
  CONSTRAINT users_unconfirmed_email_check CHECK ((unconfirmed_email ~ '^[^@[:cntrl:][:space:]]{1,64}@[^@[:cntrl:][:space:]]{1,255}$'::text))
  CREATE UNIQUE INDEX users_name ON public.users USING btree (lower(name))
TABLE variable_set_projects
  organisation text NOT NULL
  variable_set text NOT NULL
  project text NOT NULL
  CONSTRAINT variable_set_projects_pkey PRIMARY KEY (variable_set, project)
  CONSTRAINT variable_set_projects_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CONSTRAINT variable_set_projects_set FOREIGN KEY (organisation, variable_set) REFERENCES variable_sets(organisation, id) ON DELETE CASCADE
  CREATE INDEX variable_set_projects_by_project ON public.variable_set_projects USING btree (project)
TABLE variable_set_stacks
  organisation text NOT NULL
  variable_set text NOT NULL
  stack text NOT NULL
  CONSTRAINT variable_set_stacks_pkey PRIMARY KEY (variable_set, stack)
  CONSTRAINT variable_set_stacks_set FOREIGN KEY (organisation, variable_set) REFERENCES variable_sets(organisation, id) ON DELETE CASCADE
  CONSTRAINT variable_set_stacks_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CREATE INDEX variable_set_stacks_by_stack ON public.variable_set_stacks USING btree (stack)
TABLE variable_sets
  id text NOT NULL
  organisation text NOT NULL
  project text
  name text NOT NULL
  description text NOT NULL
  global boolean NOT NULL
  priority boolean NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT variable_sets_description_check CHECK ((length(description) <= 512))
  CONSTRAINT variable_sets_id_check CHECK ((id ~ '^vset_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT variable_sets_in_organisation UNIQUE (organisation, id)
  CONSTRAINT variable_sets_name_check CHECK ((name ~ '^[^[:cntrl:]]{1,90}$'::text))
  CONSTRAINT variable_sets_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id) ON DELETE CASCADE
  CONSTRAINT variable_sets_pkey PRIMARY KEY (id)
  CONSTRAINT variable_sets_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CREATE INDEX variable_sets_by_project ON public.variable_sets USING btree (organisation, project)
  CREATE UNIQUE INDEX variable_sets_name ON public.variable_sets USING btree (organisation, lower(name))
TABLE variables
  id text NOT NULL
  organisation text NOT NULL
  stack text
  variable_set text
  category text NOT NULL
  key text NOT NULL
  description text NOT NULL
  hcl boolean NOT NULL
  sensitive boolean NOT NULL
  value bytea NOT NULL
  version bigint NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT variables_category_check CHECK ((category = ANY (ARRAY['terraform'::text, 'env'::text])))
  CONSTRAINT variables_description_check CHECK ((length(description) <= 512))
  CONSTRAINT variables_id_check CHECK ((id ~ '^var_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT variables_key UNIQUE NULLS NOT DISTINCT (stack, variable_set, category, key)
  CONSTRAINT variables_key_check CHECK ((key ~ '^[^[:cntrl:][:space:]=]{1,255}$'::text))
  CONSTRAINT variables_of_one CHECK ((num_nonnulls(stack, variable_set) = 1))
  CONSTRAINT variables_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id) ON DELETE CASCADE
  CONSTRAINT variables_pkey PRIMARY KEY (id)
  CONSTRAINT variables_set FOREIGN KEY (organisation, variable_set) REFERENCES variable_sets(organisation, id) ON DELETE CASCADE
  CONSTRAINT variables_stack FOREIGN KEY (organisation, stack) REFERENCES stacks(organisation, id) ON DELETE CASCADE
  CONSTRAINT variables_value_check CHECK ((SUBSTRING(value FROM 1 FOR 7) = '\x5345414c454400'::bytea))
  CONSTRAINT variables_version_check CHECK ((version >= 1))
  CREATE INDEX variables_by_either ON public.variables USING btree (COALESCE(stack, variable_set), created_at, id)
  CREATE INDEX variables_by_set ON public.variables USING btree (variable_set)
CREATE OR REPLACE FUNCTION public.audit_append_only()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	RAISE EXCEPTION 'the audit log is append-only: no % of it', TG_OP USING ERRCODE = 'insufficient_privilege';
END $function$

CREATE OR REPLACE FUNCTION public.count_stacks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	IF TG_OP = 'UPDATE' AND OLD.project = NEW.project THEN
		RETURN NULL;
	END IF;
	IF TG_OP <> 'INSERT' THEN
		UPDATE projects SET stacks = stacks - 1 WHERE id = OLD.project;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		UPDATE projects SET stacks = stacks + 1 WHERE id = NEW.project;
	END IF;
	RETURN NULL;
END $function$

CREATE OR REPLACE FUNCTION public.state_append_only()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
	later text[] := ARRAY['status', 'finalized_at', 'sequence', 'previous', 'artifact', 'size', 'details', 'json',
		'outputs', 'resources', 'format', 'tool', 'encrypted', 'previous_serial', 'previous_lineage'];
BEGIN
	IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM stacks WHERE id = OLD.stack) THEN
		RETURN OLD;
	ELSIF TG_OP = 'UPDATE' AND OLD.status = 'pending' AND to_jsonb(NEW) - later = to_jsonb(OLD) - later THEN
		RETURN NEW;
	ELSIF TG_OP = 'UPDATE' AND OLD.status = 'finalized' AND OLD.json IS NULL
		AND to_jsonb(NEW) - ARRAY['json', 'previous'] = to_jsonb(OLD) - ARRAY['json', 'previous'] THEN
		RETURN NEW; -- it may come after the state
	END IF;
	RAISE EXCEPTION 'a version of a state is append-only: no % of it', TG_OP USING ERRCODE = 'insufficient_privilege';
END $function$

CREATE OR REPLACE FUNCTION public.state_bury()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	INSERT INTO state_graves (stack, organisation, name, serial, lineage, artifact, size, deleted_at)
	SELECT OLD.id, OLD.organisation, OLD.name, v.serial, v.lineage, v.artifact, v.size, now()
	FROM state_versions v WHERE v.stack = OLD.id AND v.status = 'finalized' ORDER BY v.sequence DESC LIMIT 1;
	RETURN OLD;
END $function$

CREATE OR REPLACE FUNCTION public.trigrams(text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
	SELECT array_agg(DISTINCT substr(name, place, 3))
	FROM lower(left($1, 100)) AS name, generate_series(1, length(name) - 2) AS place
	WHERE strpos(substr(name, place, 3), '*') = 0
$function$
