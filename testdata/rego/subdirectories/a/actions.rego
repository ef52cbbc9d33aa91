package rules.shared

writes := {"create", "update"}
