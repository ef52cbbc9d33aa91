# The pull request again, after its author has read why it was refused.

terraform {
  required_providers {
    local  = { source = "hashicorp/local" }
    random = { source = "hashicorp/random" }
  }
}

resource "terraform_data" "db" {
  triggers_replace = ["payments-main"]
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

resource "random_pet" "api" {
  keepers = { owner = "team-payments" }
}

resource "terraform_data" "api" {
  input = {
    kind    = "service"
    name    = "payments-${random_pet.api.id}"
    size    = "small"
    disk_gb = 20
    tags    = { owner = "team-payments" }
  }
}

resource "terraform_data" "worker" {
  input = {
    kind    = "service"
    name    = "payments-worker"
    size    = "large"
    disk_gb = 200
    tags    = { owner = "team-payments" }
  }
}

resource "local_file" "motd" {
  filename        = "${path.root}/out/motd"
  content         = "payments\n"
  file_permission = "0644"
}

module "network" {
  source = "./modules/network"
}
