# The network of one environment.

terraform {
  backend "local" {}
}

variable "environment" { type = string }
variable "cidr" { type = string }

variable "zones" {
  type    = list(string)
  default = ["a", "b"]
}

module "network" {
  source = "../../modules/network"

  name  = "teahouse-${var.environment}"
  cidr  = var.cidr
  zones = var.zones
}

output "zones" {
  value = var.zones # known before the apply
}

output "subnets" {
  value = module.network.subnets # their ids are known after it
}
