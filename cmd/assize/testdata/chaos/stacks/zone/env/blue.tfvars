name = "zone:blue"
