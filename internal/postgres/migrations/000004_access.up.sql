-- Who belongs to an organisation, what teams may in the words of Terraform Cloud, who administers the server,
-- and what is known of tokens (docs/identity.md).

-- The confirmed address is one that somebody who signed in has proved to be theirs; the other they only say.
ALTER TABLE users
	ADD COLUMN email             text CHECK (email ~ '^[^@[:cntrl:][:space:]]{1,64}@[^@[:cntrl:][:space:]]{1,255}$'),
	ADD COLUMN unconfirmed_email text CHECK (unconfirmed_email ~ '^[^@[:cntrl:][:space:]]{1,64}@[^@[:cntrl:][:space:]]{1,255}$'),
	ADD COLUMN site_admin        boolean NOT NULL DEFAULT false;

-- A membership without a user is an invitation: whoever signs in with the address takes it over.
CREATE TABLE memberships (
	id           text PRIMARY KEY CHECK (id ~ '^mem_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations ON DELETE CASCADE,
	user_id      text REFERENCES users ON DELETE CASCADE,
	email        text CHECK (email ~ '^[^@[:cntrl:][:space:]]{1,64}@[^@[:cntrl:][:space:]]{1,255}$'),
	created_at   timestamptz NOT NULL,
	CONSTRAINT memberships_of_somebody CHECK (num_nonnulls(user_id, email) >= 1),
	CONSTRAINT memberships_in_organisation UNIQUE (organisation, id),
	CONSTRAINT memberships_once UNIQUE (organisation, user_id)
);
CREATE UNIQUE INDEX memberships_invited ON memberships (organisation, lower(email)) WHERE user_id IS NULL;
CREATE INDEX memberships_address ON memberships (lower(email)) WHERE user_id IS NULL;
CREATE INDEX memberships_user ON memberships (user_id);

INSERT INTO memberships (id, organisation, user_id, created_at)
SELECT 'mem_' || left(replace(gen_random_uuid()::text, '-', ''), 22), organisation, user_id, now() FROM (
	SELECT organisation, user_id FROM grants WHERE user_id IS NOT NULL
	UNION SELECT t.organisation, m.user_id FROM team_members m JOIN teams t ON t.id = m.team_id
) members;

-- A team has members of its own organisation, and who is invited is one of them already; what follows from it
-- begins when somebody takes the membership over, and ends with it.
CREATE TABLE team_memberships (
	organisation text NOT NULL,
	team_id      text NOT NULL,
	membership   text NOT NULL,
	PRIMARY KEY (team_id, membership),
	CONSTRAINT team_memberships_team FOREIGN KEY (organisation, team_id) REFERENCES teams (organisation, id) ON DELETE CASCADE,
	CONSTRAINT team_memberships_member FOREIGN KEY (organisation, membership) REFERENCES memberships (organisation, id) ON DELETE CASCADE
);
CREATE INDEX team_memberships_membership ON team_memberships (membership);
INSERT INTO team_memberships (organisation, team_id, membership)
SELECT s.organisation, m.team_id, s.id
FROM team_members m JOIN teams t ON t.id = m.team_id JOIN memberships s ON s.organisation = t.organisation AND s.user_id = m.user_id;
DROP TABLE team_members;

-- What a team may somewhere can be said with a level or flags of Terraform Cloud. The role is what acts, and the
-- flags may come to none.
ALTER TABLE grants
	ADD COLUMN id    text CHECK (id ~ '^grt_[0-9A-Za-z]{22}$'),
	ADD COLUMN level text CHECK (level IN ('read', 'plan', 'write', 'maintain', 'admin', 'custom')),
	ADD COLUMN flags jsonb CHECK (jsonb_typeof(flags) = 'object'),
	ALTER COLUMN role DROP NOT NULL;
UPDATE grants SET id = 'grt_' || left(replace(gen_random_uuid()::text, '-', ''), 22);
ALTER TABLE grants
	ADD PRIMARY KEY (id),
	ADD CONSTRAINT grants_level CHECK (team_id IS NOT NULL OR num_nulls(level, flags) = 2),
	ADD CONSTRAINT grants_flags CHECK ((flags IS NOT NULL) = (level IS NOT DISTINCT FROM 'custom')),
	ADD CONSTRAINT grants_something CHECK (role IS NOT NULL OR flags IS NOT NULL),
	ADD CONSTRAINT grants_member FOREIGN KEY (organisation, user_id) REFERENCES memberships (organisation, user_id) ON DELETE CASCADE;

ALTER TABLE teams ADD COLUMN settings jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object');

-- The single token of a team or an organisation is the one that has no name: making it again replaces it.
ALTER TABLE tokens
	ADD COLUMN single       boolean NOT NULL DEFAULT false,
	ADD COLUMN created_by   text NOT NULL DEFAULT '',
	ADD COLUMN last_used_at timestamptz;
CREATE UNIQUE INDEX tokens_single ON tokens (coalesce(team_id, organisation)) WHERE single;
CREATE UNIQUE INDEX tokens_described ON tokens (team_id, description) WHERE team_id IS NOT NULL AND description <> '';
