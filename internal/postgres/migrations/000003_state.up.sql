-- States: versions that follow each other, who may write the next one, and what was refused (docs/state.md).
-- Bytes are artifacts: here are their digests. What is final is so for ever, and goes only with its stack.

-- One row a stack that is locked.
CREATE TABLE state_locks (
	stack               text PRIMARY KEY REFERENCES stacks ON DELETE CASCADE,
	id                  text NOT NULL UNIQUE CHECK (id ~ '^lck_[0-9A-Za-z]{22}$'),
	holder_kind         text NOT NULL,
	holder_id           text NOT NULL CHECK (holder_id <> ''),
	holder_name         text NOT NULL,
	holder_organisation text NOT NULL,
	reason              text NOT NULL CHECK (length(reason) <= 1000),
	document            jsonb CHECK (jsonb_typeof(document) = 'object'), -- of a tool that makes locks itself
	seen                text, -- the version that the holder has read under this lock
	created_at          timestamptz NOT NULL
);

CREATE TABLE state_versions (
	id               text PRIMARY KEY CHECK (id ~ '^sv_[0-9A-Za-z]{22}$'),
	stack            text NOT NULL REFERENCES stacks ON DELETE CASCADE,
	status           text NOT NULL CHECK (status IN ('pending', 'finalized', 'discarded')),
	-- What its writer said.
	serial           bigint NOT NULL CHECK (serial >= 0),
	lineage          text NOT NULL CHECK (length(lineage) <= 255),
	md5              text NOT NULL CHECK (md5 ~ '^[0-9a-f]{32}$'),
	forced           text NOT NULL CHECK (forced IN ('', 'serial', 'lineage')), -- what it was forced over
	intermediate     boolean NOT NULL,
	copy_of          text, -- the version that somebody went back to
	lock             text NOT NULL CHECK (lock ~ '^lck_[0-9A-Za-z]{22}$'),
	created_at       timestamptz NOT NULL,
	writer_kind      text NOT NULL,
	writer_id        text NOT NULL CHECK (writer_id <> ''),
	writer_name      text NOT NULL,
	writer_organisation text NOT NULL,
	-- What it is, once its bytes are there.
	finalized_at     timestamptz,
	sequence         bigint CHECK (sequence >= 1), -- 1, 2, 3 of the stack, whatever the serials
	artifact         text CHECK (artifact ~ '^sha256:[0-9a-f]{64}$'),
	size             bigint CHECK (size >= 0),
	details          text CHECK (details ~ '^sha256:[0-9a-f]{64}$'), -- outputs and resources; while it is pending, the outputs that were sent
	json             text CHECK (json ~ '^sha256:[0-9a-f]{64}$'),
	outputs          integer NOT NULL CHECK (outputs >= 0),
	resources        integer NOT NULL CHECK (resources >= 0),
	format           integer NOT NULL,
	tool             text NOT NULL CHECK (length(tool) <= 100),
	encrypted        boolean NOT NULL,
	-- The version before it, said once more so that a key can prove that it fits.
	previous         bigint GENERATED ALWAYS AS (nullif(sequence - 1, 0)) STORED,
	previous_serial  bigint,
	previous_lineage text,
	UNIQUE (stack, sequence),
	UNIQUE (stack, sequence, serial, lineage),
	CONSTRAINT state_versions_previous FOREIGN KEY (stack, previous, previous_serial, previous_lineage)
		REFERENCES state_versions (stack, sequence, serial, lineage),
	CONSTRAINT state_versions_final CHECK ((status = 'finalized') = (sequence IS NOT NULL)
		AND (status = 'finalized') = (finalized_at IS NOT NULL) AND (status = 'finalized') = (artifact IS NOT NULL)
		AND (status = 'finalized') = (size IS NOT NULL)),
	CONSTRAINT state_versions_first CHECK ((previous IS NULL) = (previous_serial IS NULL)
		AND (previous IS NULL) = (previous_lineage IS NULL)),
	CONSTRAINT state_versions_serial CHECK (forced <> '' OR previous_serial IS NULL OR serial > previous_serial),
	CONSTRAINT state_versions_lineage CHECK (forced = 'lineage' OR previous_lineage IS NULL OR previous_lineage = ''
		OR lineage = previous_lineage)
);
CREATE UNIQUE INDEX state_versions_pending ON state_versions (stack) WHERE status = 'pending';
CREATE INDEX state_versions_made ON state_versions (stack, created_at, id);
CREATE INDEX state_versions_artifact ON state_versions (stack, artifact);

