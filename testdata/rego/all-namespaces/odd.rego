package odd["with-dash"]

deny contains "odd" if input.no_such_key
