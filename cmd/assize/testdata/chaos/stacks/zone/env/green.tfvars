name = "zone:green"
