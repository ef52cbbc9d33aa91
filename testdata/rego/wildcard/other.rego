package other

deny contains "never" if input.resource_changes
