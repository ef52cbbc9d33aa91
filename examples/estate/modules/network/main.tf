# A network with a subnet in each zone.

variable "name" { type = string }
variable "cidr" { type = string }
variable "zones" { type = list(string) }

resource "terraform_data" "network" {
  input = {
    name        = var.name
    cidr        = var.cidr
    monthly_eur = 0
    owner       = "team-platform"
  }
}

module "subnet" {
  source   = "../subnet"
  for_each = { for n, zone in var.zones : zone => n }

  network = terraform_data.network.id
  name    = "${var.name}-${each.key}"
  cidr    = cidrsubnet(var.cidr, 8, each.value)
}

output "subnets" {
  value = module.subnet # by zone: id, cidr
}
