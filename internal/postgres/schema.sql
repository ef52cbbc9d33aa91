-- What the migrations come to, as Postgres says it. Written by: go test ./internal/postgres -run TestSchema -update

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
TABLE grants
  user_id text
  team_id text
  token_id text
  role text NOT NULL
  organisation text NOT NULL
  project text
  stack text
  CONSTRAINT grants_one UNIQUE NULLS NOT DISTINCT (user_id, team_id, token_id, organisation, project, stack)
  CONSTRAINT grants_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT grants_project FOREIGN KEY (organisation, project) REFERENCES projects(organisation, id) ON DELETE CASCADE
  CONSTRAINT grants_role_check CHECK ((role = ANY (ARRAY['reader'::text, 'planner'::text, 'applier'::text, 'maintainer'::text, 'owner'::text])))
  CONSTRAINT grants_scope CHECK (((stack IS NULL) OR (project IS NOT NULL)))
  CONSTRAINT grants_stack_check CHECK ((stack ~ '^stk_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT grants_team FOREIGN KEY (organisation, team_id) REFERENCES teams(organisation, id) ON DELETE CASCADE
  CONSTRAINT grants_to_one CHECK ((num_nonnulls(user_id, team_id, token_id) = 1))
  CONSTRAINT grants_token FOREIGN KEY (organisation, token_id) REFERENCES tokens(organisation, id) ON DELETE CASCADE
  CONSTRAINT grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX grants_place ON public.grants USING btree (organisation, project)
  CREATE INDEX grants_team ON public.grants USING btree (team_id)
  CREATE INDEX grants_token ON public.grants USING btree (token_id)
TABLE organisations
  id text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT organisations_id_check CHECK ((id ~ '^org_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT organisations_name_check CHECK ((name ~ '^[0-9A-Za-z_][0-9A-Za-z_-]{0,39}$'::text))
  CONSTRAINT organisations_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX organisations_name ON public.organisations USING btree (lower(name))
TABLE projects
  id text NOT NULL
  organisation text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT projects_id_check CHECK ((id ~ '^prj_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT projects_in_organisation UNIQUE (organisation, id)
  CONSTRAINT projects_name_check CHECK ((name ~ '^[0-9A-Za-z_][0-9A-Za-z_ -]{0,39}$'::text))
  CONSTRAINT projects_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT projects_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX projects_name ON public.projects USING btree (organisation, lower(name))
TABLE team_members
  team_id text NOT NULL
  user_id text NOT NULL
  CONSTRAINT team_members_pkey PRIMARY KEY (team_id, user_id)
  CONSTRAINT team_members_team_id_fkey FOREIGN KEY (team_id) REFERENCES teams(id) ON DELETE CASCADE
  CONSTRAINT team_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
  CREATE INDEX team_members_user ON public.team_members USING btree (user_id)
TABLE teams
  id text NOT NULL
  organisation text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT teams_id_check CHECK ((id ~ '^team_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT teams_in_organisation UNIQUE (organisation, id)
  CONSTRAINT teams_name_check CHECK ((name ~ '^[0-9A-Za-z_][0-9A-Za-z_ -]{0,89}$'::text))
  CONSTRAINT teams_organisation_fkey FOREIGN KEY (organisation) REFERENCES organisations(id)
  CONSTRAINT teams_pkey PRIMARY KEY (id)
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
  CREATE INDEX tokens_team ON public.tokens USING btree (team_id)
  CREATE INDEX tokens_user ON public.tokens USING btree (user_id)
TABLE users
  id text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT users_id_check CHECK ((id ~ '^usr_[0-9A-Za-z]{22}$'::text))
  CONSTRAINT users_name_check CHECK ((name ~ '^[^[:cntrl:]]{1,255}$'::text))
  CONSTRAINT users_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX users_name ON public.users USING btree (lower(name))
CREATE OR REPLACE FUNCTION public.audit_append_only()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
	RAISE EXCEPTION 'the audit log is append-only: no % of it', TG_OP USING ERRCODE = 'insufficient_privilege';
END $function$
