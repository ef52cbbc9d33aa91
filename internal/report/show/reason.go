package show

// reason puts the word that a tool gives as the reason of a change into plain
// words. Both tools may add to the list at any time: a word that is not known is
// for the caller to show as it is.
func reason(word string) (words string, known bool) {
	switch word {
	// Why an object is replaced. What cannot be updated is the provider's
	// schema; nothing in the configuration says so.
	case "replace_because_cannot_update":
		return "the provider cannot change it in place", true
	case "replace_because_tainted":
		return "it is tainted: its last creation did not finish, or somebody marked it", true
	case "replace_by_request":
		return "its replacement was asked for with -replace", true
	case "replace_by_triggers":
		return "something in its replace_triggered_by changes", true

	// Why one is destroyed although nobody asked for that.
	case "delete_because_no_resource_config":
		return "its block is gone from the configuration", true
	case "delete_because_no_module":
		return "the module that it is in is gone from the configuration", true
	case "delete_because_wrong_repetition":
		return "its block now has count or for_each, or no longer has it", true
	case "delete_because_count_index":
		return "count is now lower than its index", true
	case "delete_because_each_key":
		return "its key is no longer in for_each", true
	case "delete_because_enabled_false":
		return "its block is not enabled", true
	case "delete_because_no_move_target":
		return "a moved block takes it to an address that is not in the configuration", true

	// Why OpenTofu 1.12 forgets one instead of destroying it.
	case "forgot_because_lifecycle_destroy_in_state":
		return "lifecycle.destroy was false when it was last applied", true
	case "forgot_because_lifecycle_destroy_in_config":
		return "lifecycle.destroy is false in its block", true

	// Why a data source is read during apply and not before.
	case "read_because_config_unknown":
		return "its arguments are known after apply", true
	case "read_because_dependency_pending":
		return "something that it depends on changes", true
	case "read_because_check_nested":
		return "it belongs to a check block", true

	// Why a change is left for another plan.
	case "instance_count_unknown":
		return "its count or for_each is known after apply", true
	case "resource_config_unknown":
		return "its arguments are known after apply", true
	case "provider_config_unknown":
		return "the arguments of its provider are known after apply", true
	case "absent_prereq":
		return "something that it needs does not exist yet", true
	case "deferred_prereq":
		return "something that it depends on is left for another plan as well", true
	}
	return "", false
}
