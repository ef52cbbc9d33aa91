# One container with a fixed address.

variable "name" { type = string }
variable "image" { type = string }
variable "size" { type = string }
variable "subnet" { type = string }
variable "address" { type = string }

resource "terraform_data" "task" {
  input = {
    name        = var.name
    image       = var.image
    size        = var.size
    subnet      = var.subnet
    address     = var.address
    monthly_eur = { small = 50, medium = 120, large = 300 }[var.size]
    owner       = "team-shop"
  }
}

output "address" { value = var.address }
