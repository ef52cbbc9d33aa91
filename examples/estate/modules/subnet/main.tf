# A subnet and the gateway through which it reaches the world.

variable "network" { type = string }
variable "name" { type = string }
variable "cidr" { type = string }

resource "terraform_data" "subnet" {
  triggers_replace = [var.network, var.cidr] # neither can be changed in place
  input = {
    name        = var.name
    cidr        = var.cidr
    monthly_eur = 0
    owner       = "team-platform"
  }
}

resource "terraform_data" "gateway" {
  input = {
    name        = "${var.name}-gateway"
    subnet      = terraform_data.subnet.id
    monthly_eur = 30
    owner       = "team-platform"
  }
}

output "id" { value = terraform_data.subnet.id }
output "cidr" { value = var.cidr }
