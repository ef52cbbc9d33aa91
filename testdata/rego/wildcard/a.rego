package team.a

deny contains "a" if input.resource_changes
