-- Deposits: what a client keeps on the server and gets back as it was, policies among it (docs/protocol.md).
-- The prefix of an id says which kind of thing it is of.

CREATE TABLE deposits (
	id           text PRIMARY KEY CHECK (id ~ '^(pol|pset|par|psv|oac|ntf|mod|mver)_[0-9A-Za-z]{22}$'),
	kind         text NOT NULL GENERATED ALWAYS AS (split_part(id, '_', 1)) STORED,
	organisation text NOT NULL REFERENCES organisations ON DELETE CASCADE,
	-- What it is in and ends with, when that is not the organisation itself.
	parent       text,
	project      text,
	stack        text,
	team         text,
	place        text NOT NULL GENERATED ALWAYS AS (coalesce(parent, project, stack, team, organisation)) STORED,
	name         text CHECK (name ~ '^[^[:cntrl:]]{1,255}$'), -- null where it needs none
	settings     jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
	digest       text CHECK (digest ~ '^sha256:[0-9a-f]{64}$'), -- of the artifact that was uploaded
	size         bigint CHECK (size >= 0),
	created_at   timestamptz NOT NULL,
	updated_at   timestamptz NOT NULL,
	CONSTRAINT deposits_in_organisation UNIQUE (organisation, id),
	CONSTRAINT deposits_in_one CHECK (num_nonnulls(parent, project, stack, team) <= 1),
	CONSTRAINT deposits_artifact CHECK ((digest IS NULL) = (size IS NULL)),
	CONSTRAINT deposits_parent FOREIGN KEY (organisation, parent) REFERENCES deposits (organisation, id) ON DELETE CASCADE,
	CONSTRAINT deposits_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id) ON DELETE CASCADE,
	CONSTRAINT deposits_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE,
	CONSTRAINT deposits_team FOREIGN KEY (organisation, team) REFERENCES teams (organisation, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX deposits_name ON deposits (place, kind, lower(name));
CREATE INDEX deposits_by_place ON deposits (place, kind, created_at);

-- What of a deposit nobody reads: sealed for its id, which is that of the deposit, a dot and a name (docs/secrets.md).
CREATE TABLE deposit_secrets (
	id      text PRIMARY KEY CHECK (id LIKE deposit || '.%'),
	deposit text NOT NULL REFERENCES deposits ON DELETE CASCADE,
	value   bytea NOT NULL CHECK (substring(value FOR 7) = '\x5345414c454400')
);
CREATE INDEX deposit_secrets_of ON deposit_secrets (deposit);

-- What a deposit is about, in the order in which it was said. No link leads out of the organisation: a user is one of
-- its members, or somebody who was invited.
CREATE TABLE deposit_links (
	organisation text NOT NULL,
	deposit      text NOT NULL,
	relation     text NOT NULL CHECK (relation ~ '^[a-z_]{1,32}$'),
	other        text,
	project      text,
	stack        text,
	user_id      text,
	membership   text,
	leads_to     text NOT NULL GENERATED ALWAYS AS (coalesce(other, project, stack, user_id, membership)) STORED,
	added        bigint GENERATED ALWAYS AS IDENTITY,
	PRIMARY KEY (deposit, relation, leads_to),
	CONSTRAINT deposit_links_to_one CHECK (num_nonnulls(other, project, stack, user_id, membership) = 1),
	CONSTRAINT deposit_links_of FOREIGN KEY (organisation, deposit) REFERENCES deposits (organisation, id) ON DELETE CASCADE,
	CONSTRAINT deposit_links_other FOREIGN KEY (organisation, other) REFERENCES deposits (organisation, id) ON DELETE CASCADE,
	CONSTRAINT deposit_links_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id) ON DELETE CASCADE,
	CONSTRAINT deposit_links_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE,
	CONSTRAINT deposit_links_user FOREIGN KEY (organisation, user_id) REFERENCES memberships (organisation, user_id) ON DELETE CASCADE,
	CONSTRAINT deposit_links_membership FOREIGN KEY (organisation, membership) REFERENCES memberships (organisation, id) ON DELETE CASCADE
);
CREATE INDEX deposit_links_to ON deposit_links (leads_to);
