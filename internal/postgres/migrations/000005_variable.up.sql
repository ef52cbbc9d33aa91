-- What runs of stacks are given: variables, keys, agents, configurations. What is secret is sealed before it comes
-- here (docs/secrets.md), or is a digest; the constraints refuse anything else.

CREATE TABLE variable_sets (
	id           text PRIMARY KEY CHECK (id ~ '^vset_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations ON DELETE CASCADE,
	project      text, -- to which it belongs; NULL: to the organisation
	name         text NOT NULL CHECK (name ~ '^[^[:cntrl:]]{1,90}$'),
	description  text NOT NULL CHECK (length(description) <= 512),
	global       boolean NOT NULL,
	priority     boolean NOT NULL,
	created_at   timestamptz NOT NULL,
	CONSTRAINT variable_sets_in_organisation UNIQUE (organisation, id),
	CONSTRAINT variable_sets_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX variable_sets_name ON variable_sets (organisation, lower(name));
CREATE INDEX variable_sets_by_project ON variable_sets (organisation, project);

CREATE TABLE variable_set_stacks (
	organisation text NOT NULL,
	variable_set text NOT NULL,
	stack        text NOT NULL,
	PRIMARY KEY (variable_set, stack),
	CONSTRAINT variable_set_stacks_set FOREIGN KEY (organisation, variable_set) REFERENCES variable_sets (organisation, id) ON DELETE CASCADE,
	CONSTRAINT variable_set_stacks_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE
);
CREATE INDEX variable_set_stacks_by_stack ON variable_set_stacks (stack);

CREATE TABLE variable_set_projects (
	organisation text NOT NULL,
	variable_set text NOT NULL,
	project      text NOT NULL,
	PRIMARY KEY (variable_set, project),
	CONSTRAINT variable_set_projects_set FOREIGN KEY (organisation, variable_set) REFERENCES variable_sets (organisation, id) ON DELETE CASCADE,
	CONSTRAINT variable_set_projects_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id) ON DELETE CASCADE
);
CREATE INDEX variable_set_projects_by_project ON variable_set_projects (project);

-- A variable is of a stack or of a set.
CREATE TABLE variables (
	id           text PRIMARY KEY CHECK (id ~ '^var_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations ON DELETE CASCADE,
	stack        text,
	variable_set text,
	category     text NOT NULL CHECK (category IN ('terraform', 'env')),
	key          text NOT NULL CHECK (key ~ '^[^[:cntrl:][:space:]=]{1,255}$'),
	description  text NOT NULL CHECK (length(description) <= 512),
	hcl          boolean NOT NULL,
	sensitive    boolean NOT NULL,
	value        bytea NOT NULL CHECK (substring(value FROM 1 FOR 7) = '\x5345414c454400'),
	version      bigint NOT NULL CHECK (version >= 1),
	created_at   timestamptz NOT NULL,
	CONSTRAINT variables_of_one CHECK (num_nonnulls(stack, variable_set) = 1),
	CONSTRAINT variables_key UNIQUE NULLS NOT DISTINCT (stack, variable_set, category, key),
	CONSTRAINT variables_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE,
	CONSTRAINT variables_set FOREIGN KEY (organisation, variable_set) REFERENCES variable_sets (organisation, id) ON DELETE CASCADE
);
CREATE INDEX variables_by_set ON variables (variable_set);
CREATE INDEX variables_by_either ON variables ((coalesce(stack, variable_set)), created_at, id);

CREATE TABLE ssh_keys (
	id           text PRIMARY KEY CHECK (id ~ '^ssh_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations ON DELETE CASCADE,
	name         text NOT NULL CHECK (name ~ '^[^[:cntrl:]]{1,90}$'),
	value        bytea NOT NULL CHECK (substring(value FROM 1 FOR 7) = '\x5345414c454400'),
	created_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX ssh_keys_name ON ssh_keys (organisation, lower(name));

-- When the source has been applied, the stack is run.
CREATE TABLE run_triggers (
	id           text PRIMARY KEY CHECK (id ~ '^trg_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL,
	stack        text NOT NULL,
	source       text NOT NULL CHECK (source <> stack),
	created_at   timestamptz NOT NULL,
	CONSTRAINT run_triggers_once UNIQUE (stack, source),
	CONSTRAINT run_triggers_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE,
	CONSTRAINT run_triggers_source FOREIGN KEY (organisation, source) REFERENCES stacks (organisation, id) ON DELETE CASCADE
);
CREATE INDEX run_triggers_by_source ON run_triggers (source);

CREATE TABLE agent_pools (
	id           text PRIMARY KEY CHECK (id ~ '^pool_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations ON DELETE CASCADE,
	name         text NOT NULL CHECK (name ~ '^[^[:cntrl:]]{1,90}$'),
	for_all      boolean NOT NULL, -- stacks of the organisation but the excluded; or for the allowed alone
	created_at   timestamptz NOT NULL,
	CONSTRAINT agent_pools_in_organisation UNIQUE (organisation, id)
);
CREATE UNIQUE INDEX agent_pools_name ON agent_pools (organisation, lower(name));

CREATE TABLE agent_pool_stacks (
	organisation text NOT NULL,
	pool         text NOT NULL,
	stack        text NOT NULL,
	excluded     boolean NOT NULL, -- or allowed
	PRIMARY KEY (pool, stack, excluded),
	CONSTRAINT agent_pool_stacks_pool FOREIGN KEY (organisation, pool) REFERENCES agent_pools (organisation, id) ON DELETE CASCADE,
	CONSTRAINT agent_pool_stacks_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE
);
CREATE INDEX agent_pool_stacks_by_stack ON agent_pool_stacks (stack);

CREATE TABLE agent_pool_projects (
	organisation text NOT NULL,
	pool         text NOT NULL,
	project      text NOT NULL,
	PRIMARY KEY (pool, project),
	CONSTRAINT agent_pool_projects_pool FOREIGN KEY (organisation, pool) REFERENCES agent_pools (organisation, id) ON DELETE CASCADE,
	CONSTRAINT agent_pool_projects_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id) ON DELETE CASCADE
);
CREATE INDEX agent_pool_projects_by_project ON agent_pool_projects (project);

CREATE TABLE agent_tokens (
	id           text PRIMARY KEY CHECK (id ~ '^agt_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL,
	pool         text NOT NULL,
	description  text NOT NULL CHECK (length(description) <= 255),
	digest       text NOT NULL UNIQUE CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
	created_by   text NOT NULL, -- id of a user, a team or the organisation; it outlives them
	created_at   timestamptz NOT NULL,
	CONSTRAINT agent_tokens_pool FOREIGN KEY (organisation, pool) REFERENCES agent_pools (organisation, id) ON DELETE CASCADE
);
CREATE INDEX agent_tokens_by_pool ON agent_tokens (pool);

-- The archive itself is an artifact of the stack. Who shows the secret of the upload acts as who made the version.
CREATE TABLE configurations (
	id                   text PRIMARY KEY CHECK (id ~ '^cfg_[0-9A-Za-z]{22}$'),
	organisation         text NOT NULL,
	stack                text NOT NULL,
	speculative          boolean NOT NULL,
	provisional          boolean NOT NULL,
	auto_queue_runs      boolean NOT NULL,
	source               text NOT NULL CHECK (source IN ('tfe-api', 'terraform')),
	creator_kind         text NOT NULL,
	creator_id           text NOT NULL,
	creator_name         text NOT NULL,
	creator_organisation text NOT NULL,
	upload_digest        text NOT NULL UNIQUE CHECK (upload_digest ~ '^sha256:[0-9a-f]{64}$'),
	status               text NOT NULL CHECK (status IN ('pending', 'uploaded', 'archived')),
	digest               text CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
	size                 bigint CHECK (size > 0),
	created_at           timestamptz NOT NULL,
	uploaded_at          timestamptz,
	archived_at          timestamptz,
	CONSTRAINT configurations_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE,
	CONSTRAINT configurations_status CHECK (CASE status
		WHEN 'pending' THEN num_nonnulls(digest, size, uploaded_at, archived_at) = 0
		WHEN 'uploaded' THEN num_nonnulls(digest, size, uploaded_at) = 3 AND archived_at IS NULL
		ELSE num_nonnulls(digest, size) = 0 AND num_nonnulls(uploaded_at, archived_at) = 2 END)
);
CREATE INDEX configurations_by_stack ON configurations (stack, created_at DESC);
CREATE INDEX configurations_by_digest ON configurations (stack, digest);
