# Where the images are. One registry serves every environment.

terraform {
  backend "local" {}
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

resource "random_pet" "registry" {
  prefix = "teahouse"
}

output "url" {
  value = "registry.example/${random_pet.registry.id}"
}
