disk_gb     = 400
replica_eur = 120
