-- What refers to something is found when that is deleted, or asked about, without reading a whole table: who does that is
-- in the way of every change of the table, also in other organisations (docs/database.md, rule 4).

CREATE INDEX deposit_links_other ON deposit_links (organisation, other) WHERE other IS NOT NULL;
CREATE INDEX deposit_links_project ON deposit_links (organisation, project) WHERE project IS NOT NULL;
CREATE INDEX deposit_links_stack ON deposit_links (organisation, stack) WHERE stack IS NOT NULL;
CREATE INDEX deposit_links_user ON deposit_links (organisation, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX deposit_links_membership ON deposit_links (organisation, membership) WHERE membership IS NOT NULL;
CREATE INDEX organisations_of_project ON organisations (project);
CREATE INDEX state_graves_organisation ON state_graves (organisation);
CREATE INDEX tokens_of ON tokens (coalesce(user_id, team_id, organisation));
