package team.b.c

warn contains "b" if input.resource_changes
