package main

# Not asked for, so not judged.
deny contains "never"
