# The database of one environment: a primary, and a replica in every zone.

terraform {
  backend "local" {}
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

variable "environment" { type = string }
variable "disk_gb" { type = number }
variable "replica_eur" { type = number }

data "terraform_remote_state" "network" {
  backend = "local"
  config  = { path = "../../.cloud/state/network/${terraform.workspace}/terraform.tfstate" }
}

locals {
  network = data.terraform_remote_state.network.outputs
}

resource "random_pet" "password" {
  length = 5 # words are easier to type at night
}

resource "terraform_data" "database" {
  triggers_replace = ["teahouse-${var.environment}"] # no database can be renamed in place
  input = {
    name        = "teahouse-${var.environment}"
    disk_gb     = var.disk_gb
    monthly_eur = 40
    owner       = "team-data"
  }
}

resource "terraform_data" "replica" {
  for_each = toset(local.network.zones)
  input = {
    name        = "teahouse-${var.environment}-${each.key}"
    primary     = terraform_data.database.id
    subnet      = local.network.subnets[each.key].id
    monthly_eur = var.replica_eur
    owner       = "team-data"
  }
}

output "host" {
  value = "${terraform_data.database.id}.db.teahouse.example"
}

output "password" {
  value     = random_pet.password.id
  sensitive = true
}
