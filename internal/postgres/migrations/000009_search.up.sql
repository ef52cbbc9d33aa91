-- Stacks by a part of their name. An index of the characters that follow each other in names, by threes, finds the few
-- that can hold the part; only those are looked at. It needs no extension, so every Postgres has it.

-- The threes of a text, each once and in lower case, without those that hold a *: in a search it stands for anything.
-- NULL where there are none, as in a text of two characters: about that the index knows nothing. Of what somebody
-- searches for, the first hundred characters are enough: no name has as many.
CREATE FUNCTION trigrams(text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT array_agg(DISTINCT substr(name, place, 3))
	FROM lower(left($1, 100)) AS name, generate_series(1, length(name) - 2) AS place
	WHERE strpos(substr(name, place, 3), '*') = 0
$$;

-- Without fastupdate: no search has to look through what was put off.
CREATE INDEX stacks_by_part ON stacks USING gin (trigrams(name)) WITH (fastupdate = off);
