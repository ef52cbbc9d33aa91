-- Who there is, what they may do, and what was done (docs/database.md, docs/identity.md, docs/audit.md).
-- Constraints say again what the code sees to: what is in the tables is so, whoever wrote it.

CREATE TABLE organisations (
	id         text PRIMARY KEY CHECK (id ~ '^org_[0-9A-Za-z]{22}$'),
	name       text NOT NULL CHECK (name ~ '^[0-9A-Za-z_][0-9A-Za-z_-]{0,39}$'),
	created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX organisations_name ON organisations (lower(name));

CREATE TABLE projects (
	id           text PRIMARY KEY CHECK (id ~ '^prj_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations,
	name         text NOT NULL CHECK (name ~ '^[0-9A-Za-z_][0-9A-Za-z_ -]{0,39}$'),
	created_at   timestamptz NOT NULL,
	CONSTRAINT projects_in_organisation UNIQUE (organisation, id)
);
CREATE UNIQUE INDEX projects_name ON projects (organisation, lower(name));

CREATE TABLE users (
	id         text PRIMARY KEY CHECK (id ~ '^usr_[0-9A-Za-z]{22}$'),
	name       text NOT NULL CHECK (name ~ '^[^[:cntrl:]]{1,255}$'),
	created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_name ON users (lower(name));

CREATE TABLE teams (
	id           text PRIMARY KEY CHECK (id ~ '^team_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations,
	name         text NOT NULL CHECK (name ~ '^[0-9A-Za-z_][0-9A-Za-z_ -]{0,89}$'),
	created_at   timestamptz NOT NULL,
	CONSTRAINT teams_in_organisation UNIQUE (organisation, id)
);
CREATE UNIQUE INDEX teams_name ON teams (organisation, lower(name));

CREATE TABLE team_members (
	team_id text NOT NULL REFERENCES teams ON DELETE CASCADE,
	user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
	PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_members_user ON team_members (user_id);

-- A token itself is nowhere: only its digest is.
CREATE TABLE tokens (
	id           text PRIMARY KEY CHECK (id ~ '^tok_[0-9A-Za-z]{22}$'),
	kind         text NOT NULL,
	user_id      text REFERENCES users ON DELETE CASCADE,
	team_id      text,
	organisation text REFERENCES organisations,
	description  text NOT NULL CHECK (length(description) <= 255),
	digest       text NOT NULL UNIQUE CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
	created_at   timestamptz NOT NULL,
	expires_at   timestamptz CHECK (expires_at > created_at),
	CONSTRAINT tokens_in_organisation UNIQUE (organisation, id),
	CONSTRAINT tokens_team FOREIGN KEY (organisation, team_id) REFERENCES teams (organisation, id) ON DELETE CASCADE,
	CONSTRAINT tokens_owner CHECK (CASE kind
		WHEN 'user' THEN user_id IS NOT NULL AND team_id IS NULL AND organisation IS NULL
		WHEN 'team' THEN user_id IS NULL AND team_id IS NOT NULL AND organisation IS NOT NULL
		WHEN 'organisation' THEN user_id IS NULL AND team_id IS NULL AND organisation IS NOT NULL
		ELSE false END)
);
CREATE INDEX tokens_user ON tokens (user_id);
CREATE INDEX tokens_team ON tokens (team_id);

-- Somebody has one role at one place. That a team or a token gets none outside of its own organisation
-- follows from the keys (docs/identity.md, rule 5).
CREATE TABLE grants (
	user_id      text REFERENCES users ON DELETE CASCADE,
	team_id      text,
	token_id     text,
	role         text NOT NULL CHECK (role IN ('reader', 'planner', 'applier', 'maintainer', 'owner')),
	organisation text NOT NULL REFERENCES organisations,
	project      text,
	stack        text CHECK (stack ~ '^stk_[0-9A-Za-z]{22}$'),
	CONSTRAINT grants_one UNIQUE NULLS NOT DISTINCT (user_id, team_id, token_id, organisation, project, stack),
	CONSTRAINT grants_to_one CHECK (num_nonnulls(user_id, team_id, token_id) = 1),
	CONSTRAINT grants_scope CHECK (stack IS NULL OR project IS NOT NULL),
	CONSTRAINT grants_team FOREIGN KEY (organisation, team_id) REFERENCES teams (organisation, id) ON DELETE CASCADE,
	CONSTRAINT grants_token FOREIGN KEY (organisation, token_id) REFERENCES tokens (organisation, id) ON DELETE CASCADE,
	CONSTRAINT grants_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id) ON DELETE CASCADE
);
CREATE INDEX grants_team ON grants (team_id);
CREATE INDEX grants_token ON grants (token_id);
CREATE INDEX grants_place ON grants (organisation, project);

-- One chain for each organisation, and '' for what is of none. There is no key to the rows of other tables:
-- an entry outlives all that it speaks of. That no entry is missing follows from the key to the one before.
CREATE TABLE audit_entries (
	chain                  text NOT NULL,
	sequence               bigint NOT NULL CHECK (sequence >= 1),
	at                     timestamptz NOT NULL,
	principal_kind         text NOT NULL,
	principal_id           text NOT NULL,
	principal_name         text NOT NULL,
	principal_organisation text NOT NULL,
	scope_organisation     text NOT NULL,
	scope_project          text NOT NULL,
	scope_stack            text NOT NULL,
	action                 text NOT NULL CHECK (action <> ''),
	object                 text NOT NULL,
	outcome                text NOT NULL CHECK (outcome <> ''),
	detail                 jsonb NOT NULL CHECK (jsonb_typeof(detail) = 'object'),
	previous               text NOT NULL,
	digest                 text NOT NULL CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
	follows                bigint GENERATED ALWAYS AS (nullif(sequence - 1, 0)) STORED,
	PRIMARY KEY (chain, sequence),
	CONSTRAINT audit_entries_digest UNIQUE (chain, sequence, digest),
	CONSTRAINT audit_entries_first CHECK ((sequence = 1) = (previous = '')),
	CONSTRAINT audit_entries_chain FOREIGN KEY (chain, follows, previous) REFERENCES audit_entries (chain, sequence, digest)
);

CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the audit log is append-only: no % of it', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit_entries
	FOR EACH ROW EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit_entries
	FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();

-- Where each chain ends; both are null before its first entry.
CREATE TABLE audit_heads (
	chain    text PRIMARY KEY,
	sequence bigint,
	digest   text,
	CONSTRAINT audit_heads_both CHECK ((sequence IS NULL) = (digest IS NULL)),
	CONSTRAINT audit_heads_entry FOREIGN KEY (chain, sequence, digest) REFERENCES audit_entries (chain, sequence, digest)
);
INSERT INTO audit_heads (chain) VALUES ('');
