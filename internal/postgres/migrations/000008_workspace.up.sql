-- What the protocol of Terraform Cloud keeps of organisations, projects and stacks (docs/protocol.md).
-- Settings are what clients set and read back; what they mean is for whoever reads them.

ALTER TABLE organisations ADD COLUMN settings jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object');
ALTER TABLE organisations ADD COLUMN user_tokens boolean NOT NULL DEFAULT true; -- or those of teams and its own only
ALTER TABLE projects ADD COLUMN settings jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object');

-- Each organisation has a project for the stacks that name none. It is made with the organisation and goes with
-- it, so the key is looked at when the transaction ends.
ALTER TABLE organisations ADD COLUMN project text;
INSERT INTO projects (id, organisation, name, created_at)
	SELECT 'prj_' || left(replace(gen_random_uuid()::text, '-', ''), 22), id, 'Default Project', created_at FROM organisations
	ON CONFLICT (organisation, lower(name)) DO NOTHING;
UPDATE organisations o SET project = p.id FROM projects p WHERE p.organisation = o.id AND lower(p.name) = 'default project';
ALTER TABLE organisations ALTER COLUMN project SET NOT NULL;
ALTER TABLE organisations ADD CONSTRAINT organisations_project FOREIGN KEY (id, project)
	REFERENCES projects (organisation, id) DEFERRABLE INITIALLY DEFERRED;

-- How many stacks a project has, so that the length of a list is known without counting it. Whoever makes or
-- deletes a stack has the lock of the organisation's audit chain already, so nobody waits for a row of these.
ALTER TABLE projects ADD COLUMN stacks bigint NOT NULL DEFAULT 0 CHECK (stacks >= 0);
UPDATE projects p SET stacks = (SELECT count(*) FROM stacks s WHERE s.project = p.id);
CREATE FUNCTION count_stacks() RETURNS trigger LANGUAGE plpgsql AS $$
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
END $$;
CREATE TRIGGER count_stacks AFTER INSERT OR UPDATE OF project OR DELETE ON stacks
	FOR EACH ROW EXECUTE FUNCTION count_stacks();

-- Pages of the stacks of an organisation, and of a project. What comes before a page is passed over in the index
-- alone: it holds all that a list asks for.
DROP INDEX stacks_name;
CREATE UNIQUE INDEX stacks_name ON stacks (organisation, lower(name)) INCLUDE (name, project, id);
DROP INDEX stacks_by_project;
CREATE INDEX stacks_by_project ON stacks (project, lower(name)) INCLUDE (name, organisation, id);

-- Tags: words of an organisation, which stacks and projects have, each at most once and perhaps with a value.
CREATE TABLE tags (
	id           text PRIMARY KEY CHECK (id ~ '^tag_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations ON DELETE CASCADE,
	key          text NOT NULL CHECK (length(key) BETWEEN 1 AND 128),
	created_at   timestamptz NOT NULL,
	CONSTRAINT tags_in_organisation UNIQUE (organisation, id),
	CONSTRAINT tags_key UNIQUE (organisation, key)
);
CREATE TABLE tagged (
	organisation text NOT NULL,
	tag          text NOT NULL,
	project      text,
	stack        text,
	value        text NOT NULL CHECK (length(value) <= 256),
	position     bigint GENERATED ALWAYS AS IDENTITY,
	CONSTRAINT tagged_one UNIQUE NULLS NOT DISTINCT (tag, project, stack),
	CONSTRAINT tagged_thing CHECK (num_nonnulls(project, stack) = 1),
	CONSTRAINT tagged_tag FOREIGN KEY (organisation, tag) REFERENCES tags (organisation, id) ON DELETE CASCADE,
	CONSTRAINT tagged_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id) ON DELETE CASCADE,
	CONSTRAINT tagged_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE
);
CREATE INDEX tagged_by_stack ON tagged (stack, position);
CREATE INDEX tagged_by_project ON tagged (project, position);

-- Which stacks may read the outputs of another.
CREATE TABLE state_consumers (
	organisation text NOT NULL,
	stack        text NOT NULL,
	consumer     text NOT NULL,
	PRIMARY KEY (stack, consumer),
	CONSTRAINT state_consumers_stack FOREIGN KEY (organisation, stack) REFERENCES stacks (organisation, id) ON DELETE CASCADE,
	CONSTRAINT state_consumers_consumer FOREIGN KEY (organisation, consumer) REFERENCES stacks (organisation, id) ON DELETE CASCADE
);
CREATE INDEX state_consumers_consumer ON state_consumers (consumer);
