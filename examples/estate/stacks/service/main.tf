# The shop of one environment: a task in each subnet, and what it is configured with.

terraform {
  backend "local" {}
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

variable "environment" { type = string }

variable "size" {
  type    = string
  default = "small"
}

data "terraform_remote_state" "network" {
  backend = "local"
  config  = { path = "../../.cloud/state/network/${terraform.workspace}/terraform.tfstate" }
}

data "terraform_remote_state" "database" {
  backend = "local"
  config  = { path = "../../.cloud/state/database/${terraform.workspace}/terraform.tfstate" }
}

data "terraform_remote_state" "registry" {
  backend = "local"
  config  = { path = "../../.cloud/state/registry.tfstate" }
}

locals {
  database = data.terraform_remote_state.database.outputs
}

module "shop" {
  source = "../../modules/service"

  name    = "shop-${var.environment}"
  image   = "${data.terraform_remote_state.registry.outputs.url}/shop:1.4.0"
  size    = var.size
  subnets = data.terraform_remote_state.network.outputs.subnets
}

resource "local_file" "config" {
  filename          = "../../.cloud/shop-${var.environment}.env"
  sensitive_content = "DATABASE_URL=postgres://shop:${local.database.password}@${local.database.host}/shop\n"
  file_permission   = "0600"
}

output "addresses" {
  value = module.shop.addresses
}