-- A version as it is read, in the order in which it is.
CREATE VIEW state_history AS
	SELECT id, stack, status, serial, lineage, md5, forced, intermediate, coalesce(copy_of, '') AS copy_of, lock, created_at,
		writer_kind, writer_id, writer_name, writer_organisation, coalesce(finalized_at, created_at) AS finalized_at,
		coalesce(sequence, 0) AS sequence, coalesce(artifact, '') AS artifact, coalesce(size, 0) AS size,
		coalesce(details, '') AS details, coalesce(json, '') AS json, outputs, resources, format, tool, encrypted
	FROM state_versions;

CREATE FUNCTION state_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
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
END $$;
CREATE TRIGGER state_append_only BEFORE UPDATE OR DELETE ON state_versions
	FOR EACH ROW EXECUTE FUNCTION state_append_only();
CREATE TRIGGER state_no_truncate BEFORE TRUNCATE ON state_versions
	FOR EACH STATEMENT EXECUTE FUNCTION state_append_only();

-- Where bytes may be sent without a token. The secret itself is nowhere.
CREATE TABLE state_uploads (
	digest     text PRIMARY KEY CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
	stack      text NOT NULL REFERENCES stacks ON DELETE CASCADE,
	version    text NOT NULL REFERENCES state_versions ON DELETE CASCADE,
	body       text NOT NULL CHECK (body IN ('state', 'json')),
	expires_at timestamptz NOT NULL
);
CREATE INDEX state_uploads_version ON state_uploads (version);
CREATE INDEX state_uploads_old ON state_uploads (stack, expires_at);

-- Bytes that were refused and are kept for somebody to look at.
CREATE TABLE state_quarantine (
	id          text PRIMARY KEY CHECK (id ~ '^qua_[0-9A-Za-z]{22}$'),
	stack       text NOT NULL REFERENCES stacks ON DELETE CASCADE,
	artifact    text NOT NULL CHECK (artifact ~ '^sha256:[0-9a-f]{64}$'),
	size        bigint NOT NULL CHECK (size >= 0),
	serial      bigint,
	lineage     text NOT NULL CHECK (length(lineage) <= 255),
	md5         text NOT NULL,
	reason      text NOT NULL CHECK (reason <> ''),
	created_at  timestamptz NOT NULL,
	writer_kind text NOT NULL,
	writer_id   text NOT NULL,
	writer_name text NOT NULL,
	writer_organisation text NOT NULL
);
CREATE INDEX state_quarantine_stack ON state_quarantine (stack, created_at, id);

-- Stacks that had a state and were deleted. What they had is kept for a while after that, for an operator to recover.
CREATE TABLE state_graves (
	stack        text PRIMARY KEY,
	organisation text NOT NULL,
	name         text NOT NULL,
	serial       bigint NOT NULL,
	lineage      text NOT NULL,
	artifact     text NOT NULL,
	size         bigint NOT NULL,
	deleted_at   timestamptz NOT NULL
);

CREATE FUNCTION state_bury() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO state_graves (stack, organisation, name, serial, lineage, artifact, size, deleted_at)
	SELECT OLD.id, OLD.organisation, OLD.name, v.serial, v.lineage, v.artifact, v.size, now()
	FROM state_versions v WHERE v.stack = OLD.id AND v.status = 'finalized' ORDER BY v.sequence DESC LIMIT 1;
	RETURN OLD;
END $$;
CREATE TRIGGER state_bury BEFORE DELETE ON stacks FOR EACH ROW EXECUTE FUNCTION state_bury();
