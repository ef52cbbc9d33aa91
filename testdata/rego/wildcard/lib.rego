package team.lib

any_of := 1
