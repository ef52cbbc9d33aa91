disk_gb     = 100
replica_eur = 20
