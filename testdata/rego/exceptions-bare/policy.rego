# The empty name excepts deny, violation and warn at once, and nothing else.
package main

deny contains "denied" if input.resource_changes

violation contains "violated" if input.resource_changes

warn contains "warned" if input.resource_changes

deny_named contains "named" if input.resource_changes

exception contains [""]
