package main

import data.rules.shared

deny contains msg if some msg in shared.messages
