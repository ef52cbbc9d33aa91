-- Stacks: what has a state, and what everything about a state belongs to (docs/state.md).

CREATE TABLE stacks (
	id           text PRIMARY KEY CHECK (id ~ '^stk_[0-9A-Za-z]{22}$'),
	organisation text NOT NULL REFERENCES organisations,
	project      text NOT NULL,
	name         text NOT NULL CHECK (name ~ '^[0-9A-Za-z_][0-9A-Za-z_-]{0,89}$'),
	settings     jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
	created_at   timestamptz NOT NULL,
	updated_at   timestamptz NOT NULL,
	CONSTRAINT stacks_in_organisation UNIQUE (organisation, id),
	CONSTRAINT stacks_in_project UNIQUE (organisation, project, id),
	CONSTRAINT stacks_project FOREIGN KEY (organisation, project) REFERENCES projects (organisation, id)
);
CREATE UNIQUE INDEX stacks_name ON stacks (organisation, lower(name));
CREATE INDEX stacks_by_project ON stacks (project);

-- A role for one stack moves with it to another project, and ends with it.
DELETE FROM grants WHERE stack IS NOT NULL; -- there were no stacks yet
ALTER TABLE grants ADD CONSTRAINT grants_stack FOREIGN KEY (organisation, project, stack)
	REFERENCES stacks (organisation, project, id) ON UPDATE CASCADE ON DELETE CASCADE;
