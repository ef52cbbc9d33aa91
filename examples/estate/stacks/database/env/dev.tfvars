disk_gb     = 20
replica_eur = 10
