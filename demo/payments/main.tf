# The payments stack as it is today. terraform_data stands in for cloud
# resources, so that this runs anywhere; the files and names are real.

terraform {
  required_providers {
    local  = { source = "hashicorp/local" }
    random = { source = "hashicorp/random" }
  }
}

resource "terraform_data" "db" {
  triggers_replace = ["payments-main"] # the identifier; no database can be renamed in place
  input = {
    kind    = "database"
    name    = "payments-main"
    size    = "large"
    disk_gb = 400
    tags    = { owner = "team-payments" }
  }
}

resource "terraform_data" "audit_log" {
  input = {
    kind    = "bucket"
    name    = "payments-audit"
    size    = "small"
    disk_gb = 50
    tags    = { owner = "team-security" }
  }
}

resource "terraform_data" "api" {
  input = {
    kind    = "service"
    name    = "payments-api"
    size    = "small"
    disk_gb = 20
    tags    = { owner = "team-payments" }
  }
}

module "network" {
  source = "./modules/network"
}
