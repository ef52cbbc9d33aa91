# What a pull request makes of it. The diff looks harmless: a new name for the
# database, a block less, a worker, a motd, a module that somebody vendored.

terraform {
  required_providers {
    local  = { source = "hashicorp/local" }
    random = { source = "hashicorp/random" }
  }
}

resource "terraform_data" "db" {
  triggers_replace = ["payments-primary"]
  input = {
    kind    = "database"
    name    = "payments-primary"
    size    = "large"
    disk_gb = 400
    tags    = { owner = "team-payments" }
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
    size    = "xlarge"
    disk_gb = 1000
  }
}

resource "local_file" "motd" {
  filename = "${path.root}/out/motd"
  content  = "payments\n"
}

module "network" {
  source = "./modules/network"
}

module "legacy" {
  source = "./vendor/legacy"
}
